"""The fixture in a project of its own."""

pytest_plugins = ["pytester"]

CONFTEST = 'pytest_plugins = ["slimg.lab.sanity.pytest_plugin"]'
TESTS = """
from sklearn.linear_model import LogisticRegression
from slimg.lab.sanity import from_sklearn

LR = from_sklearn(LogisticRegression(C=0.1, max_iter=500))

def test_features(sanity_passes):
    assert sanity_passes(LR, ["semantic-uniform"]).cases[0].settings["n"] == 1320

def test_edges(sanity_passes):
    sanity_passes(LR, ["semantic-uniform", "random-homophily"])

def test_case_is_drawn_once(sanity_case):
    assert sanity_case("semantic-uniform") is sanity_case("semantic-uniform")
"""


def test_the_fixture_fails_those_who_fail(pytester):
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("--sanity-n=1320", "--sanity-seeds=1")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*sanity checks failed by LogisticRegression*", "*features are useless*"])


def test_it_is_not_loaded_unasked(pytester):
    pytester.makepyfile("def test_x(sanity_passes): pass")
    pytester.runpytest().assert_outcomes(errors=1)
