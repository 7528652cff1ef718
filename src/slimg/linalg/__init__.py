"""Normalised operators, truncated SVD and PCA, written once in terms of the engine's operations.

Public: the names below. The modules' other names are internal.
"""

from slimg.linalg.krylov import LanczosLayout, lanczos_layout
from slimg.linalg.operators import Operator, operator, products
from slimg.linalg.pca import PCA, Chain, plan_pca, principal_components
from slimg.linalg.svd import Spectrum, plan_svd, truncated_svd

__all__ = [
    "PCA",
    "Chain",
    "LanczosLayout",
    "Operator",
    "Spectrum",
    "lanczos_layout",
    "operator",
    "plan_pca",
    "plan_svd",
    "principal_components",
    "products",
    "truncated_svd",
]
