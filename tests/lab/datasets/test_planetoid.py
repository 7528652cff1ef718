"""Planetoid's pickles: read by a naive reader as the oracle, and refused when they ask for anything else."""

import io
import os
import pickle
import pickletools
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from slimg.errors import InputError
from slimg.lab import datasets
from slimg.lab.datasets.readers import PlanetoidUnpickler

KINDS = ("x", "tx", "allx", "y", "ty", "ally", "graph")


def write(folder, name, allx, tx, ally, ty, graph, test, train=2):
    """The eight files, with the module names of their time."""
    parts = {"x": allx[:train], "tx": tx, "allx": allx, "y": ally[:train], "ty": ty, "ally": ally, "graph": graph}
    folder.mkdir(parents=True, exist_ok=True)
    for kind, part in parts.items():
        data = pickle.dumps(part, protocol=3)
        names = {b"cnumpy._core": b"cnumpy.core", b"cscipy.sparse._csr": b"cscipy.sparse.csr", b"cbui": b"c__bui"}
        for new, old in {**names, b"c__builtins": b"c__builtin__"}.items():
            data = data.replace(new, old)
        (folder / f"ind.{name}.{kind}").write_bytes(data)
    (folder / f"ind.{name}.test.index").write_text("".join(f"{k}\n" for k in test))


def small(tmp_path, **changes):
    """Five nodes: 0, 1, 2 in allx; 4 and then 3 in tx."""
    parts = {
        "allx": sp.csr_matrix([[1.0, 0], [0, 2], [3, 3]]),
        "tx": sp.csr_matrix([[4.0, 0], [0, 5]]),
        "ally": np.array([[1, 0], [0, 1], [0, 1]]),
        "ty": np.array([[1, 0], [0, 1]]),
        "graph": defaultdict(list, {0: [1, 1, 0], 1: [0], 2: [4], 3: [], 4: [2]}),
        "test": [4, 3],
    }
    parts.update(changes)
    write(tmp_path / "cora", "cora", **parts)
    return tmp_path


def test_small_files_node_by_node(tmp_path):
    graph = datasets.load("cora", small(tmp_path), check=False)
    assert graph.features.toarray().tolist() == [[1, 0], [0, 2], [3, 3], [0, 5], [4, 0]]
    assert graph.labels.tolist() == [0, 1, 1, 1, 0]
    A = np.zeros((5, 5))
    A[[0, 1, 2, 4], [1, 0, 4, 2]] = 1
    assert np.array_equal(graph.adjacency.to_scipy().toarray(), A)
    assert graph.masks["train"].tolist() == [True, True, False, False, False]
    assert graph.masks["test"].tolist() == [False, False, False, True, True]
    assert graph.notes[:2] == ("1 self-loop dropped.", "1 repeated edge merged (counted once).")


