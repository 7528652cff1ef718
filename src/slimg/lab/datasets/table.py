"""The table of published graphs: the thirteen of the paper, a relative of one, and two cleaned ones.

Checksums and ``measured`` sizes were recorded from the publishers' files. Where these have not been seen (no SHA-256
below), the checksum is recorded at first download. ``paper`` is the paper's own table; its edge counts include
duplicates, loops or both directions for some graphs. A licence is stated where the publisher's own was seen.
"""

from __future__ import annotations

from slimg.lab.datasets.dataset import Dataset, RemoteFile, Statistics

_PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
_AMAZON = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
_WIKIPEDIA = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
_ACTOR = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/film"
_FACEBOOK = "https://github.com/CUAI/Non-Homophily-Large-Scale/raw/master/data/facebook100"
_OGB = "http://snap.stanford.edu/ogb/data/nodeproppred"
_TWITCH = "https://snap.stanford.edu/data/twitch_gamers.zip"
_POKEC = "https://drive.usercontent.google.com/download?id=1dNs5E7BrWJbgcHeQ_zuy5Ozp2tRCWG0y&confirm=t"

_UNKNOWN = "not known to slimg: see the publisher's page"
_YANG = "Yang, Cohen, Salakhutdinov: Revisiting Semi-Supervised Learning with Graph Embeddings, ICML 2016"
_SHCHUR = "Shchur, Mumme, Bojchevski, Günnemann: Pitfalls of Graph Neural Network Evaluation, 2018"
_PEI = "Pei, Wei, Chang, Lei, Yang: Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020"
_ROZEMBERCZKI = "Rozemberczki, Allen, Sarkar: Multi-Scale Attributed Node Embedding, 2021"
_PLATONOV = "Platonov et al.: A Critical Look at the Evaluation of GNNs under Heterophily, ICLR 2023"
_TRAUD = "Traud, Mucha, Porter: Social Structure of Facebook Networks, 2012"
_LIM = "Lim et al.: Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021"
_HU = "Hu et al.: Open Graph Benchmark: Datasets for Machine Learning on Graphs, NeurIPS 2020"
_GAMERS = "Rozemberczki, Sarkar: Twitch Gamers: a Dataset for Evaluating Proximity Preserving Embeddings, 2021"

# name: (file, bytes, SHA-256), …
_PLANETOID_FILES = {
    "cora": (
        ("x", 22119, "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"),
        ("tx", 148025, "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"),
        ("allx", 257305, "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"),
        ("y", 4054, "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"),
        ("ty", 28135, "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"),
        ("ally", 47959, "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"),
        ("graph", 59847, "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"),
        ("test.index", 5000, "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"),
    ),
    "citeseer": (
        ("x", 31087, "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6"),
        ("tx", 260321, "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"),
        ("allx", 595021, "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"),
        ("y", 3014, "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924"),
        ("ty", 24135, "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"),
        ("ally", 55623, "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"),
        ("graph", 61987, "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"),
        ("test.index", 5000, "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"),
    ),
    "pubmed": (
        ("x", 23172, "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33"),
        ("tx", 405505, "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d"),
        ("allx", 7578385, "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e"),
        ("y", 854, "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3"),
        ("ty", 12135, "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd"),
        ("ally", 224739, "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e"),
        ("graph", 471808, "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9"),
        ("test.index", 6000, "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5"),
    ),
}


def _planetoid(name: str, title: str, measured: Statistics, paper: Statistics) -> Dataset:
    files = tuple(
        RemoteFile(f"ind.{name}.{kind}", f"{_PLANETOID}/ind.{name}.{kind}", size, digest)
        for kind, size, digest in _PLANETOID_FILES[name]
    )
    about = "papers; edges are citations, features words"
    return Dataset(name, title, "planetoid", files, "MIT", _YANG, measured, paper, about=about)


def _amazon(name: str, title: str, contents: str, sizes: Statistics) -> Dataset:
    file = f"amazon_electronics_{name}.npz"
    about = "products; edges join those bought together, features are words of their reviews"
    files = (RemoteFile(file, f"{_AMAZON}/{file}", contents=contents),)
    return Dataset(name, title, "amazon", files, "MIT", _SHCHUR, sizes, sizes, about=about)


def _wikipedia(name: str, size: int, digest: str, measured: Statistics, paper: Statistics) -> Dataset:
    files = (RemoteFile(f"{name}.npz", f"{_WIKIPEDIA}/{name}.npz", size, digest),)
    about = "Wikipedia articles; edges are links, features nouns, classes levels of traffic"
    citation = f"{_ROZEMBERCZKI}; {_PEI}"
    return Dataset(name, name.title(), "wikipedia", files, "MIT", citation, measured, paper, about=about)


def _cleaned(source: Dataset, measured: Statistics) -> Dataset:
    about = f"{source.name} with one node kept of those that share neighbours, label and features"
    return Dataset(
        f"{source.name}-filtered",
        f"{source.title} (filtered)",
        source.reader,
        source.files,
        source.licence,
        f"{source.citation}; {_PLATONOV}",
        measured,
        source=source.name,
        about=about,
    )


