"""``--tune`` in one process: what torch's iterators call, and what the conductor decides, brought together.

Nothing of the program runs within a guarded block: its sampler, its data set and its signal handlers raise through it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from underfed.exchange import launch, run_files, tuning
from underfed.exchange.guard import Guard
from underfed.exchange.launch import Say
from underfed.host import cgroup
from underfed.host.clock import Clock, now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attach
from underfed.trainer.batch import measure_batch
from underfed.trainer.hooks.registry import kind_of
from underfed.trainer.hooks.session import Session
from underfed.trainer.hooks.watched_loader import KEPT_IN_TRIALS, WatchedLoader
from underfed.trainer.settings.overrides import why_not_so_many
from underfed.trainer.settings.training_loaders import TrainingLoaders
from underfed.trainer.settings.verified_sharding import VerifiedSharding
from underfed.trainer.tuning.conductor import Conductor, Order, steps_for_trials
from underfed.trainer.tuning.epoch_edges import EpochEdges
from underfed.trainer.tuning.feeders import Feeder, Feeders
from underfed.trainer.tuning.limits import BatchSize, read_room, why_no_room
from underfed.trainer.tuning.loader_setting import LoaderSetting, setting_of
from underfed.trainer.tuning.plain_rule import plain_candidates
from underfed.trainer.tuning.plan import AHEAD, FILE, Plan, Planned
from underfed.trainer.tuning.report import end_lines, facts_of, kept_line
from underfed.trainer.tuning.switching import TUNED, Switched, forget, switched_of

if TYPE_CHECKING:
    from underfed.trainer.recording import Recording

SECOND = 1_000_000_000
RANKS_NS = 30 * SECOND
"""So long all ranks of the run are awaited on this host."""


@dataclass(frozen=True, slots=True)
class TuneOptions:
    most_steps: int | None = None
    """``--tune-steps``; ``None``: by the length of the training."""
    ends_after: bool = False
    """``--trial-only``."""


class Tuner:
    """Of one process, and of one loader: the first one that it trains from, or the one that ``watch()`` names."""

    def __init__(self, options: TuneOptions, say: Say, now: Clock = now_ns) -> None:
        self.options = options
        self.recording: Recording | None = None
        self.conductor: Conductor | None = None
        """In the rank that leads on its host."""
        self._say = say
        self._now = now
        self._pid = os.getpid()
        self._training = TrainingLoaders()
        self._edges = EpochEdges()
        self._sharding = VerifiedSharding()
        self._loader: weakref.ref[Any] | None = None
        self._kind: str | None = None
        self._watched: WatchedLoader | None = None
        self._current: weakref.ref[Any] | None = None
        self._tuned: list[weakref.ref[Any]] = []
        self._setting: LoaderSetting | None = None
        """In use, or to be in use from the next pass on."""
        self._keep: LoaderSetting | None = None
        self._plan: Plan | None = None
        self._planned: Planned | None = None
        self._measured: LoaderSetting | None = None
        """The setting whose steps are measured, its start-up over."""
        self._catching_up: Order | None = None
        self._are_all_here = False
        self._ranks_due_ns = 0
        self._awaited_ns: int | None = None
        self._steps = 0
        self._skip = 0
        """Requests to come whose steps are of a start."""
        self._entered_ns = 0
        self._waited_ns = 0
        self._batch: BatchSize | None = None
        self._is_off = False
        self._has_told_end = False

    # What torch's functions call

    def before_iter(self, loader: Any) -> None:
        """A loader is about to create or reset an iterator."""
        if self._is_off or os.getpid() != self._pid:
            return
        try:
            if self._is_ours(loader):
                self._edges.begin(loader, self._setting)
                if self._watched is not None and self._setting is not None:
                    self._watched.threads_per_worker = self._setting.threads_per_worker
        except Exception as error:
            let_through(error)
            self._fail(error)

    def choose(self, loader: Any) -> None:
        """``watch(loader, tune=True)``."""
        if self._loader is None:
            self._remember(loader)

    def constructed(self, iterator: Any, loader: Any, session: Session) -> None:
        """The iterator of this loader is constructed."""
        try:
            self._edges.begun()
            if not self._is_off and os.getpid() == self._pid and self._is_known(loader):
                self._adopt(iterator, loader, session)
        except Exception as error:
            let_through(error)
            self._fail(error)

    def resetting(self, iterator: Any) -> None:
        """A persistent iterator begins another pass."""
        try:
            switched = switched_of(iterator)
            if switched is not None:
                switched.give_up(iterator)
                forget(iterator)
        except Exception as error:
            let_through(error)
            self._fail(error)

    def reset(self, iterator: Any, session: Session) -> None:
        loader = self._edges.iterating()
        if loader is not None:
            self.constructed(iterator, loader, session)

    def instead(self, iterator: Any) -> tuple[Any] | None:
        """At a request, before torch's own code: a batch in a tuple; ``None``: the iterator itself loads.

        Raises:
            SystemExit: with 0, when the trials are over and the program is to end with them.
            Exception: what the iterator that loads raises.
        """
        switched: Switched | None = iterator._underfed_tuned
        if switched is None:
            return None
        if switched.was_reset(iterator):
            switched.give_up(iterator)
        self._requested(iterator, switched)
        if switched.is_switching:
            before = switched.carry_on(iterator)
            if before is not None:
                self._taken_over(iterator, switched, before)
        feeder = switched.state.active.iterator
        if feeder is None:
            return None
        try:
            if not switched.held:
                switched.held.append((next(feeder),))
        except StopIteration:
            self._pass_ended(iterator, switched)
            raise
        self._waited_ns = self._now() - self._entered_ns
        return switched.held.pop()

    def left(self, iterator: Any, batch: Any) -> None:
        """After torch's own code: the iterator itself has loaded this batch."""
        if iterator._underfed_tuned is None:
            return
        self._waited_ns = self._now() - self._entered_ns
        if self._batch is None and not self._is_off:
            shape = measure_batch(batch)
            self._batch = BatchSize(max(1, shape.tensors), max(0, shape.size_bytes))

    def stopped(self, iterator: Any) -> None:
        """Torch's own code raised: there are no more batches, or one failed."""
        switched = switched_of(iterator)
        if switched is not None and isinstance(sys.exc_info()[1], StopIteration):
            self._pass_ended(iterator, switched)

    def finish(self) -> None:
        """Nothing more is tried. Iterators that were switched go on as they are."""
        self._is_off = True
        self._tell_end()

    @property
    def has_switched(self) -> bool:
        """Whether a living iterator of the program hands out what another one loads."""
        self._tuned = [known for known in self._tuned if known() is not None]
        living = [iterator for known in self._tuned if (iterator := known()) is not None]
        found = [switched for iterator in living if (switched := switched_of(iterator)) is not None]
        return any(each.is_switching or each.state.active is not each.own for each in found)

    # Which loader

    def _is_ours(self, loader: Any) -> bool:
        if self._loader is None:
            if not self._training.has(loader):
                return False
            self._remember(loader)
        return self._is_known(loader)

    def _remember(self, loader: Any) -> None:
        self._loader, self._kind = weakref.ref(loader), kind_of(loader)

    def _is_known(self, loader: Any) -> bool:
        """Also one that the program or a framework constructed in its place."""
        if self._loader is None:
            return False
        known = self._loader()
        if loader is known:
            return True
        if kind_of(loader) != self._kind or (known is not None and known.dataset is not loader.dataset):
            return False
        self._loader = weakref.ref(loader)
        return True

    # A pass begins

    def _adopt(self, iterator: Any, loader: Any, session: Session) -> None:
        self._watched = session.loader
        self._watched.kept_iterators = KEPT_IN_TRIALS
        why = why_left_alone(iterator, session)
        if why is not None:
            self._refuse(iterator, why)
            return
        setting = setting_of(iterator, session.loader.threads_per_worker)
        if self._setting is None:
            self._begin(setting, session)
        attach(iterator, TUNED, Switched(Feeders(iterator, loader, session), Feeder(setting, session=session), True))
        self._current = weakref.ref(iterator)
        self._tuned = [*(known for known in self._tuned if known() is not None), self._current]
        self._skip = setting.capacity + 1
        if self.conductor is not None:
            self.conductor.gap()
        if self._setting is not None and setting != self._setting and self._can_switch(iterator):
            # It could not be put in as the pass began, as where the loader's class computes it.
            self._catching_up = Order(self._setting, self._setting)

    def _begin(self, setting: LoaderSetting, session: Session) -> None:
        recording, watched = self.recording, session.loader
        self._setting = self._keep = self._measured = setting
        if recording is not None:
            if recording.facts.world_size > 1:
                self._plan = Plan(recording.directory.parent / FILE)
                self._plan.read(setting)
            if recording.facts.local_rank:
                return
        facts = watched.facts
        length = facts.batches_per_epoch if facts is not None else None
        self.conductor = Conductor(
            setting,
            steps_for_trials(self.options.most_steps, length),
            facts.overrides or {} if facts is not None else {},
            self.options.ends_after,
            proposed=lambda: tuning.read_proposed(str(watched.directory / tuning.PROPOSED), watched.name),
            plain=_plainly,
            why_no_room=self._why_no_room,
            changed=self._write,
            concluded=self._tell_kept,
        )
        atexit.register(self._tell_end)
        self._write()

    # A request

    def _requested(self, iterator: Any, switched: Switched) -> None:
        """Count it, and begin a switch where it is time."""
        self._entered_ns = now = self._now()
        if self._is_off or self._current is None or self._current() is not iterator:
            return
        is_end = False
        try:
            self._steps += 1
            order = self._order(now, switched)
            if order is not None:
                is_end = order.is_end
                self._carry_out(order, iterator, switched, now)
        except Exception as error:
            let_through(error)
            self._fail(error)
        if is_end:
            self._end_program()

    def _end_program(self) -> None:
        self._is_off = True
        self._tell_end()
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(0)
        self._say("--trial-only cannot end the program: it takes its batches in a thread of its own")

    def _are_ranks_here(self, now: int) -> bool:
        """Whether all ranks of the run record on this host. After a while they will not come."""
        recording = self.recording
        if self._are_all_here or recording is None:
            return True
        if now < self._ranks_due_ns:
            return False
        self._ranks_due_ns = now + SECOND
        self._awaited_ns = self._awaited_ns or now
        names = [path.name for path in run_files.rank_directories(recording.directory.parent)]
        wanted, here = recording.facts.world_size, len({name.split("-")[1] for name in names})
        self._are_all_here = here >= wanted
        if not self._are_all_here and now - self._awaited_ns > RANKS_NS and self.conductor is not None:
            self._is_off = True
            reason = f"{wanted - here} of {wanted} ranks are on other hosts, and all have to switch at the same step"
            self._say(f"--tune leaves this loader alone: {reason}")
            self.conductor.refuse(reason)
        return self._are_all_here

    def _order(self, now: int, switched: Switched) -> Order | None:
        order, conductor = self._catching_up, self.conductor
        self._catching_up = None
        if self._skip:
            self._skip -= 1
            if not self._skip and not switched.is_switching:
                self._begin_measuring(switched.setting)
        elif self._is_measuring(conductor, switched, now) and conductor is not None:
            order = order or conductor.request(now, self._waited_ns, self._step)
        if self._plan is None:
            return order
        if order is not None:
            self._plan.write(Planned(self._steps + AHEAD, order.setting, order.keep, order.is_end))
        present = self._setting
        if present is not None:
            self._planned = self._plan.read(present) or self._planned
        planned = self._planned
        if planned is None or self._steps < planned.step or switched.is_switching:
            return None
        self._planned = None
        return Order(planned.setting, planned.keep, planned.is_end)

    def _is_measuring(self, conductor: Conductor | None, switched: Switched, now: int) -> bool:
        if conductor is None or switched.is_switching or conductor.setting != switched.setting:
            return False
        return self._plan is None or self._are_ranks_here(now)

    def _begin_measuring(self, setting: LoaderSetting) -> None:
        """Its start-up is over. Another pass under the same setting goes on with what was measured."""
        if self.conductor is not None and self.conductor.setting == setting != self._measured:
            self._measured = setting
            self.conductor.taken_over(self._step)

    @property
    def _step(self) -> int:
        return self._watched.steps if self._watched is not None else 0

    def _carry_out(self, order: Order, iterator: Any, switched: Switched, now: int) -> None:
        self._setting, self._keep = order.setting, order.keep
        if order.is_end:
            return
        if order.setting == switched.setting:
            switched.drop(iterator, {order.setting, order.keep})
        elif self._can_switch(iterator):
            try:
                switched.begin(iterator, order.setting)
            except Exception as error:
                let_through(error)
                self._not_started(error, iterator, switched, now)

    def _not_started(self, error: Exception, iterator: Any, switched: Switched, now: int) -> None:
        """Such workers cannot be started here. The others are tried."""
        self._setting = switched.setting
        reason = f"its workers could not be started: {type(error).__name__}: {error}"[:400]
        if self.conductor is None or not self.conductor.is_searching:
            raise error
        self._say(f"--tune: {reason}; the loader goes on as it was")
        further = self.conductor.failed(switched.setting, reason, now, self._step)
        if further is None:
            return
        if self._plan is not None:
            self._plan.write(Planned(self._steps + AHEAD, further.setting, further.keep, further.is_end))
        else:
            self._carry_out(further, iterator, switched, now)

    def _can_switch(self, iterator: Any) -> bool:
        return bool(iterator._dataset_kind == 0)

    def _taken_over(self, iterator: Any, switched: Switched, before: Feeder) -> None:
        """Another one hands out from now on."""
        try:
            setting = switched.setting
            switched.feeders.end(before)
            switched.feeders.begin(switched.state.active, iterator, sees_arrivals=switched.sees_arrivals)
            switched.drop(iterator, {setting, self._keep or setting})
            self._skip = setting.capacity + 1
            if self._watched is not None:
                self._edges.report(self._watched, setting)
        except Exception as error:
            let_through(error)
            self._fail(error)

    def _pass_ended(self, iterator: Any, switched: Switched) -> None:
        try:
            switched.drop(iterator, {switched.setting})
        except Exception as error:
            let_through(error)
            self._fail(error)

    # What is told

    def _why_no_room(self, setting: LoaderSetting) -> str | None:
        loader = self._loader() if self._loader is not None else None
        if loader is not None and (why := why_not_so_many(loader, setting.num_workers, self._sharding.why_not)):
            return why
        iterator = self._current() if self._current is not None else None
        switched = switched_of(iterator) if iterator is not None else None
        active = switched.state.active.of(iterator) if switched is not None else None
        pids = [worker.pid for worker in getattr(active, "_workers", [])[:2]]
        return why_no_room(setting, self._batch or BatchSize(), read_room(pids))

    def _refuse(self, iterator: Any, reason: str) -> None:
        if self._setting is None:
            self._setting = self._keep = setting_of(iterator, None) if hasattr(iterator, "_pin_memory") else None
        self._is_off = True
        self._say(f"--tune leaves this loader alone: {reason}")
        self._write_alone(tuning.REFUSED, reason)

    def _fail(self, error: Exception) -> None:
        """An error of ours: nothing more is tried, and what loads goes on."""
        reason = f"{type(error).__name__}: {error}"[:400]
        self._is_off = True
        self._say(f"--tune ended by an error of its own, the loader goes on as it is: {reason}")
        try:
            self._write_alone(tuning.FAILED, reason)
        except Exception as again:
            let_through(again)
        guard = self._watched.guard if self._watched is not None else Guard()
        guard.failed("tune", error)

    def _write_alone(self, status: str, reason: str) -> None:
        if self.conductor is not None:
            self.conductor.refuse(reason, status)
        elif self._watched is not None and self._setting is not None and not self._is_follower():
            began = self._setting.settings()
            tuning.write_tuning(self._watched.directory, tuning.TuningFacts(self._watched.name, status, began, reason))

    def _is_follower(self) -> bool:
        return self.recording is not None and bool(self.recording.facts.local_rank)

    def _write(self) -> None:
        watched, conductor, recording = self._watched, self.conductor, self.recording
        if watched is None or conductor is None or recording is None:
            return
        facts = facts_of(conductor, watched, recording.origin.origin_ns)
        try:
            tuning.write_tuning(watched.directory, facts)
        except OSError as error:
            let_through(error)
            watched.guard.count("tune", error)

    def _tell_kept(self) -> None:
        if self.conductor is not None and (line := kept_line(self.conductor)) is not None:
            self._say(line)

    def _tell_end(self) -> None:
        """Once, at the end: the lines to write into the script."""
        if self._has_told_end or self.conductor is None or os.getpid() != self._pid:
            return
        self._has_told_end = True
        atexit.unregister(self._tell_end)
        source = self._watched.facts.source if self._watched is not None and self._watched.facts is not None else None
        for line in end_lines(self.conductor, source, ends_after=self.options.ends_after):
            self._say(line)
        self._write()


def why_left_alone(iterator: Any, session: Session) -> str | None:
    """``None``: it is known how to switch it."""
    from torch.utils.data import MapDataPipe, dataloader

    known = (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter)
    if type(iterator) not in known:
        return f"{type(iterator).__name__} is no iterator of torch's own"
    if isinstance(iterator._dataset, MapDataPipe):
        return "its data set is a DataPipe, which shares out its records by the number of workers"
    if session.is_passive or session.loader.is_prefetched:
        return "underfed.prefetch takes its batches, and looks into its queue"
    return None


def _plainly(present: LoaderSetting, step_ns: float, wait_ns: float) -> Any:
    cores = cgroup.usable_cores(cgroup.allowed_cpus(), cgroup.quota_cores()) or 1.0
    return plain_candidates(present, step_ns, wait_ns, cores)


def read_tuner(environ: Mapping[str, str], say: Say) -> Tuner | None:
    """The launcher's options, which it validated; ``None`` without ``--tune``."""
    if environ.get(launch.TUNE) != "1":
        return None
    steps = environ.get(launch.TUNE_STEPS)
    options = TuneOptions(int(steps) if steps else None, environ.get(launch.TRIAL_ONLY) == "1")
    return Tuner(options, launch.first_rank_only(environ, say))
