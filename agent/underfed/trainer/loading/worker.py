"""In a worker: times its own queues and collate function, then runs torch's loop unchanged.

A spawned worker imports this module before anything else, so it imports nothing heavy. Records go to a ring
of the worker's own: nothing is added to batches or queues, and a kill -9 leaves what was written.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from underfed.exchange.guard import Guard
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import WORKER_END, WORKER_START, head
from underfed.exchange.run_files import batch_ring, stacks_file
from underfed.host.clock import now_ns
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.collate import CollateTimer, awaited, splice_fetchers
from underfed.trainer.loading.loading_thread import LoadingThread
from underfed.trainer.loading.probe import Probe, process_cpu_ns
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.stack_sampler import StackSampler

Loop = Callable[..., None]

ARGUMENTS = ("index_queue", "data_queue", "collate_fn", "worker_id")
"""Parameters of torch's worker loop that we rely on, by name: unchanged from torch 2.1 to 2.15."""

CAPACITY = 2048
"""128 KB a worker. The collector drains it four times a second: nothing is lost at 8,000 short batches a second, more
than torch's queues take."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Where the workers of one iterator record, and how many threads they use: all that is sent to them."""

    rings: str
    failures: str
    threads: int | None = None
    """``None``: the program's own number."""
    reports_unsent: bool = False
    """A batch that cannot be pickled is answered with the error. Torch's workers send nothing then, and the training
    process waits for ever."""
    stacks_since_ns: int | None = None
    """From when on bursts are counted in which stacks are sampled; ``None``: none are."""
    stacks_always: bool = False
    """A burst follows upon the other."""


class _Planned(threading.local):
    plan: WorkerPlan | None = None


planned = _Planned()
"""Set while an iterator is being constructed. A forked child still runs the constructing thread, so it sees it too."""


class WorkerEntry:
    """Stands in for ``torch.utils.data._utils.worker._worker_loop``, for watched and other loaders alike.

    The plan is taken when a worker starts: in a forked child by ``__call__``, for a spawned one by ``__reduce__``,
    which runs within ``Process.start()``.
    """

    def __init__(self, original: Loop) -> None:
        self.original = original
        self.__name__ = getattr(original, "__name__", "_worker_loop")
        self.__qualname__ = getattr(original, "__qualname__", self.__name__)
        self.__doc__ = original.__doc__
        self.__wrapped__ = original

    def __call__(self, *arguments: Any, **named: Any) -> None:
        run_worker(self.original, planned.plan, arguments, named)

    def __reduce__(self) -> tuple[Any, ...]:
        is_torchs = getattr(self.original, "__module__", None) == "torch.utils.data._utils.worker"
        return SpawnedEntry, (planned.plan, None if is_torchs else self.original)


@dataclass(frozen=True, slots=True)
class SpawnedEntry:
    """What a spawned worker gets in place of torch's loop, which it finds by itself."""

    plan: WorkerPlan | None
    loop: Loop | None

    def __call__(self, *arguments: Any, **named: Any) -> None:
        loop = self.loop
        if loop is None:
            from torch.utils.data._utils.worker import _worker_loop

            # Where the main module watches loaders itself, torch's loop is already ours.
            loop = _worker_loop.original if isinstance(_worker_loop, WorkerEntry) else _worker_loop
        run_worker(loop, self.plan, arguments, named)


