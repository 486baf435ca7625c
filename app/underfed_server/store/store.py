"""What the service stores, in one object: writes go through one thread, each read sees one snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from underfed_server.counters import Counters
from underfed_server.errors import StartError, TryLaterError
from underfed_server.ingest.decode import decode_steps
from underfed_server.ingest.posted import Outcome, PostedWindow
from underfed_server.measurements import BatchRows, Rows, StepRows
from underfed_server.model import Diagnosis
from underfed_server.names import Projects
from underfed_server.store.alerts import channels as alert_channels
from underfed_server.store.alerts import outbox, rules, states
from underfed_server.store.columns.lanes import batches_lane, steps_lane
from underfed_server.store.databases import locks, tables
from underfed_server.store.databases.database import open_database
from underfed_server.store.databases.schema import upgrade
from underfed_server.store.databases.sqlite import require_size, require_sound
from underfed_server.store.databases.trouble import trouble_of
from underfed_server.store.reading import details
from underfed_server.store.reading.current_usage import CurrentUsage, RankOfRun, RankWindows
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.reading.tracks import MOST_CHUNK_BYTES, MOST_ROLLUP_BYTES, Chunks, Reader, Rollups
from underfed_server.store.reading.worker_lives import WorkerRecord, newest_loader, read_workers
from underfed_server.store.runs import ageing, diagnoses, jobs, listing, removal, summaries
from underfed_server.store.runs.audit_log import UNKNOWN, Author, read_audit, trim_audit
from underfed_server.store.runs.config_values import read_config_keys
from underfed_server.store.runs.counted import read_counted
from underfed_server.store.runs.lines import Lines, write_page
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.runs.status import running_runs
from underfed_server.store.team.gauges import RunGauges, StoreGauges, read_running, read_store
from underfed_server.store.team.observed_gains import read_observed
from underfed_server.store.team.retention_policy import read_retention, save_policy
from underfed_server.store.team.team_runs import (
    read_history,
    read_projects,
    read_proven,
    read_team_run,
    read_team_runs,
    read_users,
)
from underfed_server.store.team.views import change_view, delete_view, make_view, read_views
from underfed_server.store.team.week import read_week
from underfed_server.store.writing.compact import Compaction, prepare
from underfed_server.store.writing.counted_window import CountedWindow
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import MOST_JUDGED_BYTES, MOST_KEPT_BYTES, Tails
from underfed_server.store.writing.windows import Appender, stream_of
from underfed_server.store.writing.writer import Prepare, Stored, Writer

P = ParamSpec("P")
T = TypeVar("T")


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def _reads(read: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Store, P], T]:
    """A method of the store: ``read`` on one snapshot of the database."""

    @wraps(read)
    def method(store: Store, /, *arguments: P.args, **named: P.kwargs) -> T:
        with store.connected() as connection:
            return read(connection, *arguments, **named)

    return method


def _reads_now(read: Callable[Concatenate[Connection, datetime, P], T]) -> Callable[Concatenate[Store, P], T]:
    """Likewise, with the present time as an argument."""

    @wraps(read)
    def method(store: Store, /, *arguments: P.args, **named: P.kwargs) -> T:
        with store.connected() as connection:
            return read(connection, store.now(), *arguments, **named)

    return method


def _writes(write: Callable[Concatenate[Connection, datetime, P], T]) -> Callable[Concatenate[Store, P], T]:
    """A method of the store: ``write`` in a transaction, with the present time; on return it is on disk."""

    @wraps(write)
    def method(store: Store, /, *arguments: P.args, **named: P.kwargs) -> T:
        return store.write(lambda connection: write(connection, store.now(), *arguments, **named))

    return method


class _OfThread(threading.local):
    reader: Reader | None = None
    """Of its snapshot; ``None``: each of its reads is of the newest state."""


class Store:
    """One database, open. Every method may be called from any thread, none from the writer's.

    Methods that take a ``run_id`` raise :class:`NotFoundError` when there is no such run; those that write raise
    :class:`TryLaterError` when the database cannot be written or the store is closing.
    """

    def __init__(
        self,
        url: str,
        now: Callable[[], datetime] = utc_now,
        counters: Counters | None = None,
        keep_deleted: timedelta = removal.KEEP_DELETED,
        *,
        only_reads: bool = False,
        prepare: Prepare | None = None,
    ) -> None:
        """Create or upgrade the database; a file is locked for this process alone.

        ``url`` is SQLAlchemy's. ``keep_deleted``: so long a deleted run can be restored. ``only_reads``: another
        process has it open to write, which stays so for as long as this one reads; whatever writes raises.
        ``prepare``: computes the chunks of a stream in another process; see :meth:`prepare_compaction`.

        Raises:
            SettingsError: ``url`` names no database that can be used.
            StartError: another service uses it, it is of a newer version, or it cannot be reached or written.
        """
        self.now = now
        self.keep_deleted = keep_deleted
        self.database = open_database(url, only_reads=only_reads)
        is_shared = self.database.is_shared
        self._own = _OfThread()
        self._listeners: list[Stored] = []
        self._answerers: list[Callable[[], None]] = []
        self._tails = Tails(MOST_JUDGED_BYTES if only_reads else MOST_KEPT_BYTES)
        self._tails_of_steps = Tails(decode=decode_steps)
        self._chunks = Chunks(MOST_CHUNK_BYTES)
        self._rollups = Rollups(MOST_ROLLUP_BYTES)
        self._lines = Lines()
        self._newest = CurrentUsage(receives_all=not is_shared)
        self._appender = Appender(now, is_shared=is_shared)
        self._writer = Writer(
            self.database.writing, self._appender, self._notify, self._answer, counters or Counters(),
            is_shared=is_shared, file=self.database.path, prepare=prepare,
        )  # fmt: skip
        if only_reads:
            self._writer.close()
            return
        try:
            if self.database.path is not None:
                require_size(self.database.writing, self.database.path)
            upgrade(self.database.writing)
            if self.database.path is not None:
                require_sound(self.database.writing, self.database.path)
            self._writer.start()
        except DBAPIError as error:
            self.close()
            raise StartError(f"{self.database.name} cannot be used: {self._why_not(error)}") from error
        except BaseException:
            self.close()
            raise

    def _why_not(self, error: DBAPIError) -> str:
        # A server's own message names the wrong user, password or address.
        trouble = None if self.is_shared else trouble_of(error)
        return trouble or str(error.orig)

    def close(self) -> None:
        """Write what was submitted, then close the database."""
        self._writer.close()
        self.database.close()

    @property
    def is_shared(self) -> bool:
        """Other service processes use the same database."""
        return self.database.is_shared

    def listen(self, listener: Stored) -> None:
        """``listener`` is called on the writer's thread with new windows, and with those of their runs that have
        ended. It must not block."""
        self._listeners.append(listener)

    def listen_for_answers(self, listener: Callable[[], None]) -> None:
        """``listener`` is called on the writer's thread when futures of :meth:`submit` are done, once for all of a
        group. It must not block.
        """
        self._answerers.append(listener)

    def submit(self, posted: PostedWindow) -> Future[Outcome]:
        """Store a window; the future is done when it is on disk."""
        return self._writer.submit(posted)

    @contextmanager
    def reading(self, *, steps_alone: bool = False) -> Iterator[Reader]:
        """One snapshot of the database for several reads. ``steps_alone``: of other lanes nothing that is hot is there,
        for who looks at every run and would decode all of every window.
        """
        if self._own.reader is not None and not steps_alone:
            yield self._own.reader
            return
        with self.connected() as connection:
            tails = self._tails_of_steps if steps_alone else self._tails
            yield Reader(connection, tails, self._chunks, self._rollups)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that this thread reads within it is of one state of the database, and what was read of a run is there for
        who reads it again. Not within another one, nor around a ``yield``.
        """
        with self.database.reading.begin() as connection:
            self._own.reader = Reader(connection, self._tails, self._chunks, self._rollups, stays=True)
            try:
                yield
            finally:
                self._own.reader = None

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """One state of the database: that of :meth:`snapshot` where the thread is in one."""
        if self._own.reader is not None:
            yield self._own.reader.connection
            return
        with self.database.reading.begin() as connection:
            yield connection

    def prepare_compaction(self, key: StreamKey) -> Compaction | None:
        """The chunks of the stream's newest windows, for the process that writes. ``None``: it has none to compact."""
        with self.database.reading.begin() as connection:
            return prepare(connection, key)

    def check(self) -> None:
        """Raises:
        TryLaterError: the database cannot be read or cannot be written.
        """
        try:
            with self.database.reading.begin() as connection:
                connection.execute(select(func.count()).select_from(tables.token))
        except DBAPIError as error:
            raise TryLaterError(f"the database cannot be read: {trouble_of(error) or error.orig}") from error
        self._writer.check()

    @property
    def waiting(self) -> tuple[int, int]:
        """Writes that wait, and the bytes that the windows among them take in memory, at most."""
        return self._writer.waiting

    @property
    def aside(self) -> int:
        """Streams that could not be compacted."""
        return self._writer.aside

    def gauges(self, most_runs: int, projects: Projects = None) -> tuple[list[RunGauges], StoreGauges]:
        """The newest running runs and how much there is of everything, for monitoring; of these projects."""
        now = self.now()
        with self.database.reading.begin() as connection:
            running = read_running(connection, most_runs, projects, now)
            return running, read_store(connection, self.database.path, projects, now)

    # --- runs -------------------------------------------------------------------------------------

    def runs(self, asked: RunFilter) -> bytes:
        """A page of the list, with the counts and the week above it: the JSON of a :class:`RunsPage`.

        Raises:
            InvalidError: no such sort or cursor, or an expression that cannot be understood.
        """
        now = self.now()
        with self.database.reading.begin() as connection:
            page = listing.read_page(connection, asked, now, self._lines)
            week = read_week(connection, now, listing.of_past(asked, now), listing.of_removed(asked))
            return write_page(page.lines, page.cursor, page.counts, week, page.config)

    def jobs(self, asked: RunFilter) -> bytes:
        """A page of the list grouped by job: the JSON of a :class:`JobsPage`. Raises: as :meth:`runs`."""
        with self.database.reading.begin() as connection:
            return jobs.read_jobs(connection, asked, self.now(), self._lines)

    projects = _reads(read_projects)
    users = _reads(read_users)
    run = _reads_now(details.read_run)
    project_of = _reads(removal.project_of)
    summary = _reads_now(summaries.read_summary)
    state = _reads_now(summaries.read_state)
    changed_since = _reads_now(listing.changed_since)
    earlier_runs = _reads_now(listing.earlier_runs)
    job_runs = _reads(listing.job_runs)
    config_keys = _reads(read_config_keys)
    replays = _reads(listing.replays)
    changes = _reads(listing.read_changes)
    edit_run = _writes(listing.edit_run)
    delete_run = _writes(removal.delete_run)
    audit = _reads(read_audit)
    views = _reads(read_views)
    make_view = _writes(make_view)
    change_view = _writes(change_view)
    delete_view = _writes(delete_view)
    trim_audit = _writes(trim_audit)

    # --- alerts -------------------------------------------------------------------------------------

    channels = _reads(alert_channels.read_channels)
    make_channel = _writes(alert_channels.make_channel)
    delete_channel = _writes(alert_channels.delete_channel)
    alert_rules = _reads(rules.read_rules)
    rules_in_force = _reads(rules.rules_in_force)
    make_alert_rule = _writes(rules.make_rule)
    delete_alert_rule = _writes(rules.delete_rule)
    alert_states = _reads(states.read_states)
    waiting_states = _reads(states.waiting_states)
    save_alert_states = _writes(states.save_states)
    host_signs = _reads(states.read_host_signs)
    hosts_seen_in_others = _reads_now(states.hosts_seen_in_others)
    post_test = _writes(outbox.post_test)
    has_due_alert = _reads_now(outbox.is_due)
    claim_alert = _writes(outbox.claim)
    note_sent = _writes(outbox.note_sent)
    note_failed = _writes(outbox.note_failed)
    alert = _reads(outbox.read_alert)
    alerts = _reads(outbox.read_alerts)
    trim_alerts = _writes(outbox.trim_alerts)

    def restore_run(self, run_id: str, by: Author = UNKNOWN) -> None:
        """Show a deleted run again; for another one it does nothing."""
        self.write(lambda connection: removal.restore_run(connection, self.now(), run_id, self.keep_deleted, by))

    def forgettable(self) -> str | None:
        """A deleted run that can no longer be restored. One that still sends is left until it has ended."""
        with self.database.reading.begin() as connection:
            return removal.forgettable(connection, self.now(), self.keep_deleted)

    def forget_some(self, run_id: str) -> None:
        """Remove part of a run from :meth:`forgettable`."""

        def forget(connection: Connection) -> None:
            if removal.forget_some(connection, self.now(), run_id, self.keep_deleted):
                self._writer.forget(run_id)

        self.write(forget)

    # --- what was recorded ------------------------------------------------------------------------

    shown_loader = _reads(summaries.shown_loader)
    worker_loader = _reads(newest_loader)
    retention_policy = _reads(read_retention)

    set_retention_policy = _writes(save_policy)
    due_by_age = _reads_now(ageing.read_due)
    age_runs = _writes(ageing.age_runs)
    step_totals = _reads(summaries.step_totals)

    def steps(self, run_id: str, rank: int, loader: str, last: int | None = None) -> StepRows:
        """All steps of a rank with a loader, or the newest ``last``."""
        return self._rows(StepRows, run_id, rank, steps_lane(loader), last)

    def batches(self, run_id: str, rank: int, loader: str, last: int | None = None) -> BatchRows:
        """In the order in which the training process received them."""
        return self._rows(BatchRows, run_id, rank, batches_lane(loader), last)

    def rows_deleted_at(self, run_id: str) -> datetime | None:
        """When retention last deleted single rows of the run; ``None``: all are kept."""
        with self.connected() as connection:
            newest = select(func.max(tables.track.c.dropped_at)).where(tables.track.c.run_id == run_id)
            return connection.execute(newest).scalar()

    def workers(self, run_id: str, rank: int, loader: str) -> list[WorkerRecord]:
        """By worker number: lives, and the samples of the newest."""
        with self.reading() as reader:
            summaries.run_row(reader.connection, run_id)
            return read_workers(reader, run_id, rank, loader)

    # --- diagnoses, and what they say of all runs ---------------------------------------------------

    diagnosis = _reads(diagnoses.read_diagnosis)
    unjudged = _reads_now(diagnoses.unjudged)
    team_runs = _reads(read_team_runs)
    counted = _reads(read_counted)
    team_history = _reads(read_history)
    team_run = _reads(read_team_run)
    proven = _reads(read_proven)
    observed = _reads(read_observed)

    def save_diagnosis(self, diagnosis: Diagnosis) -> bool:
        """Replace the run's last diagnosis; answers to its windows have that verdict from then on. ``False``: the new
        one equals it."""
        return self.save_found(diagnoses.to_save(diagnosis))

    def save_found(self, found: diagnoses.ToSave) -> bool:
        """Likewise, of what another process made of it."""

        def save(connection: Connection) -> bool:
            changed = diagnoses.save_diagnosis(connection, self.now(), found)
            self._writer.note_verdict(found.run_id, found.verdict)
            return changed

        return self.write(save)

    def note_judged(self, run_id: str, spark: Sequence[float | None], as_of: datetime | None = None) -> None:
        """Note that the run was judged, see :func:`diagnoses.note_judged`; answers to its windows say how long ago that
        was."""

        def note(connection: Connection) -> None:
            now = self.now()
            diagnoses.note_judged(connection, now, run_id, spark, as_of)
            self._writer.note_judged(run_id, as_of or now)

        self.write(note)

    def note_confirmed(self, run_ids: Sequence[str], as_of: datetime) -> None:
        """Note that the verdicts on these runs hold for all that came until ``as_of``, likewise."""

        def note(connection: Connection) -> None:
            diagnoses.note_confirmed(connection, self.now(), run_ids, as_of)
            for run_id in run_ids:
                self._writer.note_judged(run_id, as_of)

        self.write(note)

    def claim(self, run_id: str, judge: str) -> bool:
        """Whether the process called ``judge`` is to judge the run now, and no other one."""
        if not self.is_shared:
            return True
        return self.write(lambda connection: locks.claim_run(connection, self.now(), run_id, judge))

    def release(self, judge: str) -> None:
        """Release the leases of the process ``judge``: it judges no more."""
        if self.is_shared:
            self.write(lambda connection: locks.release_runs(connection, judge))

    def newest(self, connection: Connection, run_ids: Sequence[str]) -> dict[RankOfRun, RankWindows]:
        """The newest windows of each rank of these running runs, which show what it uses now, to about two seconds, as
        ``connection`` sees it."""
        return self._newest.read(connection, run_ids, self.now())

    def read_ahead(self) -> None:
        """Read what running runs use now before somebody asks: of a thousand ranks that takes a tenth of a second. No
        use where windows come to other processes, too."""
        # Of what cannot be read, who asks is told.
        with suppress(Exception), self.connected() as connection:
            self.newest(connection, running_runs(connection, self.now()))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a transaction that writes, and return what it returned; on return it is on disk."""
        return self._writer.call(work)

    def _rows(self, kind: type[Rows], run_id: str, rank: int, lane: str, last: int | None) -> Rows:
        with self.reading() as reader:
            summaries.run_row(reader.connection, run_id)
            return read_rows(kind, reader, run_id, rank, lane, last)

    def _notify(self, stored: Sequence[CountedWindow], ended: set[str]) -> None:
        states = self._appender.states
        newest = (each for each in stored if states[each.window.run_id].is_newest(stream_of(each.window)))
        self._newest.note(newest, self.now())
        for listener in self._listeners:
            listener(stored, ended)

    def _answer(self) -> None:
        for listener in self._answerers:
            listener()
