"""Files in and out: tables, graphs and matrices are read, predictions are written."""

from slimg.files.formats import read
from slimg.files.source import Reading, Source

__all__ = ["Reading", "Source", "read"]
