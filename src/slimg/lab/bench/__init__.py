"""Every table and figure of the paper from one command: recipes × models × graphs × seeds → records → tables.

    recipe ─▶ cells ─▶ batches (cells that share features) ─▶ child processes ─▶ store ─▶ tables, figures, page

Public: `Recipe` and `Store`. Everything else in this package is internal.
"""

from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.store import Store

__all__ = ["Recipe", "Store"]
