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
from dataclasses import replace
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
        kept, weights = Learned(np.full((len(targets.codes), targets.classes), np.nan, np.float32), 0.0, np.inf), None
        last = targets.iterations or epochs
        for epoch in range(1, last + 1):
            if not _step(module, optimizer, inputs, rows, codes):
                break
            if targets.check is not None or epoch == last:
                found = targets.learned(_scores(module, inputs))
                better = weights is None or found.val_accuracy > kept.val_accuracy
                if better and np.isfinite(found.scores).all():
                    kept = replace(found, scores=found.scores.copy(), iteration=epoch)
                    weights = {name: value.clone() for name, value in module.state_dict().items()}
            if targets.check is not None and epoch - kept.iteration >= patience:
                break
        if weights is None:  # the loss was no number from the beginning: scores that are none, right for no row
            return replace(kept, iterations=epoch)
        module.load_state_dict(weights)
        return replace(kept, iterations=epoch, model=module.eval())


def warm_up(make: Callable[[], torch.nn.Module], inputs: Inputs) -> None:
    """Compute all that a network reads, by building it and running it once."""
    with isolated(0):
        _scores(make(), inputs)


def _scores(module: torch.nn.Module, inputs: Inputs) -> np.ndarray:
    """Without dropout (n × classes)."""
    with torch.no_grad():
        return module.eval()(inputs).numpy()


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
