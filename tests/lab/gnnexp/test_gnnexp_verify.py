"""verify: the lemmas hold, wrong ones are found out."""

import json

import numpy as np
import pytest

from slimg.errors import InputError
from slimg.lab.gnnexp import lemmas
from slimg.lab.gnnexp.lemmas import CONTAINED, FEATURES, KINDS, LEMMAS, SIZES, TIGHT, Lemma, cases, residual, verify


@pytest.fixture(scope="module")
def records():
    return {record.lemma: record for record in verify()}


@pytest.mark.parametrize("name", [name for name, lemma in LEMMAS.items() if lemma.claim != "inexact"])
def test_exact_and_partial_lemmas_are_contained_and_tight(records, name):
    record = records[name]
    assert record.holds and record.residual <= CONTAINED and record.tightness >= TIGHT
    assert "holds" in str(record)


@pytest.mark.parametrize("name", ["h2gcn", "gat with two layers"])
def test_inexact_lemmas_are_measured(records, name):
    record = records[name]
    assert record.holds and 0.01 < record.smallest_residual <= record.residual < 1
    assert "is not exact; residual" in str(record)


def test_the_whole_proof_is_quick(records):
    assert sum(record.seconds for record in records.values()) < 60


def test_records_can_be_written_as_json(records):
    assert json.loads(json.dumps([record.as_dict() for record in records.values()]))[0]["holds"] is True


def broken(change):
    """GPR-GNN's lemma with its blocks changed."""

    def prove(a, x, rng):
        output, blocks = lemmas.gprgnn(a, x, rng)
        return output, change(a, x, blocks)

    return prove


@pytest.mark.parametrize(
    "change",
    [
        lambda a, x, blocks: dict(list(blocks.items())[:-1]),
        lambda a, x, blocks: blocks | {"more": np.linalg.matrix_power(lemmas.sym_with_loops(a), 7) @ x},
        lambda a, x, blocks: lemmas.powers(lemmas.sym(a), x, range(5)),
    ],
    ids=["a block too few", "a block too many", "another operator"],
)
def test_a_wrong_row_is_found_out(monkeypatch, change):
    monkeypatch.setitem(LEMMAS, "broken", Lemma("broken", "", "exact", broken(change)))
    (record,) = verify(["broken"])
    assert not record.holds and "FAILS" in str(record)


def test_a_claim_of_inexactness_is_checked_too(monkeypatch):
    monkeypatch.setitem(LEMMAS, "modest", Lemma("modest", "", "inexact", lemmas.sgc))
    assert not verify(["modest"])[0].holds


def test_the_same_seed_gives_the_same_record():
    first, second, other = (verify(["sage"], random_state=seed)[0] for seed in (3, 3, 4))
    assert (first.residual, first.tightness) == (second.residual, second.tightness)
    assert other.holds and other.tightness != first.tightness


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_are_symmetric_without_loops(kind):
    a = KINDS[kind](200, np.random.default_rng(0))
    assert (a == a.T).all() and not a.diagonal().any() and (a >= 0).all()
    assert 3 < (a > 0).sum(1).mean() < 9


def test_kinds_are_what_they_claim():
    rng = np.random.default_rng(1)
    cluster = np.arange(400) % 4
    hetero = KINDS["heterophilous"](400, rng)
    assert hetero[cluster[:, None] == (cluster ^ 1)[None, :]].sum() > 0.7 * hetero.sum()
    assert (KINDS["heavy_tailed"](400, rng) > 0).sum(1).max() > 30
    part = np.arange(400) % 3
    assert KINDS["several_components"](400, rng)[part[:, None] != part[None, :]].sum() == 0
    assert not KINDS["uniform"](400, rng)[-3:].any()
    weights = KINDS["weighted"](400, rng)
    assert len(np.unique(weights[weights > 0])) > 100


def test_the_same_seed_gives_the_same_graphs():
    first, second, other = list(cases(0)), list(cases(0)), list(cases(1))
    assert len(first) == len(KINDS) * len(SIZES) and first[0].x.shape == (SIZES[0], FEATURES)
    assert all((a.a == b.a).all() and (a.x == b.x).all() for a, b in zip(first, second, strict=True))
    assert not (first[0].x == other[0].x).all()


def test_zero_inside_one_outside_and_the_sine_between():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((60, 8)))[0]
    inside, outside = basis[:, :4], basis[:, 4:]
    assert residual(inside * 1e-9, inside @ rng.standard_normal((4, 2))) < 1e-14
    assert residual(inside, outside) == pytest.approx(1)
    assert residual(inside, 3 * inside + 4 * outside) == pytest.approx(0.8)


def test_columns_of_any_length_and_repeated_or_zero_columns_count_alike():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((60, 5))
    scaled = np.column_stack([columns * np.logspace(-12, 3, 5), columns[:, :2], np.zeros(60)])
    output = rng.standard_normal((60, 3))
    assert residual(scaled, output) == pytest.approx(residual(columns, output), rel=1e-9)


def test_too_few_rows_say_nothing():
    with pytest.raises(InputError, match="at least 30 rows, not 29"):
        residual(np.eye(29, 10), np.ones((29, 1)))
