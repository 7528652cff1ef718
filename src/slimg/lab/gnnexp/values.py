"""Abstract values that are neither node features nor edges: parameters, stacks, sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slimg.lab.gnnexp.terms import Value


@dataclass(frozen=True, eq=False)
class Weight:
    """A tensor that does not depend on X: a parameter, a buffer, or what was computed from them.

    Its name says how it was made, so equal names are equal tensors. A fixed tensor is not ``learned``.
    """

    name: str
    tensor: Any
    learned: bool

    @property
    def is_scalar(self) -> bool:
        """Whether it holds one number."""
        return self.tensor.numel() == 1

    @property
    def is_row(self) -> bool:
        """Whether it is one row, the same for every node."""
        return self.tensor.ndim == 1 or (self.tensor.ndim == 2 and self.tensor.shape[0] == 1)

    @property
    def number(self) -> float:
        """The number a scalar holds, as short as its precision allows: 0.1 and not 0.10000000149."""
        return float(str(self.tensor.detach().cpu().numpy().reshape(-1)[0]))


@dataclass(frozen=True)
class Stacked:
    """Values stacked along a new axis."""

    values: tuple[Value, ...]
    axis: int

    def mapped(self, change: Callable[[Value], Value]) -> Stacked:
        """The same stack with every value changed."""
        return Stacked(tuple(change(value) for value in self.values), self.axis)


@dataclass(frozen=True)
class Pieces:
    """The features of a value cut into parts; each part is a fixed selection of columns."""

    value: Value
    name: str

    def __getitem__(self, place: int) -> Value:
        return self.value.times(f"{self.name}[{place}]")


@dataclass(frozen=True)
class Opaque:
    """Something that does not depend on X: a size, a type, a device, a mask. Sizes are numbers."""

    name: str
    is_number: bool = False


@dataclass(frozen=True)
class DataObject:
    """A `torch_geometric.data.Data` handed to forward whole; ``weighted`` when the network reads its edge weights."""

    weighted: bool
