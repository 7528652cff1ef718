"""Normalised operators, truncated SVD and PCA, written once in terms of the engine's operations.

Public: the names below. The modules' other names are internal.
"""

from slimg.linalg.krylov import LanczosLayout, lanczos_layout
from slimg.linalg.operators import Operator, operator, products
from slimg.linalg.svd import PCA, Spectrum, directed_svd, leading_directions, plan_svd, principal_components, reduced_width

__all__ = [
    "PCA",
    "LanczosLayout",
    "Operator",
    "Spectrum",
    "directed_svd",
    "lanczos_layout",
    "leading_directions",
    "operator",
    "plan_svd",
    "principal_components",
    "products",
    "reduced_width",
]
