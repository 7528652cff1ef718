"""linearize: formulas and numbers of the paper's networks and of others, against the networks themselves."""

from pathlib import Path
from types import SimpleNamespace

import gnnexp_networks as networks
import numpy as np
import pytest
import torch
from gnnexp_graphs import two_hop
from gnnexp_networks import HIDDEN, D, linear_output, random_graph, randomised
from torch_geometric import nn as pyg

from slimg.errors import InputError
from slimg.lab.gnnexp import linearize
from slimg.lab.gnnexp.lemmas import residual

TOLERANCE = 1e-8
VISIBLE = 1e-6


def columns(blocks):
    return np.column_stack(list(blocks.values()))


def check_containment(result, module, n=240, make_arguments=None, tight=True, **options):
    """The network's linear output lies in the blocks, and leaves them when any one is removed."""
    for seed in range(2):
        a, x = random_graph(n, seed=seed)
        network = randomised(module, seed)
        arguments = (torch.as_tensor(x), networks.edge_index(a)) if make_arguments is None else make_arguments(a, x)
        output = linear_output(network, *arguments)
        blocks = result.propagator(a, x, bias=True, **options)
        assert residual(columns(blocks), output) <= TOLERANCE
        if tight:
            for name in result.propagator.names:
                rest = {other: block for other, block in blocks.items() if other != name}
                assert not rest or residual(columns(rest), output) > VISIBLE, name


PAPER = [
    (networks.GCN(2), "Ã_sym² X"),
    (networks.GCN(4), "Ã_sym⁴ X"),
    (networks.SGC(3), "Ã_sym³ X"),
    (networks.SAGE(3), "‖ₖ₌₀³ A_rowᵏ X"),
    (networks.ChebNet(5), "‖ₖ₌₀⁴ A_symᵏ X"),
    (networks.APPNP(4, 0.2), "(0.4096 Ã_sym⁴ + 0.1024 Ã_sym³ + 0.128 Ã_sym² + 0.16 Ã_sym + 0.2 I) X"),
    (networks.GCNII(5, 0.1), "‖ₖ₌₀³ Ã_symᵏ X ‖ (0.9 Ã_sym⁵ + 0.1 Ã_sym⁴) X"),
    (networks.GCNIIByHand(5, 0.1), "‖ₖ₌₀³ Ã_symᵏ X ‖ (0.9 Ã_sym⁵ + 0.1 Ã_sym⁴) X"),
    (networks.GPRByLoop(4), "‖ₖ₌₀⁴ Ã_symᵏ X"),
    (networks.H2GCNTwice(2), "‖ₖ₌₀⁴ A_symᵏ X"),
]
OTHERS = [
    (networks.JumpingGCN(3), "Ã_sym X ‖ Ã_sym² X ‖ Ã_sym³ X"),
    (networks.ResidualGCN(3), "‖ₖ₌₀³ Ã_symᵏ X"),
    (networks.MixedSageGCN(), "Ã_sym X ‖ A_row Ã_sym X ‖ Ã_sym A_row X ‖ A_row Ã_sym A_row X"),
    (networks.TAG(), "‖ₖ₌₀⁴ A_symᵏ X"),
    (networks.ARMA(), "‖ₖ₌₀⁴ A_symᵏ X"),
    (networks.ARMA(shared_weights=True), "‖ₖ₌₀⁴ A_symᵏ X"),
    (networks.TutorialGCN(), "Ã_sym X"),
    (networks.GCNII(3, 0.25, shared_weights=False), "‖ₖ₌₀³ Ã_symᵏ X"),
]


def named(cases):
    return [pytest.param(*case, id=f"{type(case[0]).__name__}{place}") for place, case in enumerate(cases)]


@pytest.mark.parametrize(("module", "formula"), named(PAPER))
def test_rows_of_the_paper(module, formula):
    result = linearize(module)
    assert result.formula == formula
    assert result.exact
    check_containment(result, module)


@pytest.mark.parametrize(("module", "formula"), named(OTHERS))
def test_networks_that_are_not_in_the_paper(module, formula):
    result = linearize(module)
    assert result.formula == formula
    assert result.exact
    check_containment(result, module)


def test_gprgnn_as_published_takes_a_data_object():
    module = networks.GPRGNN(4)
    result = linearize(module)
    assert result.formula == "‖ₖ₌₀⁴ Ã_symᵏ X"

    def data(a, x):
        return (SimpleNamespace(x=torch.as_tensor(x), edge_index=networks.edge_index(a)),)

    check_containment(result, module, make_arguments=data)


def h2gcn_arguments(a, x):
    return torch.as_tensor(x), networks.edge_index(a), networks.edge_index(two_hop(a))


def test_h2gcn_with_strict_two_hop_neighbours_has_a_second_operator():
    module = networks.H2GCN(1)
    result = linearize(module)
    assert result.formula == "X ‖ A_sym X ‖ A₂_sym X"
    assert result.exact
    check_containment(result, module, make_arguments=h2gcn_arguments)


