"""Labelled rows of real graphs, computed once for all tests of learning."""

import functools

import pytest


@pytest.fixture(scope="session")
def labelled(load_real):
    """``labelled(name)``: rows of P (float32) at the training rows of the 2.5 % split with seed 0, codes, and widths."""

    @functools.cache
    def rows(name: str):
        from slimg.components.compute import compute_components
        from slimg.graph.splits import REAL, stratified

        graph = load_real(name)
        train = stratified(graph, REAL, 0).train
        parts = compute_components(graph)
        return parts.labelled_rows(train), graph.codes[train], list(parts.widths.values())

    return rows
