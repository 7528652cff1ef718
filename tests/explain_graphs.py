"""Graphs and models that the tests of explanations share, and a dense recomputation of everything."""

import numpy as np
import scipy.sparse as sp

from oracles import chebyshev
from slimg import Graph

NAMES = ["ash", "elm", "oak"]


def planted(n=150, d=12, c=3, seed=0, sparse=False, labelled=1.0, inside=0.12, outside=0.02, weighted=False):
    """Ids are text, classes are trees, features carry names; node 'lone' has no edge."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % c
    draw = np.triu(rng.random((n, n)) < np.where(codes[:, None] == codes, inside, outside), 1).astype(np.float32)
    if weighted:
        draw *= rng.random((n, n)).astype(np.float32) + 0.5
    draw[:, 0] = draw[0] = 0
    features = ((rng.random((n, d)) < 0.5) * rng.random((n, d)) + 0.6 * np.eye(c, d)[codes]).astype(np.float32)
    labels = np.array([NAMES[code] for code in codes], object)
    labels[rng.random(n) >= labelled] = None
    ids = np.array(["lone", *(f"n{k}" for k in range(1, n))], object)
    matrix = sp.csr_array(features) if sparse else features
    return Graph.from_arrays(
        sp.csr_array(draw + draw.T), matrix, labels, ids, feature_names=[f"word{j}" for j in range(d)]
    )


def _prepared(model, features):
    states = [fitted.state for fitted in model.components_.fitted.values()]
    kinds = [state.preparation for state in states if hasattr(state, "preparation")]
    if kinds and kinds[0].mean is not None:
        return (features - kinds[0].mean) / kinds[0].scale
    x = features - features.min(axis=1, keepdims=True) if (features < 0).any() else features
    sums = x.sum(axis=1, keepdims=True)
    return np.divide(x, sums, out=np.zeros_like(x), where=sums > 0)


def _in_ranges(edges, features):
    """1/d in the column of the range that each entry is in: the number of edges that it has reached says which."""
    reached = (features[:, :, None] >= edges).sum(axis=2)
    return (np.eye(edges.shape[1] + 1)[reached] / features.shape[1]).reshape(len(features), -1)


def _in_neighbour_ranges(state, columns, matrix, row, features):
    """One in the range of each degree and mean over neighbours, whose beginnings it has reached."""
    values = np.column_stack([(matrix > 0).sum(axis=1), row @ features])
    values[(matrix == 0).all(axis=1), 1:] = np.nan
    values, starts = values[:, list(columns or [0])], state["starts"].reshape(-1, 8).astype(float)
    reached = (values[:, :, None] >= starts).sum(axis=2) - 1
    return (np.eye(8)[reached] * ~np.isnan(values)[:, :, None]).reshape(len(features), -1)


def dense_scores(model, matrix, features):
    """Scores of all nodes when A (dense) and X are as given, with PCA, singular vectors and weights as fitted."""
    parts, total = model.components_, model.intercept_.astype(float)
    x = _prepared(model, features)
    degree = matrix.sum(axis=1)
    row = np.divide(matrix, degree[:, None], out=np.zeros_like(matrix), where=degree[:, None] > 0)
    looped = matrix + np.eye(len(matrix))
    root = 1 / np.sqrt(looped.sum(axis=1))
    sym = root[:, None] * looped * root
    for name, weights in model.coef_.items():
        state = parts.fitted[name].state
        if name in ("U", "U_sym"):
            raw = (matrix if name == "U" else sym) @ (state.spectrum.vectors * np.sign(state.spectrum.eigenvalues))
        elif name in ("bins(A_row X)", "bins(degree)"):
            raw = _in_neighbour_ranges(state, parts.fitted[name].component.columns, matrix, row, features)
        else:
            ranges = name.endswith("bins(X)")
            start = _in_ranges(state.preparation.edges, features) if ranges else x
            kind, _, hops = name.replace("bins(X)", "X").removesuffix(" X").partition("^")
            if kind[0] == "S":
                end = float(kind[2:] or 0.1)
                spread = sum(end * (1 - end) ** k * np.linalg.matrix_power(sym, k) for k in range(int(hops) + 1))
            elif kind == "PPR":
                spread = chebyshev(sym, 0.05, int(hops))
            else:
                power = {"X": np.eye(len(matrix)), "A_row": row, "A_sym": sym}[kind]
                spread = np.linalg.matrix_power(power, int(hops or 1))
            carried, pca = spread @ start, state.pca
            basis = np.eye(carried.shape[1]) if state.basis is None else state.basis
            raw = carried @ basis if pca is None else (carried @ basis - pca.mean) @ pca.components.T
        share, added = getattr(state, "scaling", (1, 0))
        length = np.sqrt(share * np.square(raw).sum(axis=1, keepdims=True) + added)
        total = total + np.divide(raw, length, out=np.zeros_like(raw), where=length > 1e-9) @ weights
    return total
