"""Where the script has no workers and ours load: what a data set raises in a worker is raised by the training process,
as the script would have it.

Torch sends a worker's exception as text, and raises one of the same type where that can be made from one text. So the
batch that failed is loaded again where the script would have loaded it: its own exception comes out, at the same place.
Where it loads there, it is handed out, and workers are not for this data set. So it is with a batch that a worker could
not send, that could not be read here, or that does not come: a forked worker may wait for a thread that it has not, or
may have been killed.
"""

from __future__ import annotations

import copy
import signal
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.queues import Queue
from types import CodeType, TracebackType
from typing import Any

from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.unseen_workers import hide
from underfed.trainer.tuning.unsent import why_unsent

PATIENCE_S = 60.0
"""For a batch that workers load which the script did not have. Torch waits for ever where the script sets no time."""

POLL_S = 1.0
"""After so long without a batch torch looks whether its workers live."""

HUNG_UP_S = 0.2
"""The end of a worker is waited for where its connection broke."""

MADE_THERE = "; it could have workers if each of them made what belongs to a process at its first `__getitem__`"
"""The usual cure of a worker that waits for ever."""


MOST_TRIES = 3
"""Requests for one batch that a signal handler of the program ends. What a worker had sent is lost where it raises
while that is read, and one that raises again and again leaves no minute to wait."""

INTERRUPTED = f"a signal handler ended {MOST_TRIES} requests for one batch of a worker"


class _LateError(Exception):
    """A batch did not come in time."""


