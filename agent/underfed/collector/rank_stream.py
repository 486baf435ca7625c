"""One rank's stream: from the rings and files in its directory to windows in the spool."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from underfed.collector.reading.ends import SeenEnd, end_of, end_while_leaving, launchers_word, read_mark
from underfed.collector.reading.figures import RankFigures
from underfed.collector.reading.rank_content import Content, RankContent
from underfed.collector.reading.rank_rings import RankRings
from underfed.collector.reading.resume import Resume, WorkerResume, from_json
from underfed.collector.reading.stacks import RankStacks
from underfed.collector.reading.workers import Workers
from underfed.collector.sampling.process_usage import ProcessSampler
from underfed.collector.sampling.samples import Columns, Row
from underfed.collector.sampling.storage import RankStorage
from underfed.collector.spool.segment import Label
from underfed.collector.spool.spool import Spool
from underfed.collector.trackers.links import tracker_runs
from underfed.collector.trackers.tracker_writer import TrackerWriter
from underfed.collector.unsent_facts import UnsentFacts
from underfed.collector.wire import GpuSamples, HostPart, Losses, Window, as_json, encode_window
from underfed.exchange import figures, run_files
from underfed.exchange.facts import End, LoaderFacts, Origin, read_facts
from underfed.exchange.guard import count_failures
from underfed.exchange.parts import write_part
from underfed.exchange.run_files import RingName
from underfed.exchange.switch import ANSWER_FILE, Switch
from underfed.host import procfs
from underfed.host.clock import now_ns, to_us
from underfed.host.process_end import ProcessEnd, wait_for_one

WAITING_S = 0.8
"""A training process waits a second for its last records to be read, and ends its workers after that."""

HURRIED_S = 5.0
"""So long after the service's last answer a window is sent at each tick, while settings are tried on several hosts."""

AWAITED_S = 3.0
"""How long the verdict is waited for where a run of a tracker ends: the service judges once a second."""

HEARTBEAT_US = 5_000_000
"""How often a stream sends a window that has only samples; docs/wire.md requires it."""


