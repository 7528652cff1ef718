"""Batches without child processes, where the test is not about them: a child imports everything again."""

import json

import pytest

from slimg.lab.bench import run


@pytest.fixture
def in_process(monkeypatch):
    """Batches run here, and their records pass through JSON as those of a child do."""

    def records(batch):
        cells = {cell.key: cell for cell in batch.cells}
        for record in run.run_batch(batch.cells):
            yield cells[record["key"]], json.loads(json.dumps(record, default=run._plain))

    monkeypatch.setattr(run._Batch, "records", records)
