"""Files in and out: tables, graphs and matrices are read, predictions are written."""

from slimg.io.formats import read
from slimg.io.source import Reading, Source

__all__ = ["Reading", "Source", "read"]
