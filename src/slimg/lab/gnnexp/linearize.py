"""GnnExp by the program: the linear propagator of a network, derived from its code.

    f(A, X; θ) without activations  =  Σ_t p_t(A) · X · M_t(θ) + Σ_s q_s(A) · 1 · r_s(θ)
    P(A, X)                         =  ‖_b b(A) · X         b: a basis of the span of the p_t

The network is traced (`trace`), each recorded call is applied to abstract values (`terms`, `edges`, `values`) by the
rule of its layer (`layers`) or function (`functions`, `shapes`, `messages`), and the polynomials of the result are
reduced to a basis of their span (`algebra`). No weight is ever looked at: the result holds for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slimg.errors import InputError, require
from slimg.lab.gnnexp.algebra import Polynomial
from slimg.lab.gnnexp.evaluate import Propagator
from slimg.lab.gnnexp.formula import propagator_latex, propagator_text
from slimg.lab.gnnexp.remarks import Remark
from slimg.lab.gnnexp.terms import ONES, Value


@dataclass(frozen=True)
class Linearization:
    """The propagator of a network and what was done to obtain it.

    Attributes
    ----------
    blocks : polynomials in operators; block b has the columns b(A)·X
    bias_blocks : polynomials applied to the vector of ones: where biases go
    removed : activations that became the identity, with the line of the user's code
    problems : what is not exact, with the line; empty when P contains the activation-free network for all weights
    """

    name: str
    blocks: tuple[Polynomial, ...]
    bias_blocks: tuple[Polynomial, ...]
    removed: tuple[Remark, ...] = ()
    problems: tuple[Remark, ...] = ()

    @property
    def formula(self) -> str:
        """P(A, X) in unicode."""
        return propagator_text(self.blocks)

    @property
    def latex(self) -> str:
        """P(A, X) in LaTeX."""
        return propagator_latex(self.blocks)

    @property
    def bias_formula(self) -> str:
        """The blocks of the biases in unicode, 0 without any."""
        return propagator_text(self.bias_blocks, "1")

    @property
    def propagator(self) -> Propagator:
        """P as a function of a graph, in double precision; see `register` for large graphs."""
        return Propagator(self.blocks, self.bias_blocks)

    def register(self, name: str) -> Any:
        """Make P known to `slimg.lab.propagators.get` and to `LinearGNN` under this name; returns it from there."""
        from slimg.lab.gnnexp.derived import register

        return register(name, self.blocks, title=self.name)

    @property
    def exact(self) -> bool:
        """Whether nothing but activations was changed."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.name}: P(A, X) = {self.formula}"]
        if self.bias_blocks:
            lines.append(f"  biases: {self.bias_formula}")
        lines += [f"  removed: {remark}" for remark in self.removed]
        lines += [f"  not exact: {remark}" for remark in self.problems]
        return "\n".join(lines)


def linearize(module: Any, inputs: Mapping[str, str] | None = None) -> Linearization:
    """Derive the propagator of a `torch.nn.Module` made of PyTorch Geometric layers.

    Parameters
    ----------
    module : the network; it is neither run nor changed
    inputs : role of arguments of its forward whose name does not tell, see `slimg.lab.gnnexp.inputs`
    """
    torch = require("torch", "gnn", "gnnexp.linearize")
    require("torch_geometric", "gnn", "gnnexp.linearize")
    from slimg.lab.gnnexp.interpreter import Interpreter

    if not isinstance(module, torch.nn.Module):
        raise InputError(f"linearize takes a torch.nn.Module, not {_kind(module)}: build the network first")
    training = {part: part.training for part in module.modules()}
    module.eval()
    try:
        interpreter = Interpreter()
        value = _first_value(interpreter.forward(module, inputs or {}), interpreter.problems)
    finally:
        for part, mode in training.items():
            part.training = mode
    blocks, bias_blocks = value.blocks(), value.blocks(ONES)
    return Linearization(
        type(module).__name__, blocks, bias_blocks, tuple(interpreter.removed), tuple(interpreter.problems)
    )


def _first_value(result: Any, problems: list[Remark]) -> Value:
    """The node values a network returns; the first when it returns several."""
    parts = list(result.values()) if isinstance(result, dict) else result
    values = [part for part in (parts if isinstance(parts, (tuple, list)) else [parts]) if isinstance(part, Value)]
    if not values:
        raise InputError("forward does not return values at the nodes: linearize needs a network that classifies nodes")
    if len(values) > 1:
        problems.append(Remark("forward returns several values: the propagator is that of the first"))
    return values[0]


def _kind(module: Any) -> str:
    return f"the class {module.__name__}" if inspect.isclass(module) else type(module).__name__
