"""verify: the lemmas hold, wrong ones are found out."""

import json

import numpy as np
import pytest

from slimg.lab.gnnexp import dense, lemmas
from slimg.lab.gnnexp.lemmas import LEMMAS, Lemma
from slimg.lab.gnnexp.verify import CONTAINED, TIGHT, verify


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
        lambda a, x, blocks: blocks | {"more": np.linalg.matrix_power(dense.sym_with_loops(a), 7) @ x},
        lambda a, x, blocks: dense.powers(dense.sym(a), x, range(5)),
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
