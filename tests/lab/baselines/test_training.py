"""The training loop: which epoch is kept, when it ends, and that it leaves no trace."""

import numpy as np
import pytest
from baseline_graphs import communities

torch = pytest.importorskip("torch")

from slimg.engine import MemoryEngine  # noqa: E402
from slimg.lab.baselines.architectures import Inputs, isolated, train  # noqa: E402
from slimg.lab.baselines.base import Targets  # noqa: E402

GRAPH = communities()
INPUTS = Inputs(GRAPH, MemoryEngine(1))
CODES = GRAPH.labels.astype(np.int64)
TARGETS = Targets(CODES, 2, np.arange(20), np.arange(20, 60))
OPTIONS = {"lr": 0.05, "weight_decay": 0.0, "epochs": 40, "patience": 40, "random_state": 0}


class Scripted(torch.nn.Module):
    """In evaluation, right for a given share of the rows in each epoch; one weight that Adam can move."""

    def __init__(self, shares):
        super().__init__()
        self.weight, self.shares, self.epoch = torch.nn.Parameter(torch.zeros(1)), shares, 0

    def forward(self, inputs):
        right = torch.nn.functional.one_hot(torch.from_numpy(CODES), 2).float()
        if self.training:
            return right + self.weight
        share, self.epoch = self.shares[min(self.epoch, len(self.shares) - 1)], self.epoch + 1
        return torch.where(torch.arange(len(CODES))[:, None] < 20 + 40 * share, right, 1 - right)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(12, 2)

    def forward(self, inputs):
        return self.layer(inputs.x)


def test_the_first_of_the_best_epochs_is_kept():
    learned = train(lambda: Scripted([0.25, 0.75, 0.5, 0.75, 0.5]), INPUTS, TARGETS, **{**OPTIONS, "patience": 3})
    assert (learned.iteration, learned.iterations, learned.val_accuracy) == (2, 5, 0.75)
    assert (learned.scores[20:60].argmax(axis=1) == CODES[20:60]).mean() == 0.75


def test_weights_are_those_of_the_epoch_kept():
    learned = train(Linear, INPUTS, TARGETS, **OPTIONS)
    with torch.no_grad():
        np.testing.assert_array_equal(learned.model(INPUTS).numpy(), learned.scores)
    assert not learned.model.training


def test_adam_minimises_the_stated_objective():
    """Enough steps of the loop reach the minimum of mean cross-entropy + wd/2 ‖weights‖², found by another method."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    wd = 0.1
    fixed = Targets(CODES, 2, np.arange(60), iterations=1500)
    learned = train(Linear, INPUTS, fixed, **{**OPTIONS, "weight_decay": wd, "lr": 0.02})
    x = np.hstack([INPUTS.x.numpy()[:60], np.ones((60, 1))]).astype(float)

    def objective(flat):
        scores = x @ flat.reshape(13, 2)
        return (logsumexp(scores, axis=1) - scores[np.arange(60), CODES[:60]]).mean() + wd / 2 * flat @ flat

    best = minimize(objective, np.zeros(26)).x.reshape(13, 2)
    np.testing.assert_allclose(learned.scores[:60], x @ best, atol=2e-3)
    assert learned.iteration == learned.iterations == 1500


def test_random_numbers_and_threads_of_torch_are_left_alone():
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt), isolated(3):
            assert torch.get_num_threads() == 1
            torch.rand(5)
            raise KeyboardInterrupt
        assert torch.get_num_threads() == 2 and torch.equal(torch.random.get_rng_state(), before)
    finally:
        torch.set_num_threads(threads)


def test_a_loss_that_is_no_number_ends_the_run():
    class Infinite(Linear):
        def forward(self, inputs):
            return super().forward(inputs) * torch.inf

    learned = train(Infinite, INPUTS, TARGETS, **OPTIONS)
    assert (learned.val_accuracy, learned.iteration, learned.iterations) == (0.0, 0, 1)
    assert np.isnan(learned.scores).all()
