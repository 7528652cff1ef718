"""The one training loop of the networks.

    min over weights  mean CE over the rows to learn from  +  (weight_decay/2) ‖weights‖²          Adam, all nodes at once

After each epoch (one step) the accuracy on the rows to check is taken without dropout; the run ends after ``epochs``, or
after ``patience`` epochs without a better one, and the first epoch with the best accuracy is kept. Without such rows it runs
for a given number of epochs.

torch runs on one thread, the products with the graph on the engine's, so that the number of threads changes no bit. Random
numbers of torch are drawn from a state of its own that is put back afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from slimg.engine.blas import one_thread
from slimg.lab.baselines.base import Learned, Targets
from slimg.lab.baselines.inputs import Inputs


@contextmanager
def isolated(random_state: int) -> Iterator[None]:
    """torch and BLAS on one thread, torch's random numbers from this seed; all settings return to what they were."""
    threads = torch.get_num_threads()
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def train(
    make: Callable[[], torch.nn.Module],
    inputs: Inputs,
    targets: Targets,
    *,
    lr: float,
    weight_decay: float,
    epochs: int,
    patience: int,
    random_state: int,
) -> Learned:
    """A network's scores at the epoch kept; its model is the network with the weights of that epoch."""
    with isolated(random_state):
        module = make()
        optimizer = torch.optim.Adam(module.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
        rows = torch.from_numpy(targets.fit)
        codes = torch.from_numpy(targets.codes[targets.fit])
        run = _Best(targets)
        last = targets.iterations or epochs
        for epoch in range(1, last + 1):
            if not _step(module, optimizer, inputs, rows, codes):
                break
            if targets.check is not None or epoch == last:
                run.update(module, inputs, epoch)
            if epoch - run.epoch >= patience and targets.check is not None:
                break
        return run.finish(module, epoch)


def warm_up(make: Callable[[], torch.nn.Module], inputs: Inputs) -> None:
    """Compute all that a network reads, by building it and running it once."""
    with isolated(0), torch.no_grad():
        make().eval()(inputs)


def _step(module: Any, optimizer: Any, inputs: Inputs, rows: Any, codes: Any) -> bool:
    """One step of Adam; False if the loss is no number any more."""
    module.train()
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(module(inputs)[rows], codes)
    if not bool(torch.isfinite(loss)):
        return False
    loss.backward()
    optimizer.step()
    return True


class _Best:
    """The best epoch so far."""

    def __init__(self, targets: Targets):
        self.targets, self.epoch = targets, 0
        self.scores: np.ndarray | None = None
        self.accuracy, self.loss = -1.0, float("inf")
        self.weights: dict[str, Any] = {}

    def update(self, module: Any, inputs: Inputs, epoch: int) -> None:
        module.eval()
        with torch.no_grad():
            scores = module(inputs).numpy()
        accuracy, loss = self.targets.validate(scores)
        if self.targets.check is not None and not accuracy > self.accuracy:
            return
        if not np.isfinite(scores).all():
            return
        self.accuracy, self.loss, self.scores, self.epoch = accuracy, loss, scores.copy(), epoch
        self.weights = {name: value.clone() for name, value in module.state_dict().items()}

    def finish(self, module: Any, epochs: int) -> Learned:
        """What is kept; scores that are no numbers, right for no row, if the loss was none from the beginning."""
        if self.scores is None:
            nothing = np.full((len(self.targets.codes), self.targets.classes), np.nan, np.float32)
            return Learned(nothing, 0.0, float("inf"), 0, epochs)
        module.load_state_dict(self.weights)
        module.eval()
        return Learned(self.scores, self.accuracy, self.loss, self.epoch, epochs, module)
