"""Published graphs: found, checked, read; downloaded when asked.

    graph = datasets.load("cora")        # $SLIMG_DATA first, then the user's cache
    datasets.fetch("cora")               # download, check, cache
    datasets.info("cora").statistics     # measured sizes and homophily
"""

from slimg.datasets.dataset import Dataset, RemoteFile, Statistics
from slimg.datasets.load import info, load, names

__all__ = ["Dataset", "RemoteFile", "Statistics", "info", "load", "names"]
