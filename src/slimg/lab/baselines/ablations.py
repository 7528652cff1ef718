"""The paper's ablations of SlimG, from the settings of a recipe to lists of components.

    components   which of U, X, row and sym;         pca       False keeps the features themselves
                 "default" for those of `SlimG()`
    k_row, k_sym hops, one number or several         energy, max_rank   the rank of the paper's rule
    sparsity     False drops both penalties
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from slimg.classifier import UNPENALIZED
from slimg.components import Component, EnergyRank, Features, PropagatedFeatures, Structure
from slimg.components.component import MAX_RANK
from slimg.components.features import FeatureComponent
from slimg.errors import check_names

NAMES = ("U", "X", "row", "sym")
DEFAULT = "default"
SHARED = ("pca", "k_row", "k_sym", "energy", "max_rank")
"""Settings of components: models with the same ones can share components."""


def slimg_components(
    names: Iterable[str] = NAMES, *, pca: bool = True, k_row: int | Collection[int] = 2, k_sym: int | Collection[int] = 2,
    energy: float = 0.9, max_rank: int = MAX_RANK, normalize: str | None = "row",
) -> list[Component]:  # fmt: skip
    """Make the list of components of an ablation.

    Parameters
    ----------
    names : iterable of str
        Which of U, X, row and sym.
    pca : bool, default=True
        False keeps the propagated features themselves.
    k_row, k_sym : int or collection of int, default=2
        Numbers of hops; several give one component each.
    energy, max_rank : float and int
        The rule of the rank.
    normalize : "row" or None, default="row"
        How rows of X are prepared.

    Returns
    -------
    list of Component

    Examples
    --------
    >>> from slimg.lab.baselines.ablations import slimg_components
    >>> [component.name for component in slimg_components(["X", "row"], k_row=[2, 4])]
    ['X', 'A_row^2 X', 'A_row^4 X']
    """
    wanted = list(names)
    check_names("component", wanted, NAMES)
    rank = EnergyRank(energy, max_rank)
    options: dict[str, Any] = {"rank": rank, "pca": pca, "normalize": normalize}
    found: list[Component] = [Structure(rank=rank)] if "U" in wanted else []
    found += [Features(**options)] if "X" in wanted else []
    for kind, hops in (("row", k_row), ("sym", k_sym)):
        steps = sorted({hops} if isinstance(hops, int) else set(hops))
        found += [PropagatedFeatures(kind=kind, steps=step, **options) for step in steps if kind in wanted]
    return found


def slimg_params(settings: dict[str, Any], normalize: str | None = "row") -> dict[str, Any]:
    """Translate settings of a recipe into parameters of `SlimG`.

    Parameters
    ----------
    settings : dict
        Parameters of `SlimG` and the settings above.
    normalize : "row" or None, default="row"
        How rows of X are prepared.

    Returns
    -------
    dict
    """
    own = (*SHARED, "normalize")
    options = {"normalize": normalize, **{key: settings[key] for key in own if key in settings}}
    params = {key: value for key, value in settings.items() if key not in (*own, "components", "sparsity")}
    names = settings.get("components", NAMES)
    params["components"] = None if names == DEFAULT else slimg_components(names, **options)
    if settings.get("sparsity") is False:
        params["grid"] = UNPENALIZED
    return params


def with_normalize(components: Iterable[Component], normalize: str | None) -> list[Component]:
    """The same components with another preparation of X.

    Parameters
    ----------
    components : iterable of Component
    normalize : "row" or None

    Returns
    -------
    list of Component
    """
    return [replace(each, normalize=normalize) if isinstance(each, FeatureComponent) else each for each in components]
