"""In a short-lived worker: the first records that a worker of a loader would load, to be compared with another's.

A spawned one imports this module before anything else, so it imports nothing heavy. Only digests leave it.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any

from underfed.exchange.facts import reason_of
from underfed.host.signal_handlers import let_through
from underfed.trainer.loading.record_digest import digest

LEAST_BATCHES = 2
MOST_BATCHES, MOST_RECORDS = 4, 256
"""Whichever are more records. A data set that each worker shuffles for itself repeats few of its first ones: of 256
records of each two in three are seen again where it has 256, and six where it has 10,000."""

ENOUGH_S = 1.0
"""Once it has loaded for so long, it stops at the fewest batches."""

LIMIT_S = 30.0
"""Most that is waited for two of these processes. A spawned one imports torch, which takes seconds from a cold disk."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which worker of how many it is, and what its random numbers are drawn from."""

    worker: int
    workers: int
    seed: int


@dataclass(frozen=True, slots=True)
class Source:
    """What of a loader decides about its records."""

    dataset: Any
    worker_init_fn: Callable[[int], Any] | None
    batch_size: int


@dataclass(frozen=True, slots=True)
class Loaded:
    digests: tuple[bytes, ...] = ()
    failed: str | None = None


def load_first(answer: connection.Connection, source: Source, part: Part) -> None:
    """Send what is ``Loaded``. Prints nothing, and ends with the training process."""
    # Ctrl-C reaches all processes of a terminal; the training process ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_training, daemon=True).start()
    _silence()
    try:
        loaded = Loaded(_first_digests(source, part))
    except Exception as error:
        let_through(error)
        loaded = Loaded(failed=reason_of(error))
    answer.send(loaded)


def _end_with_training() -> None:
    training = parent_process()
    connection.wait([training.sentinel] if training is not None else [], 2 * LIMIT_S)
    os._exit(1)


def _silence() -> None:
    """What the data set prints was printed by the training, or will be."""
    nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process is there
    for stream in (1, 2):
        os.dup2(nowhere.fileno(), stream)
    # A notebook's are no files.
    sys.stdout = sys.stderr = nowhere


def _first_digests(source: Source, part: Part) -> tuple[bytes, ...]:
    _become_worker(source, part)
    if source.worker_init_fn is not None:
        source.worker_init_fn(part.worker)
    least, most = LEAST_BATCHES * source.batch_size, max(MOST_BATCHES * source.batch_size, MOST_RECORDS)
    found: list[bytes] = []
    started = time.monotonic()
    for record in source.dataset:
        found.append(digest(record))
        if len(found) == most or (len(found) >= least and time.monotonic() - started >= ENOUGH_S):
            break
    return tuple(found)


def _become_worker(source: Source, part: Part) -> None:
    """As torch's worker loop does before it loads."""
    import numpy
    import torch
    from torch.utils.data._utils import worker

    torch.set_num_threads(1)
    random.seed(part.seed)
    torch.manual_seed(part.seed)
    numpy.random.seed(part.seed)
    worker._worker_info = worker.WorkerInfo(
        id=part.worker, num_workers=part.workers, seed=part.seed, dataset=source.dataset
    )