def test_a_node_in_no_feature_file(tmp_path):
    graph6 = defaultdict(list, {0: [1], 1: [0], 2: [5], 3: [], 4: [], 5: [2]})
    graph = datasets.load("cora", small(tmp_path, graph=graph6, test=[5, 3]), check=False)
    assert graph.features.toarray()[4].tolist() == [0, 0] and graph.labels[4] == 0
    assert graph.notes[0] == "1 node is in no feature file: zero features and label 0."


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"allx": np.eye(3)}, r"ind\.cora\.allx should hold a CSR matrix, but holds ndarray"),
        ({"ally": sp.csr_matrix(np.eye(3))}, r"ind\.cora\.y should hold one-hot labels, but holds csr_matrix"),
        ({"graph": {0: [1], 7: [0]}}, "should map nodes 0, 1, 2"),
        ({"graph": [1, 2]}, "should map nodes 0, 1, 2"),
        ({"test": [4, 9]}, "mixes files"),
        ({"ty": np.eye(2)[:1]}, "mixes files"),
        ({"graph": {0: [1], 1: [0], 2: [77], 3: [], 4: []}}, "target 77, but the 5 nodes"),
    ],
)
def test_files_that_hold_something_else(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        datasets.load("cora", small(tmp_path, **changes), check=False)


def test_a_matrix_with_indices_out_of_range(tmp_path):
    bad = sp.csr_matrix([[1.0, 0], [0, 2], [3, 3]])
    bad.indices[0] = 99
    with pytest.raises(InputError, match=r"ind\.cora\.allx should hold a CSR matrix: an index"):
        datasets.load("cora", small(tmp_path, allx=bad), check=False)


def naive(folder, name):
    """Plain pickle, trusted here because the checksums of these files are recorded."""
    return {kind: pickle.loads((folder / f"ind.{name}.{kind}").read_bytes(), encoding="latin1") for kind in KINDS}


@pytest.mark.filterwarnings("ignore:Please import `csr_matrix`")
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_every_row_and_neighbour_against_plain_pickle(load_real, data_dir, name):
    graph = load_real(name)
    parts = naive(data_dir / name, name)
    test = np.loadtxt(data_dir / name / f"ind.{name}.test.index", dtype=int)
    allx, tx = sp.csr_matrix(parts["allx"]), sp.csr_matrix(parts["tx"])
    assert (graph.features[: allx.shape[0]] != allx.astype(np.float32)).nnz == 0
    assert (graph.features[test] != tx.astype(np.float32)).nnz == 0
    assert np.array_equal(graph.labels[: allx.shape[0]], parts["ally"].argmax(1))
    assert np.array_equal(graph.labels[test], parts["ty"].argmax(1))
    pairs = np.array([(u, v) for u, others in parts["graph"].items() for v in others if u != v])
    found = graph.adjacency.to_scipy().tocoo()
    expected = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    assert np.array_equal(np.unique(np.column_stack([found.row, found.col]), axis=0), expected)


ADMITTED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("collections", "defaultdict"),
    ("__builtin__", "list"),
}


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_the_files_name_exactly_what_is_admitted(load_real, data_dir, name):
    load_real(name)
    contents = [(data_dir / name / f"ind.{name}.{kind}").read_bytes() for kind in KINDS]
    operations = [(op.name, arg) for data in contents for op, arg, _ in pickletools.genops(data)]
    assert {tuple(arg.split(" ")) for op, arg in operations if op == "GLOBAL"} == ADMITTED
    assert not {"INST", "STACK_GLOBAL"} & {op for op, _ in operations}  # the other ways to name something


@pytest.mark.parametrize("named", sorted(ADMITTED))
def test_what_the_files_name_is_found(named):
    assert callable(PlanetoidUnpickler(io.BytesIO()).find_class(*named))


class Attack:
    def __reduce__(self):
        return os.system, ("touch owned",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_code_in_a_pickle_is_refused_by_name_and_not_run(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    root = small(tmp_path)
    (root / "cora" / "ind.cora.graph").write_bytes(pickle.dumps({0: [Attack()]}, protocol=protocol))
    path = root / "cora" / "ind.cora.y"
    path.write_bytes(pickle.dumps(Attack(), protocol=protocol))
    with pytest.raises(InputError, match=r"ind\.cora\.y was refused: it asks for (posix|nt)\.system, which"):
        datasets.load("cora", root, check=False)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "payload",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c__builtin__\ngetattr\n.",
        b"cnumpy\nload\n.",
        b"cnumpy.core.multiarray\nfromfile\n.",
        b"cslimg.datasets\nfetch\n.",
    ],
)
def test_every_other_name_is_refused(tmp_path, payload):
    root = small(tmp_path)
    (root / "cora" / "ind.cora.ty").write_bytes(payload)
    with pytest.raises(InputError, match=r"ind\.cora\.ty was refused: it asks for"):
        datasets.load("cora", root, check=False)


@pytest.mark.parametrize("damage", [b"", b"not a pickle", b"\x80\x02K\x01"])
def test_damaged_pickles_are_one_sentence(tmp_path, damage):
    root = small(tmp_path)
    (root / "cora" / "ind.cora.ally").write_bytes(damage)
    with pytest.raises(InputError, match=r"ind\.cora\.ally is not a Planetoid file"):
        datasets.load("cora", root, check=False)


def test_files_of_two_datasets_do_not_mix(load_real, data_dir, tmp_path):
    load_real("cora"), load_real("citeseer")
    folder = tmp_path / "cora"
    folder.mkdir()
    for path in (data_dir / "cora").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "ind.cora.allx").write_bytes((data_dir / "citeseer" / "ind.citeseer.allx").read_bytes())
    with pytest.raises(InputError, match="mixes files of different datasets"):
        datasets.load("cora", tmp_path, check=False)
    with pytest.raises(InputError, match=r"ind\.cora\.allx is ind\.citeseer\.allx of the dataset citeseer"):
        datasets.load("cora", tmp_path)
