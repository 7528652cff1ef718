"""The record of a fit, its page, and figures.

Public: `Plots`, which is reached as ``model.plot``, `fit_record` and `render`. The rest is internal.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slimg.report.page import render
    from slimg.report.plots import Plots
    from slimg.report.record import fit_record
else:
    from slimg._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__, {"Plots": "slimg.report.plots", "fit_record": "slimg.report.record", "render": "slimg.report.page"}
    )
    del lazy_names

__all__ = ["Plots", "fit_record", "render"]
