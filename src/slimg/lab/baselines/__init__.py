"""Models to compare with, by name, and processes of their own to run them in."""

from slimg.lab.baselines.limited import Outcome, run
from slimg.lab.baselines.models import get, names

__all__ = ["Outcome", "get", "names", "run"]
