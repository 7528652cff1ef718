"""GnnExp: every graph neural network as a linear propagator P(A, X), derived and proved."""

from slimg.lab.gnnexp.linearize import Linearization, linearize
from slimg.lab.gnnexp.rules import rule
from slimg.lab.gnnexp.verify import Record, verify

__all__ = ["Linearization", "Record", "linearize", "rule", "verify"]