def _ogb(name: str, title: str, split: str, licence: str, paper: Statistics, about: str, **options: int) -> Dataset:
    raw = ("edge", "node-feat", "node-label", "num-node-list")
    files = (
        *(RemoteFile(f"raw/{part}.csv.gz") for part in raw),
        *(RemoteFile(f"split/{split}/{part}.csv.gz", optional=True) for part in ("train", "valid", "test")),
    )
    stem = name.removeprefix("ogbn-")
    archive = RemoteFile(f"{stem}.zip", f"{_OGB}/{stem}.zip")
    return Dataset(
        name, title, "ogb", files, licence, _HU, paper=paper, archive=archive, about=about, options=dict(options)
    )


def _facebook(file: RemoteFile, name: str, measured: Statistics | None, paper: Statistics | None) -> Dataset:
    about = "students of one university on Facebook in 2005; the label is gender"
    return Dataset(
        name, name.title(), "facebook100", (file,), _UNKNOWN, f"{_TRAUD}; {_LIM}", measured, paper, about=about
    )


_CHAMELEON = _wikipedia(
    "chameleon",
    177840,
    "4c640bd2877fc4f9f101531e2f977bc16445a54e09a5cb01178df608e552f3fd",
    Statistics(2277, 31371, 2325, 5),
    Statistics(2277, 36101, 2325, 5),
)
_SQUIRREL = _wikipedia(
    "squirrel",
    704277,
    "d436e3b42c0546b105241c0ab0766097074e68e55f67b133eeb9b0162e55cbd9",
    Statistics(5201, 198353, 2089, 5),
    Statistics(5201, 216933, 2089, 5),
)

_ALL = (
    _planetoid("cora", "Cora", Statistics(2708, 5278, 1433, 7), Statistics(2708, 5429, 1433, 7)),
    _planetoid("citeseer", "CiteSeer", Statistics(3327, 4552, 3703, 6), Statistics(3327, 4732, 3703, 6)),
    _planetoid("pubmed", "PubMed", Statistics(19717, 44324, 500, 3), Statistics(19717, 44338, 500, 3)),
    _amazon(
        "computers",
        "Computers",
        "c54408c3bb2068c118c0b9b5be4563ab43929409e9e1916b108d76c1bb44abc9",
        Statistics(13752, 245861, 767, 10),
    ),
    _amazon(
        "photo",
        "Photo",
        "aae0e12eeedfc47762d3e5df6544edaa27608f2de52ba63ab9d099067a0171d6",
        Statistics(7650, 119081, 745, 8),
    ),
    _ogb(
        "ogbn-arxiv",
        "ogbn-arXiv",
        "time",
        "ODC-BY",
        Statistics(169343, 1166243, 128, 40),
        "papers of computer science; edges are citations, features word embeddings, classes subject areas",
    ),
    _ogb(
        "ogbn-products",
        "ogbn-Products",
        "sales_ranking",
        _UNKNOWN,
        Statistics(2449029, 61859140, 100, 30),
        "products; edges join those bought together; classes with fewer than 100 nodes are dropped (47 → 39)",
        rare=100,
    ),
    _CHAMELEON,
    _SQUIRREL,
    Dataset(
        "actor",
        "Actor",
        "actor",
        (
            RemoteFile(
                "out1_node_feature_label.txt",
                f"{_ACTOR}/out1_node_feature_label.txt",
                207718,
                "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8",
            ),
            RemoteFile(
                "out1_graph_edges.txt",
                f"{_ACTOR}/out1_graph_edges.txt",
                323820,
                "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e",
            ),
        ),
        _UNKNOWN,
        _PEI,
        Statistics(7600, 26659, 932, 5),
        Statistics(7600, 29926, 931, 5),
        about="actors; edges join those on the same Wikipedia page, features are words",
    ),
    _facebook(
        RemoteFile("Penn94.mat", f"{_FACEBOOK}/Penn94.mat"), "penn94", None, Statistics(41554, 1362229, 4814, 2)
    ),
    Dataset(
        "twitch-gamers",
        "Twitch",
        "twitch",
        (RemoteFile("large_twitch_edges.csv"), RemoteFile("large_twitch_features.csv")),
        _UNKNOWN,
        f"{_GAMERS}; {_LIM}",
        paper=Statistics(168114, 6797557, 7, 2),
        archive=RemoteFile("twitch_gamers.zip", _TWITCH),
        about="users of Twitch; edges are mutual follows, the label is mature content",
    ),
    Dataset(
        "pokec",
        "Pokec",
        "pokec",
        (RemoteFile("pokec.mat", _POKEC),),
        _UNKNOWN,
        f"Takac, Zabovsky: Data Analysis in Public Social Networks, 2012; {_LIM}",
        paper=Statistics(1632803, 30622564, 65, 2),
        about="users of Pokec; edges are friendships, the label is gender",
    ),
    _facebook(
        RemoteFile(
            "Cornell5.mat",
            f"{_FACEBOOK}/Cornell5.mat",
            3543757,
            "d9ff76ae34e855cb77b0779a3a320f7f73f848901cb13352e2734c17804c4aec",
        ),
        "cornell5",
        Statistics(18660, 790777, 4735, 2),
        None,
    ),
    _cleaned(_CHAMELEON, Statistics(2145, 29460, 2325, 5)),
    _cleaned(_SQUIRREL, Statistics(5192, 197697, 2089, 5)),
)

TABLE: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