def test_h2gcn_as_the_paper_reads_it_is_not_exact():
    module = networks.H2GCN(2)
    result = linearize(module, inputs={"edge_index2": "square"})
    assert result.formula == "‖ₖ₌₀⁴ A_symᵏ X"
    assert "two-hop" in str(result.problems[0])
    a, x = random_graph(240)
    output = linear_output(randomised(module), *h2gcn_arguments(a, x))
    assert residual(columns(result.propagator(a, x)), output) > 1e-3


def test_one_layer_of_attention_has_the_partial_form_of_the_paper():
    result = linearize(pyg.GATConv(D, HIDDEN, bias=False))
    assert result.formula == "[diag(X w₁₁) Ã + Ã diag(X w₁₂)] X"
    assert result.latex.startswith(r"[\mathrm{diag}(\mathbf{X} \mathbf{w}_{1,1}) \tilde{\mathbf{A}}")
    assert result.propagator.vectors == ("w_{1,1}", "w_{1,2}")
    a, x = random_graph(240)
    rng = np.random.default_rng(0)
    weight, to, source = rng.standard_normal((D, HIDDEN)), rng.standard_normal(HIDDEN), rng.standard_normal(HIDDEN)
    loops = a.toarray() + np.eye(240)
    attention = ((x @ weight @ to)[:, None] + (x @ weight @ source)[None, :]) * loops
    blocks = result.propagator(a, x, vectors={"w_{1,1}": weight @ to, "w_{1,2}": weight @ source})
    assert residual(columns(blocks), attention @ x @ weight) <= TOLERANCE
    with pytest.raises(InputError, match=r"weight vectors w_\{1,1\}, w_\{1,2\}"):
        result.propagator(a, x)


def test_attention_beyond_one_layer_is_said_to_be_inexact():
    result = linearize(pyg.GAT(D, HIDDEN, 2, 3))
    assert result.formula == "[diag(X w₂₁) Ã + Ã diag(X w₂₂)] [diag(X w₁₁) Ã + Ã diag(X w₁₂)] X"
    assert any("hidden layer" in str(problem) for problem in result.problems)


def test_a_network_that_uses_weights_in_some_layers_only_has_two_operators():
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gcn, self.sage = pyg.GCNConv(D, HIDDEN), pyg.SAGEConv(HIDDEN, 4)

        def forward(self, x, edge_index, edge_weight=None):
            return self.sage(self.gcn(x, edge_index, edge_weight).relu(), edge_index)

    module = Mixed()
    assert linearize(module).formula == "Ã_sym X ‖ A_row Ã_sym X"
    result = linearize(module, inputs={"edge_weight": "weights"})
    assert result.formula == "Ã_sym X ‖ B_row Ã_sym X"
    a, x = random_graph(240, weighted=True)
    output = linear_output(randomised(module), torch.as_tensor(x), networks.edge_index(a), networks.edge_weight(a))
    assert residual(columns(result.propagator(a, x, bias=True)), output) <= TOLERANCE


def test_activations_are_reported_with_their_lines():
    result = linearize(networks.GCN(3))
    assert [remark.text for remark in result.removed] == ["relu", "log_softmax"]
    first = result.removed[0].where
    assert first.file.endswith("gnnexp_networks.py")
    assert first.code == "x = F.relu(conv(x, edge_index))"
    assert first.code in Path(first.file).read_text(encoding="utf-8").splitlines()[first.line - 1]


def test_the_network_is_left_as_it_was():
    module = networks.GCNIIByHand()
    module.first.eval()
    before = {name: part.training for name, part in module.named_modules()}
    state = {name: tensor.clone() for name, tensor in randomised(module).state_dict().items()}
    for name, part in module.named_modules():
        part.training = before[name]
    attributes = set(module.__dict__)
    linearize(module)
    assert {name: part.training for name, part in module.named_modules()} == before
    assert set(module.__dict__) == attributes
    assert all(torch.equal(state[name], tensor) for name, tensor in module.state_dict().items())


def test_deep_networks_take_little_time():
    assert linearize(networks.GCNII(32)).blocks[-1].leading.degree == 32
    assert len(linearize(networks.ResidualGCN(16)).blocks) == 17  # 2¹⁶ products of weights


def test_str_tells_all():
    text = str(linearize(networks.H2GCN(1), inputs={"edge_index2": "square"}))
    assert text.startswith("H2GCN: P(A, X) = X ‖ A_sym X ‖ A_sym² X")
    assert "removed:" in text and "not exact:" in text


def test_a_class_is_refused():
    with pytest.raises(InputError, match="the class GCN: build the network first"):
        linearize(networks.GCN)


def test_without_torch_the_extra_is_named(monkeypatch):
    import sys

    from slimg.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install slimg\[gnn\]"):
        linearize(object())
