"""Normalised operators, truncated SVD and PCA, written once against the engine's operations."""

from slimg.linalg.krylov import LanczosLayout, lanczos_layout
from slimg.linalg.operators import Operator, operator, products
from slimg.linalg.pca import PCA, Chain, plan_pca, principal_components
from slimg.linalg.svd import plan_svd, truncated_svd
from slimg.linalg.svd_plans import Spectrum

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
