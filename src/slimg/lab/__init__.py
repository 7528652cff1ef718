"""The paper's laboratory: propagators and `LinearGNN`, gnnexp, sanity checks, baselines, datasets, benchmarks.

The core of slimg never imports it.
"""
