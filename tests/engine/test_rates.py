"""Rates of this machine."""

from slimg.engine.rates import Rates, measure


def test_rates_are_positive_and_the_product_grows_with_its_columns():
    rates = measure()
    assert all(value > 0 for value in vars(rates).values())
    assert rates.product(10**6, 100) > rates.product(10**6, 16) > 0


def test_a_pass_is_paid_by_entries_and_cache_lines():
    rates = Rates(entry=2.0, line=1.0, single=0, double=0, stream=0, disk=0)
    assert rates.product(10, 16) == 10 * (2 + 1) and rates.product(10, 17) == 10 * (2 + 2)
