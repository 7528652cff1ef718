"""Records of a fit become one self-contained page."""