class AskedSampler:
    """A sampler's iterator, and what it gave for each task that is not done yet.

    It is not asked ahead of a pass's end: what it does there, and where the next pass begins that an endless one goes
    on with, it does at the program's request, as without workers. Where it has ended it is not asked again: one that is
    its own iterator would begin anew.

    Args:
        asked: how often it was asked before by who loaded for the same iterator of the program.
        pass_batches: ``None`` where it is not known.
        is_awaited: the program waits for what it gives next.
    """

    def __init__(
        self, sampler: Iterator[Any], asked: int = 0, pass_batches: int | None = None, *, is_awaited: bool = True
    ) -> None:
        self.sampler = sampler
        self.indices: dict[int, Any] = {}
        self.asked = asked
        self._count = 0
        self._pass_batches = pass_batches
        self._until = asked
        self._is_over = False
        if is_awaited or (pass_batches and asked % pass_batches):
            self.go_on()

    def __iter__(self) -> AskedSampler:
        return self

    def __next__(self) -> Any:
        if self._is_over or self.is_at_end_of_pass:
            raise StopIteration
        try:
            index = copied(next(self.sampler))
        except StopIteration:
            self._is_over = True
            raise
        self.indices[self._count] = index
        self._count += 1
        self.asked += 1
        return index

    @property
    def is_at_end_of_pass(self) -> bool:
        """It is not asked before ``go_on()``."""
        return bool(self._pass_batches) and self.asked >= self._until

    def go_on(self) -> None:
        """The program asks for the next batch."""
        if self._pass_batches:
            self._until = (self.asked // self._pass_batches + 1) * self._pass_batches


def copied(index: Any) -> Any:
    """As the sampler gave it: it may fill one list again for each batch, and a queue's thread reads it later."""
    if type(index) is int or (type(index) is list and all(type(each) is int for each in index)):
        return index[:] if type(index) is list else index
    with passing(Exception):
        return copy.deepcopy(index)
    return index


def plain(sampler: Any) -> Any:
    """The sampler's own iterator."""
    return sampler.sampler if isinstance(sampler, AskedSampler) else sampler


class OwnErrors:
    """``loads_here``: called with the reason where the training process loads a batch that a worker could not."""

    def __init__(self, loads_here: Callable[[str], None]) -> None:
        self._loads_here = loads_here

    def asked(
        self, setting: LoaderSetting, sampler: Any, asked: int, pass_batches: int | None, *, is_awaited: bool
    ) -> Any:
        """The sampler's iterator for one that loads under this setting; the others as for ``Asked``."""
        # In any order it is not known which task failed.
        if not (setting.num_workers and setting.in_order):
            return plain(sampler)
        return AskedSampler(plain(sampler), asked, pass_batches, is_awaited=is_awaited)

    def watch(self, iterator: Any) -> None:
        """It loads for the program. One with workers in order has an ``Asked`` for its sampler's iterator."""
        hide(getattr(iterator, "_workers", ()))
        if isinstance(iterator._sampler_iter, AskedSampler):
            _ends_unnoticed(iterator)
            iterator._try_get_data = _TryGetData(iterator)
            iterator._next_data = _NextData(iterator, iterator._sampler_iter, self._loads_here)
        else:
            vars(iterator).pop("_next_data", None)
            vars(iterator).pop("_try_get_data", None)


def _ends_unnoticed(iterator: Any) -> None:
    """Torch's handler of SIGCHLD raises wherever the program is. A worker's end is seen when its batch is due."""
    from torch.utils.data import _utils

    handling: Any = _utils.signal_handling
    if iterator._worker_pids_set:
        handling._remove_worker_pids(id(iterator))
        iterator._worker_pids_set = False


class _TryGetData:
    """Stands for one iterator's method of torch's, whose caller asks it for ever. The caller stays torch's: what comes
    is recorded there."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = weakref.ref(iterator)

    def __call__(self, _timeout_s: float = 0.0) -> tuple[bool, Any]:
        iterator: Any = self._iterator()
        deadline = time.monotonic() + PATIENCE_S
        while (left_s := deadline - time.monotonic()) > 0:
            has_come, data = type(iterator)._try_get_data(iterator, min(POLL_S, left_s))
            if has_come:
                return True, data
        raise _LateError(f"workers gave no batch within {PATIENCE_S:g} s{MADE_THERE}")


class _NextData:
    """Stands for one iterator's method of torch's, and does not keep it alive."""

    def __init__(self, iterator: Any, asked: AskedSampler, loads_here: Callable[[str], None]) -> None:
        self._iterator = weakref.ref(iterator)
        self._asked = asked
        self._loads_here = loads_here
        self._why_lost: str | None = None
        """A batch arrived and could not be read, or did not come in time."""
        self._is_reported = False
        self._is_primed = True
        self._task = -1
        """Of the last request, and how many there were for it."""
        self._tries = 0

    def __call__(self) -> Any:
        iterator: Any = self._iterator()
        indices = self._asked.indices
        self._count_tries(iterator)
        if self._why_lost is not None:
            return self._rest(iterator, self._why_lost)
        self._begin_pass(iterator)
        try:
            batch = type(iterator)._next_data(iterator)
        except Exception as error:
            let_through(error)
            is_of_worker = _is_of_worker(error.__traceback__)
            is_lost = isinstance(error, _LateError) or _is_dead(error.__traceback__) or _is_of_queue(error)
            if isinstance(error, StopIteration) or not (is_of_worker or is_lost):
                raise
            reason = _reason(error, iterator)
            self._why_lost = None if is_of_worker else reason
            # Torch's frame that raised it holds it, and by that the iterator and its workers.
            traceback.clear_frames(error.__traceback__)
        else:
            indices.pop(iterator._rcvd_idx - 1, None)
            return batch
        # Outside of the block, so that what is raised has no other exception for its context.
        if self._why_lost is not None:
            return self._rest(iterator, self._why_lost)
        return self._load(iterator, iterator._rcvd_idx - 1, reason)

    def _count_tries(self, iterator: Any) -> None:
        """Each request but one that a signal handler ended comes to another task."""
        task = iterator._rcvd_idx
        self._tries = self._tries + 1 if task == self._task and task < iterator._send_idx else 1
        self._task = task
        if self._tries > MOST_TRIES and self._why_lost is None:
            self._why_lost = INTERRUPTED

    def _begin_pass(self, iterator: Any) -> None:
        """Where a pass has ended the sampler is asked on at this request, which is the first of the next one."""
        if self._asked.is_at_end_of_pass and iterator._rcvd_idx == iterator._send_idx:
            self._is_primed = False
            self._asked.go_on()
        if not self._is_primed:
            capacity = iterator._prefetch_factor * iterator._num_workers
            for _ in range(capacity - iterator._tasks_outstanding):
                iterator._try_put_index()
            self._is_primed = True

    def _rest(self, iterator: Any, reason: str) -> Any:
        """Of a batch that arrived and could not be read it is not known which one it was, and torch waits for it for
        ever, as for one that a worker does not load. So what was asked for and has not come is loaded here."""
        while iterator._rcvd_idx < iterator._send_idx:
            task = iterator._rcvd_idx
            _, *arrived = iterator._task_info.pop(task)
            iterator._rcvd_idx += 1
            if arrived and not isinstance(arrived[0], _wrapper()):
                self._asked.indices.pop(task)
                return arrived[0]
            return self._load(iterator, task, reason)
        try:
            index = next(plain(iterator._sampler_iter))
        except StopIteration:
            iterator._shutdown_workers()
            raise
        return _loaded_here(iterator, index)

    def _load(self, iterator: Any, task: int, reason: str) -> Any:
        batch = _loaded_here(iterator, self._asked.indices.pop(task))
        if not self._is_reported:
            self._is_reported = True
            self._loads_here(why_unsent(batch) or reason)
        return batch


def _wrapper() -> Any:
    from torch._utils import ExceptionWrapper

    return ExceptionWrapper


def _is_of_worker(place: TracebackType | None) -> bool:
    """Whether torch raised what a worker had sent, and not a signal handler meanwhile."""
    return _innermost(place) is _wrapper().reraise.__code__


def _is_dead(place: TracebackType | None) -> bool:
    """Whether torch found that a worker has ended."""
    from torch.utils.data import dataloader

    return _innermost(place) is dataloader._MultiProcessingDataLoaderIter._try_get_data.__code__


def _innermost(place: TracebackType | None) -> CodeType | None:
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_code if place is not None else None


def _is_of_queue(error: Exception) -> bool:
    """Whether what a worker had sent could not be read."""
    return any(frame.f_code is Queue.get.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


def _reason(error: Exception, iterator: Any) -> str:
    if not _is_of_worker(error.__traceback__) and (
        ends := _ends(iterator, isinstance(error, ConnectionError | EOFError))
    ):
        return f"a worker ended before its batch had come ({ends})"
    if isinstance(error, _LateError):
        return str(error)
    # The last line of what a worker sends as text is what was raised there.
    last = (str(error).strip() or type(error).__name__).splitlines()[-1]
    return f"a worker could not load and send a batch that the training process could load: {last}"[:400]


def _ends(iterator: Any, is_hung_up: bool) -> str:
    """How workers ended, of those that have; empty: none has. A process closes its connections before it has ended."""
    if is_hung_up:
        for worker in iterator._workers:
            worker.join(HUNG_UP_S / len(iterator._workers))
    codes = {worker.exitcode for worker in iterator._workers} - {None}
    return ", ".join(sorted(signal.Signals(-code).name if code < 0 else f"exit code {code}" for code in codes))


def _loaded_here(iterator: Any, index: Any) -> Any:
    """As torch loads without workers.

    Raises:
        Exception: what the data set raises.
    """
    from torch.utils.data import _utils, dataloader

    kind: Any = dataloader._DatasetKind
    pinning: Any = _utils.pin_memory
    fetcher = kind.create_fetcher(
        iterator._dataset_kind,
        iterator._dataset,
        iterator._auto_collation,
        iterator._collate_fn,
        iterator._drop_last,
    )
    batch = fetcher.fetch(index)
    return pinning.pin_memory(batch) if iterator._pin_memory else batch
