"""What runs where torch constructs and resets an iterator, samples indices, receives batches and pins them.

Each method is called from within torch's own function (see ``splice``). None raises, and none runs the user's code.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from underfed.exchange.guard import Guard
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import Clock, now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attach, attached, detach
from underfed.trainer.hooks.sampler_timing import timing
from underfed.trainer.hooks.session import KEY, PINNING, Session, stop_recording
from underfed.trainer.loading.batch_timer import is_no_batch
from underfed.trainer.loading.worker import WorkerPlan, planned
from underfed.trainer.settings.constructions import Constructions

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay
    from underfed.trainer.settings.overrides import Overrides
    from underfed.trainer.tuning.tuner import Tuner

Batch = TypeVar("Batch")

Construction = tuple["Session | None", "WorkerPlan | None"]
"""The session of an iterator under construction, and the worker plan that was in force before."""

OpenSession = Callable[[Any], "Session | None"]
"""Called with a loader whose iterator is under construction. ``None``: it is not recorded."""


@dataclass(slots=True, eq=False)
class Callbacks:
    """The object whose methods are spliced into torch; those of ``__next__`` are in ``requests``."""

    open_session: OpenSession
    overrides: Overrides | None
    replay: Replay | None
    sees_arrivals: bool = True
    """``_get_data`` is spliced. Without it the number of batches that came early is unknown, and so is queue depth."""
    now: Clock = now_ns
    tuner: Tuner | None = None
    constructions: Constructions = field(default_factory=Constructions)
    timing: set[int] = field(default_factory=lambda: timing)
    recorded: list[weakref.ref[Any]] = field(default_factory=list)
    """Iterators that were given a session. No set: its callback would run when one ends, within whatever ends it."""

    # DataLoader.__iter__

    def iterating(self, loader: Any) -> None:
        if self.overrides is not None:
            self.overrides.before_iter(loader)
        if self.replay is not None:
            self.replay.before_iter(loader)
        if self.tuner is not None:
            self.tuner.before_iter(loader)

    # DataLoader.__init__

    def constructing_loader(self, loader: Any, dataset: Any) -> None:
        try:
            self.constructions.note(loader, dataset)
        except Exception as error:
            let_through(error)
            Guard().failed("constructor", error)

    # __init__ of an iterator class. Those of its bases run within: the outermost counts.

    def constructing(self, iterator: Any, loader: Any) -> Construction | None:
        if attached(iterator, KEY) is not None:
            return None
        session, before = self.give_session(iterator, loader), planned.plan
        if session is None and before is None:
            return None
        # A sampler may itself iterate another loader, whose workers are not this loader's.
        planned.plan = session.worker_plan() if session is not None else None
        return session, before

    def constructed(self, token: Construction, iterator: Any, loader: Any, result: Any) -> None:
        session, planned.plan = token
        try:
            if session is not None:
                session.constructed(iterator, self.sees_arrivals, now_ns())
                if self.replay is not None:
                    self.replay.adopt(iterator, loader)
                if self.tuner is not None:
                    self.tuner.constructed(iterator, loader, session)
        except Exception as error:
            stop_recording(iterator, "iterator", error)

    def not_constructed(self, token: Construction, iterator: Any, loader: Any) -> None:
        planned.plan = token[1]

    def give_session(self, iterator: Any, loader: Any) -> Session | None:
        """Put a session into the iterator, if its loader is recorded."""
        session = self.open_session(loader)
        if session is not None:
            attach(iterator, KEY, session)
            self.recorded = [*(known for known in self.recorded if known() is not None), weakref.ref(iterator)]
        return session

    def adopt(self, iterator: Any, loader: Any) -> None:
        """Record an iterator that was created before its loader was watched."""
        session = self.give_session(iterator, loader)
        if session is not None:
            session.constructed(iterator, self.sees_arrivals, NOT_MEASURED)

    def forget(self) -> None:
        """Stop recording live iterators."""
        for iterator in [iterator for known in self.recorded if (iterator := known()) is not None]:
            detach(iterator, KEY)
            for part in (getattr(iterator, name, None) for name in ("_worker_result_queue", "_dataset_fetcher")):
                detach(part, PINNING)

    # _reset, which a persistent iterator's loader calls at each new epoch

    def resetting(self, iterator: Any) -> Session | None:
        session: Session | None = attached(iterator, KEY)
        if session is None:
            return None
        if not session.is_constructed:
            self._watch_first_pinning(session, iterator)
            return None
        if self.tuner is not None:
            self.tuner.resetting(iterator)
        session.resetting()
        return session

    def reset(self, session: Session, iterator: Any, result: Any) -> None:
        try:
            session.reset()
            if self.tuner is not None:
                self.tuner.reset(iterator, session)
        except Exception as error:
            stop_recording(iterator, "reset", error)

    def not_reset(self, session: Session, iterator: Any) -> None:
        session.not_reset()

    # _next_index: a map-style loader's sampler. Statements that stand in it, as those of _get_data do

    def sampler_entered(self, iterator: Any) -> Session | None:
        session: Session | None = None
        if self.timing:
            try:
                session = iterator._underfed
            except AttributeError:  # another thread calls finish()
                session = None
            if session is not None:
                if session.times_sampler:
                    session.asked_ns = self.now()
                else:
                    session = None
        return session

    def sampler_left(self, session: Session, iterator: Any, result: Any) -> None:
        taken_ns = self.now() - session.asked_ns
        session.sampler_ns += taken_ns
        session.sampler.total_ns += taken_ns

    def sampler_raised(self, session: Session, iterator: Any) -> None:
        self.sampler_left(session, iterator, None)

    # _get_data: when each batch came. Mostly it is the awaited one, whose time goes into the record of its step

    def receiving(self, iterator: Any) -> Session | None:
        try:
            session: Session | None = iterator._underfed
        except AttributeError:  # as above
            session = None
        if session is not None and not session.is_constructed:
            session = None
        return session

    def received(self, session: Session, iterator: Any, result: Any) -> None:
        received_ns = self.now()
        try:
            index, batch = result
            if not session.in_order:
                session.received_ns = received_ns
                session.batch_index = index
            elif index == iterator._rcvd_idx:
                session.received_ns = received_ns
            else:
                session.came_early(index, received_ns)
            if session.is_map or self.is_batch(batch):
                session.arrived += 1
        except Exception as error:
            self.failed(iterator, "arrival", error)

    def is_batch(self, item: Any) -> bool:
        return not is_no_batch(item)

    def failed(self, iterator: Any, where: str, error: Exception) -> None:
        stop_recording(iterator, where, error)

    # The copy into page-locked memory: in a thread beside workers, in next() without

    def pinning(self, queue: Any, batch_index: Any) -> tuple[Session, int, int] | None:
        session: Session | None = attached(queue, PINNING)
        if session is None:
            return None
        if not isinstance(batch_index, int):
            session.worker_was_reset()
            return None
        return session, batch_index, now_ns()

    def _watch_first_pinning(self, session: Any, iterator: Any) -> None:
        """Before an iterator that is being constructed asks for its first batches: its queues are there already."""
        try:
            if isinstance(session, Session):  # else it is not in use yet
                session.watch_pinning(iterator)
        except Exception as error:
            session.loader.guard.failed("pin", error)

    def pinning_here(self, iterator: Any) -> tuple[Session, int, int] | None:
        session: Session | None = attached(iterator, KEY)
        return (session, iterator._num_yielded, now_ns()) if session is not None else None

    def pinned(self, token: tuple[Session, int, int] | None, batch: Batch) -> Batch:
        if token is not None:
            session, batch_index, started_ns = token
            try:
                session.pinned(batch_index, started_ns)
            except Exception as error:
                session.loader.guard.failed("pin", error)
        return batch
