"""Each network against its formula in dense float64, at fixed weights, on a graph with isolated nodes."""

import numpy as np
import pytest
from baseline_graphs import dense, graph_with_isolated

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from slimg.components import Structure, compute_components, paper_components  # noqa: E402
from slimg.engine import MemoryEngine  # noqa: E402
from slimg.errors import InputError  # noqa: E402
from slimg.lab.baselines import network as grids  # noqa: E402
from slimg.lab.baselines.architectures import (  # noqa: E402
    Inputs,
    Shape,
    build,
)

CLASSES, HIDDEN = 3, 8


def relu(h):
    return np.maximum(h, 0)


def logits(name, graph, **setting):
    """The network in evaluation mode with random weights, its weights by name in float64, and its inputs."""
    torch.manual_seed(0)
    inputs = Inputs(graph, MemoryEngine(1))
    shape = Shape(graph.d, CLASSES, graph.n, HIDDEN, 0.5, np.random.default_rng(0))
    module = build(name, shape, inputs, {"lr": 0.01, "weight_decay": 0.0, **setting})
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.7)
        for key, value in module.named_buffers():
            if "running" in key:
                value.uniform_(0.5, 2)
        found = module.eval()(inputs).numpy()
    return found, {key: value.double().numpy() for key, value in module.state_dict().items()}


def affine(w, name, h):
    return h @ w[f"{name}.weight"] + w.get(f"{name}.bias", 0.0)


def mlp(w, name, h, layers):
    for layer in range(layers):
        h = affine(w, f"{name}layers.{layer}", relu(h) if layer else h)
    return h


def gcn(w, name, x, hop, layers):
    h = x
    for layer in range(layers):
        weight = w[f"{name}layers.{layer}.lin.weight"]
        weight = weight if layer == 0 else weight.T  # torch keeps the transpose, Affine does not
        h = hop @ (relu(h) if layer else h) @ weight + w[f"{name}layers.{layer}.bias"]
    return h


def of_gcn(m, w, K):
    return gcn(w, "", m["X"], m["Ã_sym"], K)


def of_gcn_tuned(m, w, K, residual, norm):
    h = m["X"]
    for layer in range(K):
        h = m["Ã_sym"] @ affine(w, f"around.{layer}", h) + (affine(w, f"own.{layer}", h) if residual else 0)
        if norm != "none":
            name = f"norms.{layer}"
            mean, var = ((h.mean(1, keepdims=True), h.var(1, keepdims=True)) if norm == "layer"
                         else (w[f"{name}.running_mean"], w[f"{name}.running_var"]))  # fmt: skip
            h = (h - mean) / np.sqrt(var + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]
        h = relu(h)
    return affine(w, "last", h)


def of_sage(m, w, K):
    h = m["X"]
    for layer in range(K):
        h = relu(h) if layer else h
        h = m["A_row"] @ h @ w[f"around.{layer}.weight"] + affine(w, f"own.{layer}", h)
    return h


def of_gcnii(m, w, K, alpha, theta):
    h = start = relu(affine(w, "first", m["X"]))
    for layer in range(1, K + 1):
        beta = np.log(theta / layer + 1)
        mixed = (1 - alpha) * m["Ã_sym"] @ h + alpha * start
        h = relu(mixed @ ((1 - beta) * np.eye(HIDDEN) + beta * w[f"layers.{layer - 1}.weight1"]))
    return affine(w, "last", h)


def of_h2gcn(m, w, K):
    parts = [relu(affine(w, "first", m["X"]))]
    for _ in range(K):
        parts.append(np.hstack([m["A_sym"] @ parts[-1], m["A2_sym"] @ parts[-1]]))
    return affine(w, "last", np.hstack(parts))


def of_appnp(m, w, K, alpha):
    h = mlp(w, "predict.", m["X"], 2)
    inverse = sum(alpha * (1 - alpha) ** k * np.linalg.matrix_power(m["Ã_sym"], k) for k in range(K))
    return (inverse + (1 - alpha) ** K * np.linalg.matrix_power(m["Ã_sym"], K)) @ h


def of_gprgnn(m, w, K, alpha):
    h = mlp(w, "predict.", m["X"], 2)
    return sum(w["gamma"][k] * np.linalg.matrix_power(m["Ã_sym"], k) @ h for k in range(K + 1))


def of_gat(m, w, K, heads):
    edges = (m["A"] > 0) | np.eye(len(m["A"]), dtype=bool)
    h = m["X"]
    for layer in range(K):
        last = layer == K - 1
        weight = w["first.weight"] if layer == 0 else w[f"layers.{layer}.lin.weight"].T
        count, elu = 1 if last else heads, np.where(h > 0, h, np.expm1(np.minimum(h, 0)))
        z = ((elu if layer else h) @ weight).reshape(len(h), count, -1)
        source, target = ((z * w[f"layers.{layer}.att_{end}"][0]).sum(-1) for end in ("src", "dst"))
        parts = []
        for head in range(count):
            raw = target[:, head][:, None] + source[:, head][None]  # row i attends to column j
            score = np.where(edges, np.exp(np.where(raw > 0, raw, 0.2 * raw)), 0)
            parts.append(score / score.sum(axis=1, keepdims=True) @ z[:, head])
        h = np.hstack(parts) + w[f"layers.{layer}.bias"]
    return h


def of_linkx(m, w, K):
    a, x = m["A"] @ w["edges.weight"] + w["shift"], affine(w, "features", m["X"])
    return mlp(w, "last.", relu(affine(w, "mix", np.hstack([a, x])) + a + x), K)


