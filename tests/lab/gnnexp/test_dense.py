"""The operators of the proofs against other libraries."""

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from gnnexp_networks import edge_index
from torch_geometric import nn as pyg

from slimg.lab.gnnexp import dense
from slimg.lab.gnnexp.graphs import cases


def test_normalisations_are_those_of_other_libraries():
    case = next(cases())
    x, edges = torch.as_tensor(case.x), edge_index(sp.csr_array(case.a))
    np.testing.assert_allclose(dense.sym(case.a) @ case.x, pyg.LGConv()(x, edges), atol=1e-12)
    np.testing.assert_allclose(dense.row(case.a) @ case.x, pyg.SimpleConv("mean")(x, edges), atol=1e-12)
    np.testing.assert_allclose(dense.mean_of_neighbours(case.a, case.x), pyg.SimpleConv("mean")(x, edges), atol=1e-12)
    ranks = nx.pagerank(nx.from_numpy_array(case.a + np.eye(len(case.a))), alpha=0.85, tol=1e-14, max_iter=1000)
    degree = (case.a.sum(1) + 1) ** 0.5
    symmetric = np.linalg.inv(np.eye(len(case.a)) - 0.85 * dense.sym_with_loops(case.a))
    expected = 0.15 * degree * (symmetric @ (1 / degree)) / len(case.a)
    np.testing.assert_allclose([ranks[node] for node in range(len(case.a))], expected, atol=1e-12)
