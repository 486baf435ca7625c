"""Whether two workers share an iterable data set out, seen from the first records of short-lived ones.

Their processes are started as the loader would start its workers. Neither the data set of the training process nor its
random numbers are used: what they load, they load from their own copies.
"""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.process
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from underfed.exchange.facts import REASON_LENGTH, reason_of
from underfed.host.signal_handlers import let_through
from underfed.trainer.loading.compared_worker import LIMIT_S, Loaded, Part, Source, load_first
from underfed.trainer.settings.dataset_shards import place
from underfed.trainer.settings.loader_facts import random_numbers_kept
from underfed.trainer.settings.loader_parts import start_method
from underfed.trainer.settings.sharding import Sharding

SEED = 1
"""Any will do: nothing that these processes load is trained on."""

SAME_FRACTION = 0.5
"""Of the records in the same places, from which two workers with the same random numbers load the same."""

LEAVE_S = 1.0
"""So long a process may take to end by itself, as one with threads or files of its own does."""

Digests = Sequence[bytes]


class _NotComparedError(Exception):
    """Why there is nothing to compare."""


def check_sharding(loader: Any, workers: int) -> Sharding:
    """As it would be with so many workers, of which two are compared. Takes at most ``2 * LIMIT_S``.

    Raises nothing but what a signal handler of the program raises meanwhile.
    """
    if place()[1] > 1:
        return None, "several ranks are not checked, since they might not all come to the same result"
    try:
        with random_numbers_kept():
            return _compare(loader, workers)
    except Exception as error:
        let_through(error)
        reason = str(error) if isinstance(error, _NotComparedError) else reason_of(error)
        return None, f"two workers could not be compared: {reason}"[:REASON_LENGTH]


def _compare(loader: Any, workers: int) -> Sharding:
    """Two processes at a time: more might need more memory than the workers themselves."""
    first, second = _load(loader, Part(0, workers, SEED), Part(1, workers, SEED + 1))
    found = judge(first, second)
    if found is not None:
        return found
    again, same_seed = _load(loader, Part(0, workers, SEED), Part(1, workers, SEED))
    return judge_by_seed(first, again, same_seed)


def judge(first: Digests, second: Digests) -> Sharding | None:
    """By what two workers load. ``None``: nothing came twice."""
    if not first or not second:
        return None, "of two workers one loads nothing"
    if any(len(records) > 1 and len(set(records)) == 1 for records in (first, second)):
        return None, "the first records are all alike, so whether two workers repeat them cannot be told"
    distinctive = _distinctive(first)
    twice = distinctive & _distinctive(second)
    if twice:
        return (
            False,
            f"of {len(distinctive)} records that one worker loads first another one loads {len(twice)}, too",
        )
    return None


def _distinctive(records: Digests) -> set[bytes]:
    """Those that a worker loads once, where most are such: an empty line of a text comes from everywhere."""
    once = {record for record, count in Counter(records).items() if count == 1}
    return once if 2 * len(once) >= len(records) else set(records)


def judge_by_seed(first: Digests, again: Digests, same_seed: Digests) -> Sharding:
    """By what the first worker loads once more, and the second with the first one's random numbers: random changes of
    records hide that they are the same."""
    if not set(first) & set(again):
        return None, "a worker that is started again loads other records, so two workers cannot be compared"
    pairs = list(zip(first, same_seed, strict=False))
    if sum(one == other for one, other in pairs) >= SAME_FRACTION * len(pairs):
        return False, "with the same random numbers two workers load the same records"
    return True, None


def _load(loader: Any, *parts: Part) -> list[Digests]:
    """What each of these workers loads first.

    Raises:
        _NotComparedError: one failed, ended or took too long.
    """
    source = Source(loader.dataset, loader.worker_init_fn, loader.batch_size or 1)
    started: list[_Started] = []
    deadline = time.monotonic() + LIMIT_S
    try:
        with _numbered_from_one():
            for part in parts:
                _start(loader, source, part, started)
        return [each.loaded(deadline) for each in started]
    except BaseException:
        for each in started:
            each.process.kill()
        raise
    finally:
        for each in started:
            each.end()


@dataclass(frozen=True, slots=True)
class _Started:
    process: Any
    answer: connection.Connection

    def loaded(self, deadline: float) -> Digests:
        if not self.answer.poll(max(0.0, deadline - time.monotonic())):
            raise _NotComparedError(f"one has not loaded two batches within {LIMIT_S:g} seconds")
        try:
            loaded: Loaded = self.answer.recv()
        except EOFError:
            self.process.join(LEAVE_S)
            raise _NotComparedError(f"one ended with exit code {self.process.exitcode}") from None
        if loaded.failed is not None:
            raise _NotComparedError(loaded.failed)
        return loaded.digests

    def end(self) -> None:
        self.answer.close()
        self.process.join(LEAVE_S)
        if self.process.is_alive():
            # Not terminate(): a forked process has the training's handler of that signal.
            self.process.kill()
            self.process.join()
        self.process.close()


def _start(loader: Any, source: Source, part: Part, started: list[_Started]) -> None:
    """The process is in ``started`` as soon as it may run."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    with sending:
        # As torch's iterators take it.
        context: Any = loader.multiprocessing_context or multiprocessing.get_context(start_method(loader))
        process = context.Process(target=load_first, args=(sending, source, part), daemon=True)
        try:
            process.start()
        except BaseException:
            receiving.close()
            raise
        started.append(_Started(process, receiving))


@contextmanager
def _numbered_from_one() -> Iterator[None]:
    """Python numbers and names the processes that it starts: the loader's workers keep the numbers they would have."""
    counted = vars(multiprocessing.process)
    counter = counted["_process_counter"]
    counted["_process_counter"] = itertools.count(1)
    try:
        yield
    finally:
        counted["_process_counter"] = counter