CASES = [
    ("gcn", {"K": 1}, of_gcn),
    ("gcn", {"K": 2}, of_gcn),
    ("gcn_tuned", {"K": 1, "residual": 0, "norm": "none"}, of_gcn_tuned),
    ("gcn_tuned", {"K": 2, "residual": 1, "norm": "layer"}, of_gcn_tuned),
    ("gcn_tuned", {"K": 3, "residual": 1, "norm": "batch"}, of_gcn_tuned),
    ("sage", {"K": 2}, of_sage),
    ("sage", {"K": 3}, of_sage),
    ("gcnii", {"K": 4, "alpha": 0.2, "theta": 1.5}, of_gcnii),
    ("h2gcn", {"K": 1}, of_h2gcn),
    ("h2gcn", {"K": 2}, of_h2gcn),
    ("appnp", {"K": 5, "alpha": 0.1}, of_appnp),
    ("gprgnn", {"K": 4, "alpha": 0.3}, of_gprgnn),
    ("gat", {"K": 2, "heads": 4}, of_gat),
    ("gat", {"K": 3, "heads": 2}, of_gat),
    ("linkx", {"K": 2}, of_linkx),
    ("mlp2", {}, lambda m, w: mlp(w, "", m["X"], 2)),
    ("mlp3", {}, lambda m, w: mlp(w, "", m["X"], 3)),
]


@pytest.mark.parametrize(("name", "setting", "formula"), CASES, ids=[f"{name}-{list(s.values())}" for name, s, _ in CASES])
def test_logits_are_those_of_the_formula(name, setting, formula):
    for sparse_features in (True, False):
        graph = graph_with_isolated(sparse_features=sparse_features)
        found, weights = logits(name, graph, **setting)
        expected = formula(dense(graph), weights, **setting)
        assert found.shape == (graph.n, CLASSES)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("layers", [2, 3])
def test_the_ablations_mlp_reads_slimgs_components(layers):
    graph = graph_with_isolated()
    parts = compute_components(graph, MemoryEngine(1), components=paper_components())
    joined = np.hstack([parts.engine.to_array(block) for block in parts.blocks.values()]).astype(float)
    found, weights = logits(f"slimg_mlp{layers}", graph)
    np.testing.assert_allclose(found, mlp(weights, "", joined, layers), rtol=2e-4, atol=2e-4)


def test_the_ablations_nonlinear_transformation():
    graph = graph_with_isolated()
    m = dense(graph)
    structure = compute_components(graph, MemoryEngine(1), components=[Structure()]).blocks["U"].astype(float)
    found, w = logits("slimg_nonlinear", graph)
    parts = [mlp(w, "parts.0.", structure, 2), mlp(w, "parts.1.", m["X"], 2)]
    parts += [gcn(w, f"parts.{place}.", m["X"], m[hop], 2) for place, hop in ((2, "A_row"), (3, "Ã_sym"))]
    np.testing.assert_allclose(found, mlp(w, "last.", relu(np.hstack(parts)), 2), rtol=2e-4, atol=5e-4)


def test_gpr_starts_as_appnp():
    graph = graph_with_isolated()
    shape = Shape(graph.d, CLASSES, graph.n, HIDDEN, 0.5, np.random.default_rng(0))
    module = build("gprgnn", shape, Inputs(graph, MemoryEngine(1)), {"K": 3, "alpha": 0.1})
    np.testing.assert_allclose(module.gamma.detach().numpy(), [0.1, 0.09, 0.081, 0.729], rtol=1e-6)


def test_sage_is_the_layer_of_pytorch_geometric():
    from torch_geometric.nn import SAGEConv

    graph = graph_with_isolated()
    found, w = logits("sage", graph, K=1)
    layer = SAGEConv(graph.d, CLASSES)
    with torch.no_grad():
        layer.lin_l.weight.copy_(torch.tensor(w["around.0.weight"].T))
        layer.lin_r.weight.copy_(torch.tensor(w["own.0.weight"].T))
        layer.lin_l.bias.copy_(torch.tensor(w["own.0.bias"]))
        edges = torch.tensor(np.stack(np.nonzero(dense(graph)["A"])))
        expected = layer(torch.tensor(dense(graph)["X"], dtype=torch.float32), edges).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", grids.PAPER)
def test_every_weight_learns_and_its_gradient_is_that_of_finite_differences(name, monkeypatch):
    """float32 asks for large steps, which would cross the kinks of σ: a smooth function stands in for it."""
    monkeypatch.setattr(torch.nn.functional, "relu", torch.nn.functional.softplus)
    graph = graph_with_isolated(sparse_features=True)
    torch.manual_seed(1)
    inputs = Inputs(graph, MemoryEngine(1))
    setting = {key: values[0] for key, values in grids.QUICK[name].items()}
    shape = Shape(graph.d, CLASSES, graph.n, HIDDEN, 0.0, np.random.default_rng(0))
    module = build(name, shape, inputs, setting | ({"K": 2} if name == "gcnii" else {}))
    mixing = torch.randn(graph.n, CLASSES)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.7)

    def loss():
        return (module(inputs) * mixing).sum()

    loss().backward()
    for key, parameter in module.named_parameters():
        direction = torch.randn_like(parameter)
        slope = float((parameter.grad * direction).sum())
        with torch.no_grad():
            values = []
            for step in (1e-3, -1e-3):
                parameter.add_(step * direction)
                values.append(float(loss()))
                parameter.sub_(step * direction)
        assert slope == pytest.approx((values[0] - values[1]) / 2e-3, rel=0.05, abs=0.05), key
        assert parameter.grad.abs().sum() > 0, key


def test_heads_must_share_the_hidden_columns():
    with pytest.raises(InputError, match="gat: 3 heads cannot share 8 hidden columns"):
        logits("gat", graph_with_isolated(), K=2, heads=3)
