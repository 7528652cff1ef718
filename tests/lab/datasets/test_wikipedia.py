"""Chameleon's and Squirrel's npz: a small file of the format, and the real ones row by row."""

import numpy as np

from slimg.lab import datasets


def test_small_file(tmp_path):
    (tmp_path / "squirrel").mkdir()
    rng = np.random.default_rng(0)
    X, masks = (rng.random((6, 4)) < 0.4).astype(np.float32), rng.random((10, 6)) < 0.5
    edges = np.array([[0, 1], [1, 2], [2, 1], [3, 4]])
    np.savez(
        tmp_path / "squirrel" / "squirrel.npz",
        node_features=X,
        node_labels=np.arange(6) % 5,
        edges=edges,
        train_masks=masks,
        val_masks=~masks,
        test_masks=np.zeros_like(masks),
    )
    graph = datasets.load("squirrel", tmp_path, check=False)
    assert np.array_equal(graph.features.toarray(), X) and graph.edges == 3 and graph.n == 6
    assert np.array_equal(graph.masks["train_3"], masks[3]) and np.array_equal(graph.masks["val_9"], ~masks[9])
    assert graph.notes == ("1 repeated edge merged (counted once).", "1 node has no edge (ids 5).")


def test_real_file_row_by_row(load_real, data_dir):
    graph = load_real("chameleon")
    with np.load(data_dir / "chameleon" / "chameleon.npz") as file:
        assert np.array_equal(graph.features.toarray(), file["node_features"])
        assert np.array_equal(graph.labels, file["node_labels"])
        found = {tuple(sorted(pair)) for pair in np.argwhere(graph.adjacency.to_scipy().toarray()).tolist()}
        assert found == {tuple(sorted(pair)) for pair in file["edges"].tolist()}
