"""Published graphs: found, checked, read; downloaded when the user asks.

    graph = datasets.load("cora")        # $SLIMG_DATA first, then the user's cache
    datasets.fetch("cora")               # download, check, cache
    datasets.info("cora").statistics     # measured sizes and homophily

Public: the names below. Everything else in this package is internal.
"""

from slimg.lab.datasets.dataset import Dataset, RemoteFile, Statistics
from slimg.lab.datasets.download import DownloadError, Fetched, fetch
from slimg.lab.datasets.loader import Info, info, load, names

__all__ = ["Dataset", "DownloadError", "Fetched", "Info", "RemoteFile", "Statistics", "fetch", "info", "load", "names"]
