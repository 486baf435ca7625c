"""``--tune`` in one process: what torch's iterators call, and what the conductor decides, brought together.

Nothing of the program runs within a guarded block: its sampler, its data set and its signal handlers raise through it.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import current_process
from typing import Any

from underfed.exchange import launch, tuning
from underfed.exchange.guard import Guard
from underfed.exchange.launch import Say
from underfed.host import cgroup
from underfed.host.clock import Clock, now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attach, attached
from underfed.trainer.batch import measure_batch
from underfed.trainer.hooks.session import Session
from underfed.trainer.hooks.watched_loader import KEPT_IN_TRIALS, WatchedLoader
from underfed.trainer.settings.loader_facts import inner_batches
from underfed.trainer.settings.overrides import MAY_NOT_START, why_not_so_many
from underfed.trainer.settings.verified_sharding import VerifiedSharding
from underfed.trainer.tuning.candidates import plain_candidates
from underfed.trainer.tuning.chosen_loader import ChosenLoader, fork_ns, start_ns
from underfed.trainer.tuning.conductor import Conductor, Order, steps_for_trials
from underfed.trainer.tuning.epoch_edges import EpochEdges
from underfed.trainer.tuning.feeders import Feeder, Feeders
from underfed.trainer.tuning.first_workers import why_no_first_workers
from underfed.trainer.tuning.hosts import Failure
from underfed.trainer.tuning.limits import BatchSize, FilesWatch, read_room, why_no_room
from underfed.trainer.tuning.loader_setting import LoaderSetting, setting_of
from underfed.trainer.tuning.own_changes import Seen, changed_attribute, look_at
from underfed.trainer.tuning.own_errors import OwnErrors
from underfed.trainer.tuning.ranks import Ranks
from underfed.trainer.tuning.reporter import Reporter
from underfed.trainer.tuning.switching import HELD, TUNED, Switched, forget, switched_of
from underfed.trainer.tuning.unsent import why_unsent


@dataclass(frozen=True, slots=True)
class TuneOptions:
    most_steps: int | None = None
    """``--tune-steps``; ``None``: by the length of the training."""
    ends_after: bool = False
    """``--trial-only``."""


FEW_FILES = (
    "the files that this process may open are nearly used up (ulimit -n): each batch that the program keeps holds "
    "those by which a worker sent it"
)
MOST_STARTS = 3
"""Of workers that a signal handler of the program ends in a row: each takes the place of a batch."""
INTERRUPTED = f"a signal handler ended the start of workers {MOST_STARTS} times in a row"
DAEMONIC = f"{MAY_NOT_START}; it could have workers if it were not started with daemon=True"
FORKED = "this process was forked from another one; it could be tuned if it were started by spawn"
TWO_AT_ONCE = "two of its iterators are used at once"
READS_ALONE = "; it could have workers if reading a sample changed nothing that later ones need"


class Tuner:
    """Of one process, and of one loader: the first one that it trains from, or the one that ``watch()`` names."""

    def __init__(self, options: TuneOptions, say: Say, now: Clock = now_ns) -> None:
        self.options = options
        self.reporter = Reporter(say)
        self._now = now
        self._pid = os.getpid()
        self._is_forked = False
        self._chosen = ChosenLoader()
        self._edges = EpochEdges()
        self._sharding = VerifiedSharding()
        self._current: weakref.ref[Any] | None = None
        self._tuned: list[weakref.ref[Any]] = []
        self._setting: LoaderSetting | None = None
        """In use, or to be in use from the next pass on."""
        self._reported: LoaderSetting | None = None
        """As the loader's facts have it."""
        self._keep: LoaderSetting | None = None
        self._ranks: Ranks | None = None
        """Where there are several."""
        self._measured: LoaderSetting | None = None
        """The setting whose steps are measured, its start-up over."""
        self._catching_up: Order | None = None
        self._steps = 0
        self._skip = 0
        """Requests to come whose steps are of a start."""
        self._entered_ns = 0
        self._pass_began_ns = 0
        """Before its iterator was constructed."""
        self._construct_ns: int | None = None
        """What that took, where torch started the workers of the setting in use; ``None`` also once it is reported."""
        self._waited_ns = 0
        self._batch: BatchSize | None = None
        self._files = FilesWatch()
        self._is_off = False
        self._errors: OwnErrors | None = None
        self._unsent: str | None = None
        """Why its first batch could not be sent by a worker, where there are none."""
        self._looked_at: Seen | None = None
        """The data set as it was near the beginning of the pass, where there are no workers."""
        self._back: LoaderSetting | None = None
        """To be used from here on, whatever is ordered."""
        self._interrupted_starts = 0
        """In a row, by what a signal handler raised."""
        self._has_finished = False
        """The recording's directory may be gone."""

    @property
    def conductor(self) -> Conductor | None:
        """In the rank that leads on its host."""
        return self.reporter.conductor

    @property
    def _watched(self) -> WatchedLoader | None:
        return self.reporter.watched

    # What torch's functions call

    def before_iter(self, loader: Any) -> None:
        """A loader is about to create or reset an iterator."""
        with self._guarded():
            if os.getpid() != self._pid:
                self._begin_forked()
            if self._is_off:
                return
            if self._chosen.is_about_to_begin(loader):
                self._pass_began_ns = self._now()
                self._edges.begin(loader, self._setting)
                if self._watched is not None and self._setting is not None:
                    self._watched.threads_per_worker = self._setting.threads_per_worker

    def choose(self, loader: Any) -> None:
        """``watch(loader, tune=True)``."""
        if not self._chosen.is_chosen:
            self._chosen.choose(loader)

    def constructed(self, iterator: Any, loader: Any, session: Session) -> None:
        """The iterator of this loader is constructed."""
        with self._guarded():
            self._edges.begun()
            if not self._is_off and os.getpid() == self._pid and self._chosen.is_known(loader):
                self._adopt(iterator, loader, session)

    def resetting(self, iterator: Any) -> None:
        """A persistent iterator begins another pass."""
        with self._guarded():
            switched = switched_of(iterator)
            if switched is not None:
                switched.give_up(iterator)
                forget(iterator)

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
        switched = switched_of(iterator)
        if switched is None:
            return None
        if switched.was_reset(iterator):
            switched.give_up(iterator)
        self._requested(iterator, switched)
        self._count_files(switched)
        if self._back is not None:
            self._go_back(self._back, iterator, switched)
        if switched.is_switching:
            before = switched.carry_on(iterator)
            if before is not None:
                self._taken_over(iterator, switched, before)
        feeder = switched.state.active.iterator
        if feeder is None:
            return switched.held.pop() if switched.held else None
        try:
            if not switched.held:
                batch = next(feeder)
                switched.held[:] = ((batch,),)
        except StopIteration:
            self._pass_ended(iterator, switched)
            raise
        self._waited_ns = self._now() - self._entered_ns
        return switched.held.pop()

    def hold(self, iterator: Any, batch: Any) -> None:
        """After torch's own code: this iterator, or one that loads for it, has a batch that the program does not have
        yet."""
        held: list[tuple[Any]] | None = attached(iterator, HELD)
        if held is not None:
            held[:] = ((batch,),)

    def let_go(self, iterator: Any) -> None:
        """Nothing of ours runs any more before the program has it."""
        switched = switched_of(iterator)
        if switched is not None:
            switched.held.clear()

    def left(self, iterator: Any, batch: Any) -> None:
        """The iterator itself has loaded this batch."""
        if switched_of(iterator) is None:
            return
        self._waited_ns = self._now() - self._entered_ns
        if self._batch is None and not self._is_off:
            if self._errors is not None:
                self._unsent = why_unsent(batch)
            shape = measure_batch(batch)
            self._batch = BatchSize(max(1, shape.tensors), max(0, shape.size_bytes))

    def stopped(self, iterator: Any) -> None:
        """Torch's own code raised: there are no more batches, or one failed."""
        switched = switched_of(iterator)
        if switched is not None and isinstance(sys.exc_info()[1], StopIteration):
            self._pass_ended(iterator, switched)

    def finish(self) -> None:
        """Nothing more is tried. Iterators that were switched go on as they are."""
        self._is_off = self._has_finished = True
        self.reporter.end()

    @property
    def has_switched(self) -> bool:
        """Whether a living iterator of the program hands out what another one loads."""
        self._tuned = [known for known in self._tuned if known() is not None]
        living = [iterator for known in self._tuned if (iterator := known()) is not None]
        found = [switched for iterator in living if (switched := switched_of(iterator)) is not None]
        return any(each.is_switching or each.state.active is not each.own for each in found)

    # A pass begins

    def _adopt(self, iterator: Any, loader: Any, session: Session) -> None:
        watched = self.reporter.watched = session.loader
        watched.kept_iterators = KEPT_IN_TRIALS
        watched.has_first_workers = self._errors is not None
        self._report_sharding(loader)
        why = self._why_no_process_for_it() or why_left_alone(iterator, session)
        if why is not None:
            self._refuse(iterator, why)
            return
        setting = setting_of(iterator, session.loader.threads_per_worker)
        if self._setting is None:
            self._begin(setting, loader, watched)
        batches = watched.facts.batches_per_epoch if watched.facts is not None else None
        self._chosen.pass_begun(batches)
        own = Feeder(setting, session=session)
        ahead = inner_batches(loader) if batches is None and self._errors is not None else batches
        switched = Switched(Feeders(iterator, loader, session), own, self._errors, ahead)
        if self._errors is not None and setting.num_workers:
            self._errors.watch(iterator)
        attach(iterator, HELD, switched.held)
        attach(iterator, TUNED, switched)
        self._edges.asked_once(loader, iterator)
        self._current = weakref.ref(iterator)
        self._tuned = [*(known for known in self._tuned if known() is not None), self._current]
        self._skip = setting.capacity + 1
        starts = setting.num_workers and not setting.persistent_workers and setting == self._setting
        self._construct_ns = self._now() - self._pass_began_ns if starts else None
        if self.conductor is not None:
            self.conductor.pass_began(self._pass_began_ns, self._entered_ns)
        if self._setting is not None and setting != self._setting and self._can_switch(iterator):
            # It could not be put in as the pass began, as where the loader's class computes it.
            self._catching_up = Order(self._setting, self._setting)
        elif setting != self._reported:
            # Put in as the pass began, as for an iterable data set, which is switched at no other time.
            self._report(setting)

    def _report(self, setting: LoaderSetting) -> None:
        """It loads from here on."""
        if self._watched is not None and not self._has_finished:
            self._reported = setting
            self._watched.report_tuned(setting.settings())

    def _begin_forked(self) -> None:
        """What is known is of the process that this one was forked from, whose iterators load on."""
        recording = self.reporter.recording
        self._pid, self._is_forked, self._is_off = os.getpid(), True, False
        self._chosen, self._edges, self.reporter = ChosenLoader(), EpochEdges(), Reporter(self.reporter.say)
        self._current = self._setting = self._keep = self._errors = self._ranks = None
        self.reporter.recording = recording

    def _why_no_process_for_it(self) -> str | None:
        """Torch refuses workers of a daemonic process, so a loader there has none."""
        if current_process().daemon:
            return DAEMONIC
        return FORKED if self._is_forked else None

    def _begin(self, setting: LoaderSetting, loader: Any, watched: WatchedLoader) -> None:
        recording, facts = self.reporter.recording, watched.facts
        self._setting = self._keep = self._measured = self._reported = setting
        if not setting.num_workers:
            self._errors = OwnErrors(lambda reason: self._loads_here(setting, reason))
            watched.has_first_workers = True
        if recording is not None:
            if recording.facts.world_size > 1:
                self._ranks = Ranks(recording, setting, self._why_no_room)
            if recording.facts.rank:
                return
        self.reporter.begin(
            Conductor(
                setting,
                steps_for_trials(self.options.most_steps, facts.batches_per_epoch if facts is not None else None),
                facts.overrides or {} if facts is not None else {},
                self.options.ends_after,
                proposed=lambda: tuning.read_proposed(str(watched.directory / tuning.PROPOSED), watched.name),
                plain=_plainly,
                why_no_room=self._why_no_room,
                changed=self.reporter.write,
                concluded=self.reporter.kept,
                left_steps=self._chosen.left_steps,
                left_of_pass=self._chosen.left_of_pass,
                start_ns=start_ns(loader),
                fork_ns=self._fork_ns,
                starting=lambda: self._skip,
                pass_steps=self._chosen.pass_steps,
                ahead=self._ahead,
                batch_bytes=lambda: self._batch.size_bytes if self._batch is not None else 0,
                is_limited=self.options.most_steps is None,
            )
        )

    def _fork_ns(self) -> int:
        loader = self._chosen.get()
        return fork_ns(loader) if loader is not None else 0

    def _ahead(self) -> int | None:
        """Batches that are loaded and not handed out; ``None``: not known."""
        iterator = self._current() if self._current is not None else None
        switched = switched_of(iterator) if iterator is not None else None
        return switched.state.active.ahead(iterator) if switched is not None else None

    # A request

    def _requested(self, iterator: Any, switched: Switched) -> None:
        """Count it, and begin a switch where it is time."""
        self._entered_ns = now = self._now()
        if self._is_off or self._current is None:
            return
        newest = self._current()
        if newest is not iterator:
            if newest is not None:
                self._used_at_once()
            return
        is_end = False
        try:
            self._steps += 1
            self._chosen.requested()
            if self._chosen.has_begun:
                self._look_at_data_set(switched)
                self._report_start(switched)
            order = self._order(now, switched)
            if order is not None:
                is_end = order.is_end
                self._carry_out(order, iterator, switched, now)
        except Exception as error:
            let_through(error)
            self._fail(error)
        if is_end:
            self._end_program()

    def _report_start(self, switched: Switched) -> None:
        if self._construct_ns is not None and self.conductor is not None and not switched.is_switching:
            self.conductor.pass_began_with(switched.setting, self._construct_ns, self._waited_ns)
        self._construct_ns = None

    def _used_at_once(self) -> None:
        """One that began before the newest is still taken from: a step is not one request, and no pace is known."""
        with self._guarded():
            self._is_off = True
            if self._ranks is not None:
                self._ranks.leave()
            conductor = self.conductor
            if conductor is not None and conductor.is_searching:
                self._back = self._setting = self._keep = conductor.searches[-1].trials[0].setting
                conductor.leave_alone(self._back, TWO_AT_ONCE)
            self.reporter.left_alone(TWO_AT_ONCE, self._setting)

    def _end_program(self) -> None:
        self._is_off = True
        self.reporter.end()
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(0)
        self.reporter.say("--trial-only cannot end the program: it takes its batches in a thread of its own")

    def _attend(self, ranks: Ranks, switched: Switched, now: int) -> None:
        """What other ranks report: after a while those that are missing will not come; a switch may fail elsewhere."""
        ranks.note(now, self._steps, None if self._skip or switched.is_switching else switched.setting)
        if (reason := ranks.why_never(now)) is not None:
            self._is_off = True
            ranks.leave()
            self.reporter.left_alone(reason, self._setting)
        elif self.conductor is not None and (failure := ranks.take_failure()) is not None:
            self._failed_elsewhere(failure, self.conductor, ranks, now)

    def _failed_elsewhere(self, failure: Failure, conductor: Conductor, ranks: Ranks, now: int) -> None:
        """Nobody measures what not all hosts use. The best setting that was measured stays, or comes back."""
        if failure.is_final:
            ranks.end()
            self.reporter.say(f"--tune: {failure.reason}; nothing more is tried")
        if self._setting is not None and conductor.is_searching:
            further = conductor.failed(self._setting, failure.reason, now, self._step)
            while failure.is_final and conductor.is_searching:
                further = conductor.failed(self._setting, failure.reason, now, self._step)
            order = further or Order(conductor.setting, conductor.setting)
            ranks.plan(order, self._steps, is_searching=conductor.is_searching)
        if failure.is_final:
            is_kept = conductor.status == tuning.KEPT
            conductor.refuse(failure.reason, tuning.KEPT if is_kept else tuning.REFUSED)

    def _order(self, now: int, switched: Switched) -> Order | None:
        order, conductor, ranks = None, self.conductor, self._ranks
        catching_up, self._catching_up = self._catching_up, None
        if ranks is not None:
            self._attend(ranks, switched, now)
        if self._skip:
            self._skip -= 1
            if not self._skip and not switched.is_switching:
                self._begin_measuring(switched.setting)
        if not self._skip and catching_up is None and conductor is not None and self._is_measuring(conductor, switched):
            conductor.pass_measured(now, self._chosen.steps)
            order = conductor.request(now, self._waited_ns, self._step)
        if ranks is None:
            return catching_up or order or self._again(conductor, switched)
        if catching_up is not None:
            ranks.plan_here(catching_up, self._steps)
        elif order is not None and conductor is not None:
            ranks.plan(order, self._steps, is_searching=conductor.is_searching)
            if order.is_end and ranks.are_on_several_hosts:
                conductor.ends_after = False
                self.reporter.say("--trial-only does not end a program whose ranks are on several hosts")
        return ranks.due(self._steps, self._setting, is_switching=switched.is_switching)

    def _again(self, conductor: Conductor | None, switched: Switched) -> Order | None:
        if conductor is None or switched.is_switching or conductor.setting == switched.setting:
            return None
        return conductor.again()

    def _is_measuring(self, conductor: Conductor, switched: Switched) -> bool:
        if switched.is_switching or conductor.setting != switched.setting:
            return False
        if self._measured != switched.setting:
            # Other hosts were not ready when this one was.
            self._begin_measuring(switched.setting)
        return self._ranks is None or (self._ranks.are_here() and self._ranks.have_switched())

    def _begin_measuring(self, setting: LoaderSetting) -> None:
        """Its start-up is over. Another pass under the same setting goes on with what was measured."""
        if self._ranks is not None and not self._ranks.have_switched():
            return
        if self.conductor is not None and self.conductor.setting == setting != self._measured:
            self._measured = setting
            self.conductor.taken_over(self._entered_ns, self._step)

    @property
    def _step(self) -> int:
        return self._watched.steps if self._watched is not None else 0

    def _carry_out(self, order: Order, iterator: Any, switched: Switched, now: int) -> None:
        if self._back is not None:
            order = Order(self._back, self._back, order.is_end)
        self._setting, self._keep = order.setting, order.keep
        if order.is_end:
            return
        if order.setting == switched.setting:
            self._end_workers(iterator, switched, {order.setting, order.keep})
        elif self._can_switch(iterator):
            if self._interrupted_starts == MOST_STARTS:
                self._loads_here(switched.own.setting, INTERRUPTED)
                return
            # It stays so where what a signal handler raised goes through.
            self._interrupted_starts += 1
            try:
                switched.begin(iterator, order.setting)
            except Exception as error:
                let_through(error)
                self._interrupted_starts = 0
                self._not_started(error, iterator, switched, now)
            else:
                self._interrupted_starts = 0

    def _not_started(self, error: Exception, iterator: Any, switched: Switched, now: int) -> None:
        """Such workers cannot be started here. The others are tried."""
        self._setting = switched.setting
        reason = f"its workers could not be started: {type(error).__name__}: {error}"[:400]
        if self.conductor is None or not self.conductor.is_searching:
            raise error
        self.reporter.not_started(reason)
        further = self.conductor.failed(switched.setting, reason, now, self._step)
        if further is None:
            return
        if self._ranks is not None:
            self._ranks.plan(further, self._steps, is_searching=self.conductor.is_searching)
        else:
            self._carry_out(further, iterator, switched, now)

    def _loads_here(self, setting: LoaderSetting, reason: str) -> None:
        """Workers are not for this data set."""
        if self._back is not None:
            return
        with self._guarded():
            self._back = self._setting = self._keep = setting
            workers = "no workers" if not setting.num_workers else f"num_workers={setting.num_workers}"
            self.reporter.say(f"--tune goes back to {workers}: {reason}")
            self.reporter.no_workers(reason if not setting.num_workers else None)
            if self.conductor is not None:
                self.conductor.leave_alone(setting, reason)

    def _count_files(self, switched: Switched) -> None:
        """A program that keeps its batches keeps the files by which workers sent them, too: not of workers of ours."""
        own, setting = switched.own.setting, switched.setting
        if self._back is not None or setting.num_workers <= own.num_workers:
            return
        with self._guarded():
            if self._files.are_few(setting, self._batch or BatchSize()):
                self._loads_here(own, FEW_FILES)

    def _go_back(self, setting: LoaderSetting, iterator: Any, switched: Switched) -> None:
        with self._guarded():
            if not switched.is_switching and switched.setting != setting:
                switched.begin(iterator, setting)

    def _can_switch(self, iterator: Any) -> bool:
        return bool(iterator._dataset_kind == 0)

    def _taken_over(self, iterator: Any, switched: Switched, before: Feeder) -> None:
        """Another one hands out from now on."""
        with self._guarded():
            setting = switched.setting
            switched.feeders.end(before)
            switched.feeders.begin(switched.state.active, iterator)
            self._end_workers(iterator, switched, {setting, self._keep or setting})
            self._skip = setting.capacity + 1
            self._report(setting)

    def _end_workers(self, iterator: Any, switched: Switched, kept: set[LoaderSetting]) -> int:
        """Of all others. Returns the nanoseconds that it took."""
        began_ns = self._now()
        switched.drop(iterator, kept)
        took_ns = self._now() - began_ns
        if self.conductor is not None:
            self.conductor.workers_ended(took_ns)
        return took_ns

    def _pass_ended(self, iterator: Any, switched: Switched) -> None:
        with self._guarded():
            dropped_ns = self._end_workers(iterator, switched, {switched.setting})
            is_current = self._current is not None and self._current() is iterator
            if self.conductor is not None and is_current:
                is_switching = self.conductor.setting != switched.setting
                self.conductor.pass_ended(self._now() - self._entered_ns, dropped_ns, is_switching=is_switching)

    # What stands against it

    def _why_no_room(self, setting: LoaderSetting) -> str | None:
        loader = self._chosen.get()
        if loader is not None and (why := why_not_so_many(loader, setting.num_workers, self._sharding.why_not)):
            self._report_sharding(loader)
            return why
        iterator = self._current() if self._current is not None else None
        switched = switched_of(iterator) if iterator is not None else None
        if switched is not None and setting.num_workers and not switched.own.setting.num_workers:
            why = self._why_no_first_workers(switched.feeders.view)
            self.reporter.no_workers(why)
            if why is not None:
                return why
        active = switched.state.active.of(iterator) if switched is not None else None
        pids = [worker.pid for worker in getattr(active, "_workers", [])[:2]]
        return why_no_room(setting, self._batch or BatchSize(), read_room(pids))

    def _look_at_data_set(self, switched: Switched) -> None:
        is_alone = self.conductor is not None and not switched.setting.num_workers
        self._looked_at = look_at(switched.feeders.view) if is_alone else None

    def _why_no_first_workers(self, loader: Any) -> str | None:
        return why_no_first_workers(loader) or self._unsent or self._why_own_workers(loader)

    def _why_own_workers(self, loader: Any) -> str | None:
        """What speaks against workers in what the data set did in this pass."""
        name = changed_attribute(self._looked_at, look_at(loader)) if self._looked_at is not None else None
        if name is None:
            return None
        return f"its data set changes `{name}` while it is read: each worker would have its own{READS_ALONE}"

    def _report_sharding(self, loader: Any) -> None:
        """What was found of its data set, so that nothing else is advised."""
        if self._watched is not None:
            self._watched.report_sharding(self._sharding.found(loader.dataset))

    def _refuse(self, iterator: Any, reason: str) -> None:
        if self._setting is None:
            self._setting = self._keep = setting_of(iterator, None) if hasattr(iterator, "_pin_memory") else None
        self._is_off = True
        self.reporter.left_alone(reason, self._setting, are_workers_refused=reason == DAEMONIC)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """What is called in the block is ours: where it fails, the trials end and the training goes on."""
        try:
            yield
        except Exception as error:
            let_through(error)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """An error of ours: nothing more is tried, and what loads goes on."""
        self._is_off = True
        if self._ranks is not None:
            self._ranks.leave()
        self.reporter.failed(error, self._setting)
        guard = self._watched.guard if self._watched is not None else Guard()
        guard.failed("tune", error)


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
    return Tuner(options, launch.first_of_host_only(environ, say))
