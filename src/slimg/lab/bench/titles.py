"""How tables call rows and columns."""

from __future__ import annotations

from slimg.lab.baselines import LINEAR
from slimg.lab.bench.protocol import is_reduced
from slimg.lab.bench.recipe import Recipe
from slimg.lab.datasets.dataset import table
from slimg.lab.propagators.registry import kind_of

ROWS = {
    "slimg": "SlimG", "slimg-path": "SlimG, default path", "gcn": "GCN", "sage": "SAGE", "gcnii": "GCNII", "h2gcn": "H₂GCN",
    "appnp": "APPNP", "gprgnn": "GPR-GNN", "gat": "GAT", "linkx": "LINKX", "c1": "SlimG-C1 (U)", "c2": "SlimG-C2 (X)",
    "c3": "SlimG-C3 (A_row² X)", "c4": "SlimG-C4 (Ã_sym² X)", "mlp2": "w/ MLP-2", "mlp3": "w/ MLP-3",
    "nonlinear": "w/ NL Trans.", "no-sparsity": "w/o Sp. Reg.", "no-pca": "w/o PCA", "no-u": "w/o Struct. U",
    "row246-sym234": "k_row 2,4,6; k_sym 2,3,4", "row24-sym23": "k_row 2,4; k_sym 2,3", "row6-sym4": "k_row 6; k_sym 4",
    "row4-sym3": "k_row 4; k_sym 3",
}  # fmt: skip


def title_of_row(recipe: Recipe, row: str) -> str:
    """A model's title."""
    if recipe.name == "receptive" and row == "slimg":
        return "k_row 2; k_sym 2 (SlimG)"
    if row in ROWS:
        return ROWS[row]
    return kind_of(row).title if row in LINEAR else row


def marked_title(recipe: Recipe, row: str) -> str:
    """A model's title, with † if it was given less than the paper gives it."""
    return title_of_row(recipe, row) + (" †" if is_reduced(recipe.models[row]) else "")


def title_of_column(column: str) -> str:
    """A graph's title."""
    return table()[column].title if column in table() else column
