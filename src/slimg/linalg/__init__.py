"""Normalised operators, truncated SVD and PCA, written once against the engine's operations."""

from slimg.linalg.operators import Operator, operator, products
from slimg.linalg.pca import PCA, principal_components
from slimg.linalg.svd import Spectrum, truncated_svd

__all__ = ["PCA", "Operator", "Spectrum", "operator", "principal_components", "products", "truncated_svd"]
