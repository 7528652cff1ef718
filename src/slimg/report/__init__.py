"""The record of a fit, its page, and figures.

Public: `fit_record` (`slimg.report.record`), `render` (`slimg.report.page`), and `Plots` (`slimg.report.plots`), which is
reached as ``model.plot``. Everything else is internal.
"""
