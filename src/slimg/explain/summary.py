"""A whole model at a glance: how much each component, feature and class weighs, and what the penalty removed.

    component   ‖W_g‖_F
    feature     β_g = C_gᵀ W_g  (d × c), less its mean over classes: what one unit of the feature adds to a class's score
                before the row's length is divided out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slimg.engine.base import Array
from slimg.errors import InputError
from slimg.explain.explainer import Scorer, title_of
from slimg.explain.explanation import Term, top_terms
from slimg.graph.columns import show


@dataclass(frozen=True, eq=False)
class Summary:
    """What a model weighs.

    Attributes
    ----------
    classes : (c,)
    components : name → ‖W_g‖_F;  removed : names of those that are exactly zero
    bias : (c,), sums to zero
    features : name → (d, c), the weight of each feature for each class, each row summing to zero
    """

    classes: Array
    components: dict[str, float]
    removed: tuple[str, ...]
    bias: Array
    features: dict[str, Array]
    feature_names: tuple[str, ...] | None

    @classmethod
    def of(cls, scorer: Scorer, feature_names: tuple[str, ...] | None) -> Summary:
        norms = {name: float(np.linalg.norm(weights)) for name, weights in scorer.weights.items()}
        removed = tuple(name for name, weights in scorer.weights.items() if not weights.any())
        features = {name: beta - beta.mean(axis=1, keepdims=True) for name, beta in scorer.loadings.items()}
        return cls(scorer.classes, norms, removed, scorer.intercept.astype(np.float64), features, feature_names)

    def share(self, component: str) -> float:
        """A component's norm as a share of the sum over components."""
        return self.components[component] / (sum(self.components.values()) or 1.0)

    def top_features(self, component: str, label: Any, k: int = 10) -> list[Term]:
        """The k features that speak most for a class, most first."""
        if component not in self.features:
            raise InputError(f"no weights of features for {component!r}: there are those of {show(self.features)}")
        known = self.classes.tolist()
        if label not in known:
            raise InputError(f"no class {label!r}: the model knows {show(known)}")
        column = np.maximum(self.features[component][:, known.index(label)], 0)
        places = np.argsort(-column, kind="stable")[:k]
        names = [self._name(int(j)) for j in places if column[j] > 0]
        return top_terms(column, names, k, "other feature")[: len(names)]

    def text(self, k: int = 5) -> str:
        """In sentences."""
        order = sorted(self.components, key=lambda name: -self.components[name])
        lines = [f"{name}, {title_of(name)}: {self.share(name):.0%}." for name in order if name not in self.removed]
        lines += [f"{name}, {title_of(name)}: removed by the penalty." for name in self.removed]
        if self.features:
            main = max(self.features, key=lambda name: self.components[name])
            for label in self.classes.tolist():
                words = ", ".join(str(term.name) for term in self.top_features(main, label, k))
                lines.append(f"For {label} speak, in {title_of(main)}: {words}.")
        return "\n".join(lines)

    def to_dict(self, k: int = 20) -> dict[str, Any]:
        """For JSON: components, bias, and the k features that speak most for each class."""
        known = self.classes.tolist()
        return {
            "classes": known,
            "components": [
                {"name": name, "title": title_of(name), "norm": norm, "share": self.share(name), "removed": norm == 0}
                for name, norm in self.components.items()
            ],
            "bias": self.bias.tolist(),
            "features": {
                name: {str(label): [list(term[:2]) for term in self.top_features(name, label, k)] for label in known}
                for name in self.features
            },
        }

    def _name(self, column: int) -> str:
        return self.feature_names[column] if self.feature_names else f"feature {column}"
