"""GnnExp: every graph neural network as a linear propagator P(A, X), derived and proved."""

from slimg.gnnexp.linearize import Linearization, linearize
from slimg.gnnexp.rules import rule
from slimg.gnnexp.verify import Record, verify

__all__ = ["Linearization", "Record", "linearize", "rule", "verify"]
