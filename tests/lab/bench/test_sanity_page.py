"""The page of the sanity checks: what it says of networks that had little training (the rest: test_bench_command)."""

from types import SimpleNamespace

from slimg.lab.bench.recipe import Recipe
from slimg.lab.bench.sanity_page import _untrained


def said(recipe):
    return _untrained(SimpleNamespace(recipe=recipe))


def test_verdicts_on_networks_with_little_training_are_no_verdicts_on_networks():
    quick = said(Recipe.named("sanity", quick=True))
    assert quick.startswith("Of GCN, SAGE") and "not what they can do" in quick and "SlimG" not in quick
    assert said(Recipe.named("sanity")) == "" == said(Recipe.named("sanity", quick=True).narrowed(models=["slimg", "lr"]))
