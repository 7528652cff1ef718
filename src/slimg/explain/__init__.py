"""Why a node is classified as it is, what would change it, and what a graph has to say at all."""

from slimg.explain.counterfactual import Counterfactual
from slimg.explain.diagnosis import Diagnosis, diagnose
from slimg.explain.explanation import Explanation, Part, Term
from slimg.explain.summary import Summary

__all__ = ["Counterfactual", "Diagnosis", "Explanation", "Part", "Summary", "Term", "diagnose"]
