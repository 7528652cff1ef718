"""Published graphs by name, and duplicates among their nodes."""

import shutil
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg import Graph
from slimg.errors import InputError
from slimg.graph import splits
from slimg.lab import datasets
from slimg.lab.datasets import loader as files
from slimg.lab.datasets.dataset import table
from slimg.lab.datasets.loader import distinct_rows, without_duplicates

# nodes, undirected edges, features, classes: the publishers' files as the specification counts them
EXPECTED = {
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "pubmed": (19717, 44324, 500, 3),
    "computers": (13752, 245861, 767, 10),
    "photo": (7650, 119081, 745, 8),
    "chameleon": (2277, 31371, 2325, 5),
    "squirrel": (5201, 198353, 2089, 5),
    "actor": (7600, 26659, 932, 5),
    "cornell5": (18660, 790777, 4735, 2),
}
# fraction of edges inside a class, as the literature reports it
HOMOPHILY = {"cora": 0.81, "citeseer": 0.74, "pubmed": 0.80, "chameleon": 0.23, "squirrel": 0.22, "actor": 0.22}


@pytest.mark.parametrize("name", EXPECTED)
def test_sizes(load_real, name):
    graph = load_real(name)
    sizes = (graph.n, graph.edges, graph.features.shape[1], len(graph.classes))
    assert sizes == EXPECTED[name] == datasets.info(name).measured.sizes()
    assert graph.features.dtype == np.float32 and sp.issparse(graph.features)
    assert (graph.codes >= 0).all() or name == "cornell5"


@pytest.mark.parametrize("name", HOMOPHILY)
def test_homophily(load_real, data_dir, name):
    load_real(name)
    assert datasets.info(name, data_dir).statistics.homophily == pytest.approx(HOMOPHILY[name], abs=0.006)


@pytest.mark.parametrize(("name", "seconds"), [("cora", 0.3), ("computers", 2.0)])
def test_loading_is_quick(load_real, data_dir, name, seconds):
    load_real(name)
    start = time.process_time()  # what else runs does not count
    datasets.load(name, data_dir)
    assert time.process_time() - start < seconds


def test_citeseer_decisions(load_real):
    graph = load_real("citeseer")
    empty = np.flatnonzero(np.diff(graph.features.indptr) == 0)
    assert len(empty) == 15 and (graph.labels[empty] == 0).all()
    assert graph.notes[0] == "15 nodes are in no feature file: zero features and label 0."
    assert "248 self-loops dropped." in graph.notes, "124 loops, each listed from both ends"


@pytest.mark.parametrize(("name", "train"), [("cora", 140), ("citeseer", 120), ("pubmed", 60)])
def test_planetoid_public_split(load_real, name, train):
    graph = load_real(name)
    split = splits.public(graph)
    assert (len(split.train), len(split.val), len(split.test)) == (train, 500, 1000)
    assert np.bincount(graph.codes[split.train]).tolist() == [20] * len(graph.classes)


def test_wikipedia_public_splits(load_real):
    graph = load_real("chameleon")
    parts = [splits.public(graph, k) for k in range(10)]
    assert all(len(p.train) + len(p.val) + len(p.test) == graph.n for p in parts)
    assert len({p.train.tobytes() for p in parts}) == 10


def test_cornell_labels_are_genders_and_one_hot_rows_have_six_ones(load_real):
    graph = load_real("cornell5")
    assert graph.classes.tolist() == [1, 2] and (graph.codes < 0).sum() == 18660 - 16822
    assert np.unique(graph.features.sum(axis=1)).tolist() == [6]
    assert graph.feature_names[0] == "status=0" and not any(n.startswith("gender") for n in graph.feature_names)


@pytest.mark.parametrize(("name", "nodes"), [("chameleon-filtered", 2145), ("squirrel-filtered", 5192)])
def test_cleaned_graphs_have_no_copies_left(load_real, name, nodes):
    graph = load_real(name)
    X, A = graph.features.toarray(), graph.adjacency
    keys = {(A.neighbours(k).tobytes(), int(graph.codes[k]), X[k].tobytes()) for k in range(graph.n)}
    assert graph.n == nodes == len(keys) and graph.notes[-1].endswith("features with another dropped.")


@pytest.mark.parametrize(("name", "nodes"), [("chameleon", 1229), ("squirrel", 3314)])
def test_the_looser_rule_drops_more(load_real, name, nodes):
    assert without_duplicates(load_real(name), features=False).n == nodes


def test_names_are_the_thirteen_and_three_more():
    assert datasets.names() == [
        *("cora", "citeseer", "pubmed", "computers", "photo", "ogbn-arxiv", "ogbn-products", "chameleon", "squirrel"),
        *("actor", "penn94", "twitch-gamers", "pokec", "cornell5", "chameleon-filtered", "squirrel-filtered"),
    ]
    assert datasets.info("Cora").name == "cora"
    with pytest.raises(InputError, match=r"unknown dataset 'coar': choose one of actor, .*"):
        datasets.load("coar")


