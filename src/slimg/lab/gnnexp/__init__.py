"""GnnExp: graph neural networks as linear propagators P(A, X), derived and verified.

Public: `linearize` with its `Linearization`, `rule` for layers of your own, `verify` with its `Record`s. Everything else
is internal.
"""

from slimg.lab.gnnexp.lemmas import Record, verify
from slimg.lab.gnnexp.linearize import Linearization, linearize
from slimg.lab.gnnexp.rules import rule

__all__ = ["Linearization", "Record", "linearize", "rule", "verify"]
