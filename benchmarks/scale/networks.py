"""The whole fit of SlimG beside networks of PyTorch Geometric and DGC, on a generated graph: the paper's factors of speed.

    python benchmarks/scale/networks.py /data/arxiv --rivals gcn dgc --epochs 200
    python benchmarks/scale/networks.py /data/pokec --rivals sage --epochs 5

    gcn, sage   two layers, 64 hidden units, dropout 0.5, Adam, the whole graph at once; one training of 200 epochs without
                validation, from ``--epochs`` of them (200: measured whole). PyTorch Geometric takes A as a list of edges or
                as a torch CSR tensor: three epochs of each are tried (of edges only if their messages fit into memory),
                and the faster of the two counts
    dgc         `LinearGNN("dgc")` with its grid: four T of 200 hops each, which share their hops here, and two weight
                decays
    dgc-torch   the same grid as it is usually run, measured whole: for each T 200 products through torch CSR, and
                scikit-learn's logistic regression with two weight decays (`rivals.py`)

Every contender runs in a process of its own; one call measures some of them and joins what was measured before. The record
is kept in benchmarks/results/scale.json under "networks".
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import records
from scale import rivals

from slimg import SlimG
from slimg.graph import Graph
from slimg.io.disk import open_graph
from slimg.lab.baselines.linear_gnn import LinearGNN
from slimg.lab.bench.store import peak_memory
from slimg.lab.propagators.catalog import DGC
from slimg.system import available_memory

EPOCHS, HIDDEN, TRIED = 200, 64, 3


def main() -> None:
    options = _options()
    if options.run:
        graph = open_graph(options.graph)
        print(json.dumps({**CONTENDERS[options.run](graph, options.epochs), "peak": peak_memory()}))
        return
    kept = records.read("scale")
    record = kept.get("networks", {}).get(options.graph.name, {})
    for name in options.rivals:
        load = os.getloadavg()[0]
        record[name] = {**_child(name, options), "load average before": load, "commit": records.environment()["commit"]}
        print(name, json.dumps(record[name]), flush=True)
    ours = record.get("slimg", {}).get("seconds")
    record["slimg / rival"] = {name: ours / record[name]["seconds"] for name in CONTENDERS if ours and name in record}
    print(record["slimg / rival"])
    if options.write:
        networks = {**kept.get("networks", {}), options.graph.name: {"graph": str(open_graph(options.graph)), **record}}
        records.write("scale", {**records.read("scale"), "networks": networks})


def _slimg(graph: Graph, _: int) -> dict[str, Any]:
    rows = rivals.split_of(graph)
    begun = time.perf_counter()
    model = SlimG(grid="paper").fit(graph, train=rows["train"], val=rows["val"])
    predicted = model.predict()
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "stages": model.seconds_, "accuracy": _accuracy(graph, predicted, rows)}


def _dgc(graph: Graph, _: int) -> dict[str, Any]:
    rows = rivals.split_of(graph)
    begun = time.perf_counter()
    model = LinearGNN("dgc").fit(graph, train=rows["train"], val=rows["val"])
    predicted = model.predict()
    seconds = time.perf_counter() - begun
    return {"seconds": seconds, "stages": model.seconds_, "accuracy": _accuracy(graph, predicted, rows)}


def _dgc_torch(graph: Graph, _: int) -> dict[str, Any]:
    """X ← (1 − T/K) X + (T/K) Ã_sym X, K times, each T by itself; the T that is best on the validation nodes predicts."""
    import torch

    rows, x, matrix = rivals.split_of(graph), torch.from_numpy(rivals.prepared(graph)), rivals.with_loops(graph)
    runs = []
    for total in DGC.grid["T"]:
        begun, row_matrix, step = time.perf_counter(), x, total / DGC().K
        for _hop in range(DGC().K):
            row_matrix = row_matrix + step * (matrix @ row_matrix - row_matrix)
        runs.append(rivals.logistic(graph, row_matrix.numpy(), rows, time.perf_counter() - begun))
    propagation, learning = sum(run.propagation for run in runs), sum(run.learning for run in runs)
    best = max(runs, key=lambda run: run.chosen_by)
    return {
        "seconds": propagation + learning,
        "propagation": propagation,
        "learning": learning,
        "accuracy": best.accuracy,
    }


def _network(kind: str, graph: Graph, epochs: int) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    x, rows = torch.from_numpy(rivals.prepared(graph)), rivals.split_of(graph)
    train, codes = torch.from_numpy(rows["train"]), torch.from_numpy(graph.codes.astype(np.int64))
    training = _Training(kind, x, codes, train, len(graph.classes))
    forms = {"edges": _edge_index, "csr": _csr}
    if 12 * graph.adjacency.nnz * max(graph.d, HIDDEN) > (available_memory() or 0):
        del forms["edges"]  # a message for each entry, three times over, would not fit
    tried = {}
    for form, make in forms.items():
        adjacency = make(graph)
        training.epochs(adjacency, 1)
        tried[form] = training.epochs(adjacency, TRIED) / TRIED
        del adjacency
    form = min(tried, key=lambda name: tried[name])
    seconds = training.epochs(forms[form](graph), epochs)
    return {"seconds": seconds * EPOCHS / epochs, "epochs measured": epochs, "seconds per epoch": tried, "adjacency": form}


class _Training:
    """Two layers of PyTorch Geometric, trained on the whole graph."""

    def __init__(self, kind: str, x: Any, codes: Any, train: Any, classes: int):
        import torch
        from torch_geometric.nn import GCNConv, SAGEConv

        layer = (lambda a, b: GCNConv(a, b, cached=False)) if kind == "gcn" else SAGEConv
        self._layers = torch.nn.ModuleList([layer(x.shape[1], HIDDEN), layer(HIDDEN, classes)])
        self._optimizer = torch.optim.Adam(self._layers.parameters(), lr=0.01)
        self._x, self._codes, self._train, self._kind = x, codes, train, kind

    def epochs(self, adjacency: Any, count: int) -> float:
        """Seconds of so many epochs; the normalisation of A is computed once, before the clock starts."""
        import torch
        from torch.nn import functional
        from torch_geometric.nn.conv.gcn_conv import gcn_norm

        edges = (adjacency,)
        if self._kind == "gcn":
            normalised = gcn_norm(adjacency, num_nodes=len(self._x))
            edges = normalised if isinstance(normalised, tuple) else (normalised,)
            edges = tuple(each for each in edges if each is not None)
            for layer in self._layers:
                layer.normalize = False
        begun = time.perf_counter()
        for _ in range(count):
            self._optimizer.zero_grad()
            hidden = functional.dropout(self._layers[0](functional.dropout(self._x, 0.5), *edges).relu(), 0.5)
            scores = self._layers[1](hidden, *edges)
            functional.cross_entropy(scores[self._train], self._codes[self._train]).backward()
            self._optimizer.step()
        assert torch.isfinite(scores).all()
        return time.perf_counter() - begun


def _edge_index(graph: Graph) -> Any:
    import torch

    source = np.repeat(np.arange(graph.n), np.diff(graph.adjacency.indptr))
    return torch.from_numpy(np.stack([source, np.asarray(graph.adjacency.indices, np.int64)]))


def _csr(graph: Graph) -> Any:
    import torch

    indptr, indices = graph.adjacency.indptr.astype(np.int64), np.asarray(graph.adjacency.indices, np.int64)
    parts = torch.from_numpy(indptr), torch.from_numpy(indices), torch.ones(len(indices))
    return torch.sparse_csr_tensor(*parts, size=(graph.n, graph.n))


CONTENDERS = {
    "slimg": _slimg,
    "gcn": lambda graph, epochs: _network("gcn", graph, epochs),
    "sage": lambda graph, epochs: _network("sage", graph, epochs),
    "dgc": _dgc,
    "dgc-torch": _dgc_torch,
}


def _accuracy(graph: Graph, predicted: np.ndarray, rows: dict[str, np.ndarray]) -> float:
    return float(np.mean(predicted[rows["test"]] == graph.labels[rows["test"]]))


def _child(name: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, str(options.graph), "--epochs", str(options.epochs), "--run", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="folder made by generate.py")
    parser.add_argument("--rivals", nargs="+", default=["slimg"], choices=[*CONTENDERS])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--run", choices=[*CONTENDERS], help=argparse.SUPPRESS)
    parser.add_argument("--no-write", dest="write", action="store_false")
    return parser.parse_args()


if __name__ == "__main__":
    main()
