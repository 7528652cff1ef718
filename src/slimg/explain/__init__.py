"""Why a node is classified as it is, what would change it, and what a graph has to say at all."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slimg.explain.counterfactual import Counterfactual
    from slimg.explain.diagnosis import Diagnosis, diagnose
    from slimg.explain.explanation import Explanation, Part, Summary, Term
else:
    from slimg._lazy import lazy_names

    _HOMES = {"counterfactual": ("Counterfactual",), "diagnosis": ("Diagnosis", "diagnose"),
              "explanation": ("Explanation", "Part", "Summary", "Term")}  # fmt: skip
    __getattr__, __dir__ = lazy_names(
        __name__, {name: f"slimg.explain.{home}" for home, names in _HOMES.items() for name in names}
    )

__all__ = ["Counterfactual", "Diagnosis", "Explanation", "Part", "Summary", "Term", "diagnose"]