class RankStream:
    """Continues where an earlier collector stopped, see ``reading.resume``.

    Raises:
        OSError, ValueError, KeyError: the directory's run.json cannot be read.
    """

    def __init__(self, directory: Path, spool: Spool) -> None:
        self.directory = directory
        self.origin = read_facts(directory / run_files.RUN, Origin)
        self.name = f"{self.origin.rank}-{self.origin.incarnation}"
        kept = spool.resume.get(self.name)
        self._resume = from_json(kept) if kept is not None else Resume()
        self._lost_before = self._resume.losses
        self._is_of_this_boot = self.origin.boot_id == procfs.boot_id()
        self._is_of_this_namespace = self.origin.pid_namespace == procfs.pid_namespace()
        self.end_mark = directory / run_files.END
        self._spool = spool
        self._rings = RankRings(directory, self._resume.positions)
        is_running = self.is_running()
        self._facts = UnsentFacts(directory, is_run_sent=not is_running and self._resume.kept_index is not None)
        self._content = RankContent(self.origin.origin_ns, self._facts.name, self._resume.loaders)
        self._is_ours = self._is_of_this_boot and self._is_of_this_namespace
        self.process_end = ProcessEnd(self.origin.pid, self.origin.start_ticks) if self._is_ours else None
        """Where it can be seen from here."""
        self._process = Columns()
        self._host = Columns()
        self._gpus: dict[int, Columns] = {}
        self._sampler = ProcessSampler(self.origin.pid)
        self._workers = Workers(self.origin.origin_ns, self._facts.name, _known_workers(self._resume))
        self._storage = RankStorage()
        self._stacks = RankStacks(directory)
        self._figures = RankFigures()
        self._published: tuple[Mapping[str, Any], str | None] = {}, None
        """The verdict, and why there is none."""
        self._reason: str | None = None
        """Why there is no verdict, as it was published; ``None``: there is one, or there was no step."""
        self._awaited_at: float | None = None
        self._awaited_index = -1
        self.wanted_mark = directory / run_files.VERDICT_WANTED
        self.trackers = TrackerWriter(directory)
        self.failures = 0
        """Errors of the collector's own in this stream."""
        self._sent_switch: Switch | None = None
        self._switch_answer: Mapping[str, Any] = {}
        self._answered_at = 0.0
        self._is_storages_turn = True
        self.costly_at_us = 0
        """When its last costly sample was taken: ranks take turns."""

    @property
    def has_left(self) -> bool:
        """All of its records are in the spool."""
        return self._resume.has_left

    @property
    def has_ended(self) -> bool:
        """Its last window is in the spool, which says how its process ended."""
        return self._resume.has_ended

    @property
    def awaits_verdict(self) -> bool:
        """A run of a tracker ends, and all that was recorded is in the spool."""
        return self._awaited_at is not None

    @property
    def logs_verdict(self) -> bool:
        """The verdict is logged to a run of a tracker from here."""
        return self.origin.rank == 0 and self.trackers.has_runs

    @property
    def now_us(self) -> int:
        return to_us(now_ns(), self.origin.origin_ns)

    def is_running(self) -> bool:
        """Whether the process runs, recording or not. In another pid namespace it counts as running, being unknown."""
        if not self._is_of_this_boot:
            return False
        return not self._is_of_this_namespace or procfs.is_running(self.origin.pid, self.origin.start_ticks)

    def seen_end(self) -> SeenEnd | None:
        """How the recording ended, if it did. While its process is leaving, that is known in part; once it is gone, as
        kernel or launcher report it."""
        is_running = self.is_running()
        mark = read_mark(self.directory)
        if isinstance(mark, End):
            return SeenEnd(mark)
        if not is_running:
            status = self.process_end.status() if self.process_end is not None else None
            return SeenEnd(end_of(status if status is not None else launchers_word(self.directory), mark))
        if mark is None or self.has_left:
            return None
        return SeenEnd(end_while_leaving(mark), is_last=not self._is_ours)

    def is_due(self) -> bool:
        """Whether its process has marked its end or is gone, which is not to wait for its next window."""
        is_gone = self.process_end is not None and wait_for_one([self.process_end], 0.0)
        return is_gone or self.end_mark.exists()

    def is_hurried(self) -> bool:
        """Whether the run's other hosts wait for what this one reports to them, or it for them. Few runs have any."""
        if self._facts.switch is None:
            return False
        self._facts.read()
        switch = self._facts.switch
        is_searching = switch.is_searching or self._switch_answer.get("is_searching") is True
        return switch != self._sent_switch or (is_searching and time.monotonic() - self._answered_at < HURRIED_S)

    def is_verdict_wanted(self) -> bool:
        """Whether its process has begun to wait for the verdict on all that it recorded."""
        return self._awaited_at is None and os.access(self.wanted_mark, os.F_OK)

    def await_verdict(self) -> None:
        """On all that was recorded, since that is in the spool, and for ``AWAITED_S`` at most."""
        self._awaited_at = time.monotonic()
        kept = self._resume.kept_index
        self._awaited_index = -1 if kept is None else kept

    def receive(self, answer: Mapping[str, Any]) -> None:
        """What the run's other hosts reported to this one: its training process finds it in a file."""
        self._answered_at = time.monotonic()
        if answer != self._switch_answer:
            self._switch_answer = answer
            write_part(self.directory / ANSWER_FILE, answer)

    def check_workers_at_end(self) -> None:
        """The recording has ended: a worker that is gone while the training process still waits for us has died.

        This includes workers that began since the last window. Their records are read after this, and take precedence.
        """
        if self._is_ours:
            self._rings.mark()
            self._workers.feed(self._rings.worker_pids, [])
            self._workers.sample(self.now_us, self._is_waited_for)

    def mark(self) -> bool:
        """Mark the rings. Returns whether they fill so fast that they should be drained soon."""
        return self._rings.mark()

    def drain(self) -> None:
        """Read the marked records; ``SETTLE_S`` has passed since ``mark()``."""
        if not self._rings.loaders() <= self._facts.loaders.keys():
            self._facts.read()
        drained = self._rings.drain()
        self._content.feed(drained)
        self._workers.feed(self._rings.worker_pids, drained)

    def sample(self, host: Row | None, gpus: list[tuple[int, Row]]) -> None:
        """Once a second. ``host`` and ``gpus`` are given to one rank of a host."""
        at_us = self.now_us
        if self._is_ours:
            self._workers.sample(at_us, lambda: self.seen_end() is None)
            rings = self._rings.worker_pids
            recorded_us = {ring: cpu_us for ring, cpu_us in self._content.worker_cpu_us().items() if ring in rings}
            row = self._sampler.sample(self._workers.living, recorded_us)
            if row is not None:
                self._process.add(at_us, row)
        if host is not None:
            self._host.add(at_us, host)
        for index, gpu in gpus:
            self._gpus.setdefault(index, Columns()).add(at_us, gpu)

    def sample_costly(self) -> None:
        """Take one of the samples that cost more than others. Workers' memory and storage take turns."""
        at_us = self.costly_at_us = self.now_us
        if self._is_ours:
            samplers = (self._workers.sample_costly, self._sample_storage)
            any(sample(at_us) for sample in (samplers if self._is_storages_turn else samplers[::-1]))
            self._is_storages_turn = not self._is_storages_turn

    def send_again(self) -> None:
        self._facts.send_again()
        self._workers.send_again()
        self._storage.send_again()
        self._stacks.send_again()

    def close_window(self, host: HostPart, seen: SeenEnd | None = None) -> None:
        """Put what is new since the last window into another, if it is worth one."""
        self._facts.read()
        self._stacks.read()
        end = seen.end if seen is not None else None
        if end is not None and not self.has_left:
            self._content.finish()
            self._workers.finish(self.now_us, end, is_end_marked=self.end_mark.exists())
        self.trackers.read()
        run, loaders = self._facts.take(host, self._complete, tracker_runs(self.trackers.targets.runs))
        workers, storage = self._workers.take(), self._storage.take(self._facts.name)
        stacks = self._stacks.take(self._facts.name, is_last=end is not None)
        is_new = self._facts.has_new_tuning
        tuning = self._facts.take_tuning()
        contents = self._content.take()
        for content in contents:
            self._figures.feed(self.now_us, content.steps, content.epochs)
        end_us = max(self.now_us, self._resume.end_us)
        is_due = end_us - self._resume.end_us >= HEARTBEAT_US
        is_unsent = run or loaders or workers or storage or stacks or is_new or end or self.is_hurried()
        if not (is_due or is_unsent or any(not content.is_empty for content in contents)):
            return
        start_us = self._resume.end_us
        parts: dict[str, Any] = {
            "run": run,
            "loaders": loaders,
            "workers": workers,
            "worker_samples": self._workers.take_samples(),
            "storage": storage,
            "stacks": stacks,
            "tuning": tuning,
            "switch": self._facts.switch,
            "process": self._process.take(),
            "host": self._host.take(),
            "gpus": [GpuSamples(index, taken) for index, each in self._gpus.items() if (taken := each.take())],
        }
        for content in contents:
            self._append(content, start_us, end_us, seen if content is contents[-1] else None, parts)
            parts = {}
        self._sent_switch = self._facts.switch
        for ring in self._rings.remove_abandoned(self._workers.is_over):
            self._workers.forget(ring)
            self._sampler.forget(ring)

    def publish(self, verdict: Mapping[str, Any], judged: int, *, is_answered: bool) -> None:
        """For the training process to read, beside the rings: its figures, and what is known of the whole run.

        ``judged``: the newest window that the verdict is known to include. ``is_answered``: the service answers.
        """
        not_judged = None if verdict.get("bound") else figures.NOT_YET if is_answered else figures.NO_ANSWER
        if self._figures.has_new_steps or (verdict, not_judged) != self._published:
            self._publish(verdict, not_judged)
        if self._awaited_at is not None:
            is_last_known = judged >= self._awaited_index if verdict.get("bound") else self._reason != figures.NOT_YET
            if is_last_known or not is_answered or time.monotonic() - self._awaited_at >= AWAITED_S:
                self._awaited_at = None
                self.wanted_mark.unlink(missing_ok=True)

    def _publish(self, verdict: Mapping[str, Any], not_judged: str | None) -> None:
        if (of_rank := self._figures.take()) is None:
            return
        page = f"{self.origin.url}/runs/{self.origin.run_id}"
        self._reason = not_judged and (of_rank["not_judged"] or not_judged)
        whole = {**dict.fromkeys(figures.OF_RUN), **of_rank, **verdict, "page": page, "not_judged": self._reason}
        with suppress(OSError):
            write_part(self.directory / figures.FILE, whole)
            self._published = verdict, not_judged
        if self.origin.rank == 0:
            self.trackers.pass_on(whole, is_urgent=self.has_ended)

    def close(self) -> None:
        self._rings.close()
        self.trackers.end()
        if self.process_end is not None:
            self.process_end.close()

    def _agent_errors(self) -> int:
        own = self.failures + self._rings.failures + self._stacks.failures
        return own + count_failures(self.directory / run_files.FAILURES)

    def _is_waited_for(self) -> bool:
        try:
            age_s = time.time() - self.end_mark.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0 <= age_s < WAITING_S and self.is_running()

    def _complete(self, index: int, facts: LoaderFacts) -> LoaderFacts:
        facts = self._content.completed(index, facts)
        reason = self._storage.reason(index)
        return facts if reason is None else replace(facts, not_measured={**facts.not_measured, "storage": reason})

    def _sample_storage(self, at_us: int) -> bool:
        """The training process reads for loaders without workers."""
        loaders = self._facts.loaders
        workers = self._workers.pids()
        readers = {
            index: workers.get(index) or ([] if facts.settings.get("num_workers") else [self.origin.pid])
            for index, facts in loaders.items()
        }
        return self._storage.sample_costly(
            at_us, readers, {index: facts.paths or [] for index, facts in loaders.items()}
        )

    def _append(
        self, content: Content, start_us: int, end_us: int, seen: SeenEnd | None, parts: Mapping[str, Any]
    ) -> None:
        """Put the next window into the spool. If the disk refuses it, the next window reports the gap.

        ``parts``: its other fields."""
        index, previous = self._resume.next_index, self._resume.kept_index
        counted = _sum(self._lost_before, self._content.losses())
        resume = Resume(
            next_index=index + 1,
            kept_index=index,
            end_us=end_us,
            has_left=self.has_left or seen is not None,
            has_ended=seen is not None and seen.is_last,
            positions=self._rings.positions(),
            loaders=self._content.resume(),
            workers=self._workers.resume(),
            losses=_sum(counted, self._content.unfinished()),
        )
        losses = replace(
            counted,
            dropped_windows=self._spool.dropped[self.name],
            rejected_windows=self._spool.rejected[self.name],
            agent_errors=self._agent_errors(),
        )
        window = Window(
            run_id=self.origin.run_id,
            rank=self.origin.rank,
            incarnation=self.origin.incarnation,
            window_index=index,
            previous_window_index=previous,
            started_at=self.origin.started_at,
            start_us=start_us,
            end_us=end_us,
            steps=content.steps,
            batches=content.batches,
            epochs=content.epochs,
            overhead_us=content.overhead_us,
            losses=losses,
            end=seen.end if seen is not None else None,
            **parts,
        )
        is_kept = self._spool.append(Label(self.name, index, previous, as_json(resume)), encode_window(window))
        self._resume = resume if is_kept else replace(resume, kept_index=previous)


def _known_workers(resume: Resume) -> dict[RingName, WorkerResume | None]:
    """Rings that an earlier collector read: those whose worker it did not see end, and the others."""
    rings = [ring for name in resume.positions if (ring := run_files.ring_name(name)) is not None]
    known: dict[RingName, WorkerResume | None] = {ring: None for ring in rings if ring.worker is not None}
    return known | {RingName(each.loader, each.iterator, each.worker): each for each in resume.workers}


def _sum(one: Losses, other: Losses) -> Losses:
    return Losses(
        dropped_steps=one.dropped_steps + other.dropped_steps,
        dropped_batches=one.dropped_batches + other.dropped_batches,
    )