def run_worker(loop: Loop, plan: WorkerPlan | None, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Run torch's ``loop``, with its queues timed where there is a plan."""
    bound = {**dict(zip(parameter_names(loop), arguments, strict=False)), **named}
    ring = sampler = None
    if plan is not None and all(name in bound for name in ARGUMENTS):
        guard = Guard(plan.failures)
        try:
            if plan.reports_unsent:
                report_unsent(bound["data_queue"], bound["worker_id"])
            ring, sampler = _instrument(plan, guard, bound)
        except Exception as error:
            guard.failed("worker start", error)
    has_raised = True
    try:
        loop(*arguments, **named)
        has_raised = False
    finally:
        if ring is not None:
            ring.write(head(WORKER_END, 0), now_ns(), has_raised)
        if sampler is not None:
            sampler.close()


def parameter_names(loop: Loop) -> list[str]:
    """Empty for a callable without a readable signature."""
    try:
        return list(inspect.signature(loop).parameters)
    except (TypeError, ValueError):
        return []


def _instrument(plan: WorkerPlan, guard: Guard, bound: Mapping[str, Any]) -> tuple[RingWriter, StackSampler | None]:
    """Give this process's own queue objects timed ``get`` and ``put``, and time the collate function."""
    ring = RingWriter(batch_ring(plan.rings, bound["worker_id"]), CAPACITY)
    ring.write(head(WORKER_START, 0), now_ns())
    collate = _await_fetcher(bound)
    timer = BatchTimer(
        ring, collate, counts_samples=bound.get("dataset_kind") == 0 and bound.get("auto_collation") is True
    )
    first_batches = None
    # Each worker has a copy of an iterable data set (kind 1), so another one could load the same batches.
    if bound.get("dataset_kind") == 1 and bound.get("num_workers", 0) > 1:
        from underfed.trainer.loading.first_batches import FirstBatches

        first_batches = FirstBatches(ring, bound["worker_id"])
    sampler = unstarted = _make_sampler(plan, guard, bound["worker_id"], timer)
    tasks, batches = bound["index_queue"], bound["data_queue"]
    get, put = tasks.get, batches.put
    threads = plan.threads

    def stop(where: str, error: Exception) -> None:
        del tasks.get, batches.put
        collate.stop()
        timer.is_loading = False
        guard.failed(where, error)

    def timed_get(*arguments: Any, **named: Any) -> Any:
        nonlocal threads
        task = get(*arguments, **named)
        try:
            if threads is not None:  # not earlier: torch's loop sets one thread, and then the user's init function runs
                apply_threads(threads)
                threads = None
            timer.taken(task)
        except Exception as error:
            stop("worker task", error)
        return task

    def timed_put(item: Any, *arguments: Any, **named: Any) -> None:
        nonlocal unstarted
        is_batch = False
        try:
            is_batch = timer.loaded(item)
            # Batches of another pass are not repeats.
            if first_batches is not None and is_batch and not timer.pass_index:
                first_batches.record(item[1])
        except Exception as error:
            stop("worker batch", error)
        put(item, *arguments, **named)
        try:
            timer.handed_over()
        except Exception as error:
            timer.received = None
            guard.failed("worker connections", error)
        if unstarted is not None and is_batch:
            starting, unstarted = unstarted, None
            starting.start()

    tasks.get, batches.put = timed_get, timed_put
    return ring, sampler


def report_unsent(batches: Any, worker: int) -> None:
    """Have this process's own queue object answer with the error where it cannot pickle a batch."""
    put = batches.put

    def answer(error: Exception, item: tuple[int, Any]) -> None:
        """In the queue's thread. What cannot be pickled may be an exception of the data set's."""
        from torch import _utils

        wrapper: Any = _utils.ExceptionWrapper
        place = f"in DataLoader worker process {worker}"
        failed = item[1]
        if not isinstance(failed, wrapper):
            failed = wrapper((type(error), error, error.__traceback__), place)
        failed.exc_type = RuntimeError  # its own type may be what cannot be pickled
        put((item[0], failed))

    batches._on_queue_feeder_error = answer


def _make_sampler(plan: WorkerPlan, guard: Guard, worker: int, timer: BatchTimer) -> StackSampler | None:
    if plan.stacks_since_ns is None:
        return None
    code = SeenCode(Path(stacks_file(plan.rings, worker)))
    bursts = Bursts(plan.stacks_since_ns, plan.stacks_always, turn=worker)
    return StackSampler(LoadingThread(timer, code, worker), bursts, guard)


def apply_threads(count: int) -> None:
    """In a worker, once its libraries are loaded: at its first batch."""
    import torch

    torch.set_num_threads(count)
    if (cv2 := sys.modules.get("cv2")) is not None:
        cv2.setNumThreads(count)
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.set_cpu_count(count)  # OpenMP's number reaches its pool only at its import
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    threadpool_limits(count)


def _await_fetcher(bound: Mapping[str, Any]) -> CollateTimer:
    """Torch's loop is about to create its fetcher. The class is spliced again: in a worker it is as torch has it."""
    timer = CollateTimer(Probe(process_cpu_ns))
    splice_fetchers()
    # Of torch 2.15, and Debian's 2.14, a list of one, which the loop empties; loops of others name it as before.
    dataset = bound.get("dataset_holder") or bound.get("dataset")
    held = dataset if type(dataset) is list and len(dataset) == 1 else ()
    awaited.timer, awaited.collate = timer, bound["collate_fn"]
    awaited.dataset_types = {type(dataset), *map(type, held)}
    return timer
