"""One rank's stream: from the rings and files in its directory to windows in the spool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from underfed import procfs, rundir
from underfed.clock import now_ns, to_us
from underfed.collector.frames import Label
from underfed.collector.news import HostPart, News
from underfed.collector.process import ProcessSampler
from underfed.collector.resume import Resume, from_json
from underfed.collector.rings import RankRings
from underfed.collector.samples import Columns, Row
from underfed.collector.spool import Spool
from underfed.collector.window import Content, RankContent
from underfed.collector.wire import GpuSamples, Losses, Window, encode
from underfed.facts import End, Origin, parse, read_facts
from underfed.guard import count_failures

HEARTBEAT_US = 5_000_000
"""A stream with nothing to tell but its samples tells them so often; docs/wire.md asks for it."""


class RankStream:
    """Goes on where ``spool.resume`` says that an earlier collector stopped.

    Raises:
        OSError, ValueError, KeyError: the directory's run.json cannot be read.
    """

    def __init__(self, directory: Path, spool: Spool) -> None:
        self.directory = directory
        self.origin = parse(Origin, read_facts(directory / rundir.RUN)["origin"])
        self.name = f"{self.origin.rank}-{self.origin.incarnation}"
        kept = spool.resume.get(self.name)
        self._resume = from_json(kept) if kept is not None else Resume()
        self._lost_before = self._resume.losses
        self._is_of_this_boot = self.origin.boot_id == procfs.boot_id()
        self._is_of_this_namespace = self.origin.pid_namespace == procfs.pid_namespace()
        self.end_mark = directory / rundir.END
        self._spool = spool
        self._rings = RankRings(directory, self._resume.positions)
        self._content = RankContent(self.origin.origin_ns, self._resume.loaders)
        is_running = self.is_running()
        self._news = News(directory, is_run_told=not is_running and self._resume.kept_index is not None)
        self._process = Columns()
        self._host = Columns()
        self._gpus: dict[int, Columns] = {}
        self._sampler = ProcessSampler.of(self.origin.pid) if is_running else None
        self._named: set[int] = set()
        self._failures = 0

    @property
    def has_ended(self) -> bool:
        """Its last window is in the spool."""
        return self._resume.has_ended

    @property
    def now_us(self) -> int:
        return to_us(now_ns(), self.origin.origin_ns)

    def is_running(self) -> bool:
        """The process, whether or not it still records. In another pid namespace that cannot be told: it does."""
        if not self._is_of_this_boot:
            return False
        return not self._is_of_this_namespace or procfs.is_running(self.origin.pid, self.origin.start_ticks)

    def seen_end(self) -> End | None:
        """How the recording ended, if it did: as the process said, else as it can be told from outside."""
        is_running = self.is_running()
        try:
            return parse(End, read_facts(self.end_mark)["end"])
        except FileNotFoundError:
            pass
        if is_running:
            return None
        status = procfs.exit_status(self.origin.pid, self.origin.start_ticks)
        return End("crashed", procfs.describe_exit(status), status)

    def mark(self) -> None:
        self._rings.mark()

    def drain(self) -> None:
        """``mark()`` was called, and the records had time to settle."""
        if not self._rings.loaders() <= self._named:
            self._read_news()
        self._content.feed(self._rings.drain())

    def sample(self, host: Row | None, gpus: list[tuple[int, Row]]) -> None:
        """Once a second. ``host`` and ``gpus`` are given to one rank of a host."""
        at_us = self.now_us
        row = self._sampler and self._sampler.sample(self._rings.worker_pids(), self._content.worker_cpu_us())
        if row:
            self._process.add(at_us, row)
        if host is not None:
            self._host.add(at_us, host)
        for index, gpu in gpus:
            self._gpus.setdefault(index, Columns()).add(at_us, gpu)

    def failed(self) -> None:
        """Something of the collector's own went wrong with this stream."""
        self._failures += 1

    def tell_again(self) -> None:
        self._news.tell_again()

    def close_window(self, host: HostPart, end: End | None = None) -> None:
        """Keep what is known since the last window, if it is worth one."""
        self._read_news()
        if end is not None:
            self._content.finish()
        run, loaders = self._news.take(host, self._content.with_shape)
        contents = self._content.take()
        end_us = max(self.now_us, self._resume.end_us)
        is_due = end_us - self._resume.end_us >= HEARTBEAT_US
        if not (is_due or run or loaders or end or any(not content.is_empty for content in contents)):
            return
        start_us = self._resume.end_us
        windows = [self._window(content, start_us, end_us) for content in contents]
        windows[0] = replace(
            windows[0],
            run=run,
            loaders=loaders,
            process=self._process.take(),
            host=self._host.take(),
            gpus=[GpuSamples(index, taken) for index, each in self._gpus.items() if (taken := each.take())],
        )
        windows[-1] = replace(windows[-1], end=end)
        for window in windows:
            self._keep(window)
        self._rings.remove_abandoned()

    def close(self) -> None:
        self._rings.close()

    def _read_news(self) -> None:
        names = self._news.read()
        for index, name in names.items():
            self._content.name(index, name)
        self._named = set(names)

    def _window(self, content: Content, start_us: int, end_us: int) -> Window:
        return Window(
            run_id=self.origin.run_id,
            rank=self.origin.rank,
            incarnation=self.origin.incarnation,
            window_index=0,
            previous_window_index=None,
            started_at=self.origin.started_at,
            start_us=start_us,
            end_us=end_us,
            steps=content.steps,
            batches=content.batches,
            epochs=content.epochs,
            overhead_us=content.overhead_us,
        )

    def _keep(self, window: Window) -> None:
        """Number it and put it into the spool. One that the disk does not take is a hole that the next one names."""
        index, previous = self._resume.next_index, self._resume.kept_index
        counted = _sum(self._lost_before, self._content.losses())
        resume = Resume(
            next_index=index + 1,
            kept_index=index,
            end_us=window.end_us,
            has_ended=window.end is not None,
            positions=self._rings.positions(),
            loaders=self._content.resume(),
            losses=_sum(counted, self._content.unfinished()),
        )
        losses = replace(
            counted,
            dropped_windows=self._spool.dropped[self.name],
            rejected_windows=self._spool.rejected[self.name],
            agent_errors=count_failures(self.directory / rundir.FAILURES) + self._rings.failures + self._failures,
        )
        window = replace(window, window_index=index, previous_window_index=previous, losses=losses)
        is_kept = self._spool.append(Label(self.name, index, previous, resume.as_json()), encode(window))
        self._resume = resume if is_kept else replace(resume, kept_index=previous)


def _sum(one: Losses, other: Losses) -> Losses:
    return Losses(
        dropped_steps=one.dropped_steps + other.dropped_steps,
        dropped_batches=one.dropped_batches + other.dropped_batches,
    )