@pytest.fixture
def copied(data_dir, tmp_path):
    """A folder with copies of some datasets that a test may damage."""

    def copy(*names):
        for name in names:
            if not (data_dir / name).is_dir():
                pytest.skip(f"no folder {name} in {data_dir}")
            shutil.copytree(data_dir / name, tmp_path / name)
            for path in (tmp_path / name).iterdir():
                path.chmod(0o644)
            (tmp_path / name).chmod(0o755)
        return tmp_path

    return copy


def test_one_flipped_byte_is_refused(copied):
    path = copied("cora") / "cora" / "ind.cora.allx"
    data = bytearray(path.read_bytes())
    data[50_000] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"ind\.cora\.allx has SHA-256 .* instead of 9419ba2f26f5….*datasets get cora"):
        datasets.load("cora", path.parents[1])


def test_a_truncated_file_is_refused(copied):
    root = copied("actor")
    path = root / "actor" / "out1_graph_edges.txt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"has 1,000 of 323,820 bytes"):
        datasets.load("actor", root)


def test_a_file_of_another_dataset_is_recognised(copied):
    root = copied("chameleon", "squirrel", "photo", "computers")
    shutil.copy(root / "squirrel" / "squirrel.npz", root / "chameleon" / "chameleon.npz")
    with pytest.raises(InputError, match=r"chameleon\.npz is squirrel\.npz of the dataset squirrel"):
        datasets.load("chameleon", root)
    photo = root / "photo" / "amazon_electronics_photo.npz"
    shutil.copy(root / "computers" / "amazon_electronics_computers.npz", photo)
    with pytest.raises(InputError, match=r"is amazon_electronics_computers\.npz of the dataset computers"):
        datasets.load("photo", root)
    shutil.copy(root / "squirrel" / "squirrel.npz", photo)
    with pytest.raises(InputError, match=r"is squirrel\.npz of the dataset squirrel"):
        datasets.load("photo", root)


def test_amazon_is_judged_by_its_arrays_not_its_packing(copied):
    root = copied("photo")
    path = root / "photo" / "amazon_electronics_photo.npz"
    with np.load(path) as old:
        arrays = dict(old)
    np.savez(path, **arrays)
    assert datasets.load("photo", root).edges == 119081
    arrays["labels"][0] += 1
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="has contents"):
        datasets.load("photo", root)
    assert datasets.info("photo").files[0].contents != files.contents_digest(arrays)


def test_a_graph_of_another_size_is_refused_unless_asked_for(copied, monkeypatch):
    root = copied("cornell5")
    other = replace(table()["cornell5"], measured=replace(table()["cornell5"].measured, edges=7))
    monkeypatch.setitem(table(), "cornell5", other)
    with pytest.raises(InputError, match="holds a graph with 790,777 edges, but cornell5 has 7: is it another dataset"):
        datasets.load("cornell5", root)
    assert datasets.load("cornell5", root, check=False).edges == 790777


def test_not_here_says_where_and_how(tmp_path, monkeypatch):
    monkeypatch.setenv("SLIMG_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"pokec is not in .*mine/pokec or .*cache/slimg/datasets/pokec: get it with"):
        datasets.load("pokec")
    assert datasets.info("pokec").present is False and datasets.info("pokec").statistics is None


def test_incomplete_names_the_missing_file(copied):
    root = copied("actor")
    (root / "actor" / "out1_graph_edges.txt").unlink()
    with pytest.raises(InputError, match=r"actor is incomplete: .*actor lacks out1_graph_edges\.txt"):
        datasets.load("actor", root)


def test_files_that_do_not_parse_are_one_sentence(copied):
    root = copied("actor")
    path = root / "actor" / "out1_node_feature_label.txt"
    path.write_text(path.read_text().replace("521,92,111", "521,x,111"))
    with pytest.raises(InputError, match=r"the files of actor in .* cannot be read \(ValueError: "):
        datasets.load("actor", root, check=False)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.floats(0.05, 0.6), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_against_all_pairs_and_idempotent(n, density, seed, features, sparse):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1)
    A = A | A.T
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, 2)).astype(float)
    graph = Graph.from_arrays(A, sp.csr_array(X) if sparse else X, labels=y)

    def copies(u, v):
        return y[u] == y[v] and np.array_equal(A[u], A[v]) and (not features or np.array_equal(X[u], X[v]))

    kept = [v for v in range(n) if not any(copies(u, v) for u in range(v))]
    assert distinct_rows(graph, features).tolist() == kept
    once = without_duplicates(graph, features)
    assert np.array_equal(once.adjacency.to_scipy().toarray(), A[np.ix_(kept, kept)])
    assert distinct_rows(once, features).tolist() == list(range(once.n)), "one pass leaves no copies"


def test_zeros_are_zeros_however_stored():
    A = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    stored = sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2))
    for X in (stored, np.array([[1, -0.0], [1, 0.0], [0, 0]])):
        assert distinct_rows(Graph.from_arrays(A, X, labels=[0, 0, 1])).tolist() == [0, 2]


def test_unlabelled_nodes_stay():
    graph = Graph.from_edges([(0, 1), (0, 2), (0, 3)], label=["a", None, None, "b"])
    assert distinct_rows(graph).tolist() == [0, 1, 2, 3]
