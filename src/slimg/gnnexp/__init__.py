"""GnnExp: every graph neural network as a linear propagator P(A, X), derived and proved."""

from slimg.gnnexp.linearize import Linearization, linearize
from slimg.gnnexp.rules import rule

__all__ = ["Linearization", "linearize", "rule"]
