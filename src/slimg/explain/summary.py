"""The weights of a whole model: components, features and classes, and what the penalty removed.

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
from slimg.explain.explanation import Term, top_terms
from slimg.graph.columns import show
from slimg.inference.scoring import Scorer


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The weights of a model; printing it shows them in sentences.

    Attributes
    ----------
    classes : array of shape (c,)
        The labels, sorted.
    components : dict of str to float
        Name → ‖W_g‖_F.
    titles : dict of str to str
        Name → the component in words.
    removed : tuple of str
        Names of components whose weights are exactly zero.
    bias : array of shape (c,)
        Sums to zero.
    features : dict of str to array of shape (d, c)
        Name → the weight of each feature for each class, each row summing to zero.
    feature_names : dict of str to tuple of str or None
        Name → names of those features; None where they have none.
    """

    classes: Array
    components: dict[str, float]
    titles: dict[str, str]
    removed: tuple[str, ...]
    bias: Array
    features: dict[str, Array]
    feature_names: dict[str, tuple[str, ...] | None]

    def __repr__(self) -> str:
        return self.text()

    @classmethod
    def of(cls, scorer: Scorer, feature_names: tuple[str, ...] | None) -> Summary:
        """Summarise a fitted model.

        Parameters
        ----------
        scorer : Scorer
            The fitted model.
        feature_names : tuple of str or None
            Names of the features of the graph.

        Returns
        -------
        Summary
            Its weights.
        """
        norms = {name: float(np.linalg.norm(weights)) for name, weights in scorer.weights.items()}
        removed = tuple(name for name in scorer.weights if name not in scorer.used)
        features = {name: beta - beta.mean(axis=1, keepdims=True) for name, beta in scorer.loadings.items()}
        names = {name: scorer.feature_names(name) or feature_names for name in features}
        bias = scorer.intercept.astype(np.float64)
        return cls(scorer.classes, norms, scorer.titles, removed, bias, features, names)

    def share(self, component: str) -> float:
        """Give the norm of a component as a share of the sum over components.

        Parameters
        ----------
        component : str
            Its short name.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return self.components[component] / (sum(self.components.values()) or 1.0)

    def top_features(self, component: str, label: Any, k: int = 10) -> list[Term]:
        """Find the features that speak most for a class.

        Parameters
        ----------
        component : str
            Its short name.
        label : object
            The class.
        k : int, default=10
            How many features.

        Returns
        -------
        list of Term
            Most first.
        """
        if component not in self.features:
            raise InputError(f"no weights of features for {component!r}: there are those of {show(self.features)}")
        known = self.classes.tolist()
        if label not in known:
            raise InputError(f"no class {label!r}: the model knows {show(known)}")
        column = np.maximum(self.features[component][:, known.index(label)], 0)
        places = np.argsort(-column, kind="stable")[:k]
        own = self.feature_names[component]
        names = [own[j] if own else f"feature {j}" for j in places.tolist() if column[j] > 0]
        return top_terms(column, names, k, "other feature")[: len(names)]

    def text(self, k: int = 5) -> str:
        """Summarise in sentences.

        Parameters
        ----------
        k : int, default=5
            How many features are named for each class.

        Returns
        -------
        str
            Lines of text.
        """
        order = sorted(self.components, key=lambda name: -self.components[name])
        lines = [f"{name}, {self.titles[name]}: {self.share(name):.0%}." for name in order if name not in self.removed]
        lines += [f"{name}, {self.titles[name]}: removed by the penalty." for name in self.removed]
        if self.features:
            main = max(self.features, key=lambda name: self.components[name])
            for label in self.classes.tolist():
                words = ", ".join(str(term.name) for term in self.top_features(main, label, k))
                lines.append(f"Features that speak most for {label}, in {self.titles[main]}: {words}.")
        return "\n".join(lines)

    def to_dict(self, k: int = 20) -> dict[str, Any]:
        """Convert to plain values for JSON.

        Parameters
        ----------
        k : int, default=20
            How many features are listed for each component and class.

        Returns
        -------
        dict
            Classes, components, bias and features.
        """
        known = self.classes.tolist()
        return {
            "classes": known,
            "components": [
                {"name": name, "title": self.titles[name], "norm": norm, "share": self.share(name), "removed": norm == 0}
                for name, norm in self.components.items()
            ],
            "bias": self.bias.tolist(),
            "features": {
                name: {str(label): [list(term[:2]) for term in self.top_features(name, label, k)] for label in known}
                for name in self.features
            },
        }
