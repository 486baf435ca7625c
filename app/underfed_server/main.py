"""Puts the service together: store, access, what runs in the background, ingest, API and page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Protocol

from underfed_server.alerts.alerting import Alerting
from underfed_server.api.admission import owner_token
from underfed_server.api.admission.access import open_access
from underfed_server.api.admission.gate import Gate, key_of_caller
from underfed_server.api.admission.headers import with_headers
from underfed_server.api.admission.proxy import Proxy
from underfed_server.api.admission.rate_limits import RateLimits
from underfed_server.api.admission.turns import Turns
from underfed_server.api.application import build
from underfed_server.api.dependencies import Parts
from underfed_server.api.event_streams import Events
from underfed_server.api.follower import Follower
from underfed_server.api.scheduler import Judge, JudgementScheduler
from underfed_server.api.served_hotspots import ServedHotspots
from underfed_server.api.service import HEALTH
from underfed_server.api.traffic import Traffic
from underfed_server.api.window_posts import WindowPosts
from underfed_server.budget import Budget
from underfed_server.counters import Counters
from underfed_server.diagnose import LoaderDiagnoses
from underfed_server.errors import ConflictError, RequestError, StartError
from underfed_server.export.formats import Export, export_here
from underfed_server.ingest.answers import Answers
from underfed_server.ingest.asgi import PERMISSION, Receive, Scope, Send, bodies, refuse
from underfed_server.ingest.endpoint import PATH, Ingest
from underfed_server.settings import AlertSettings, Settings
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.removing import remove_deleted_runs, trim_alert_log, trim_audit_log
from underfed_server.store.upkeep.retention import Retention
from underfed_server.store.upkeep.scheduled_backups import ScheduledBackups
from underfed_server.store.writing.writer import Prepare
from underfed_server.team.pages import Pages, write_here


class Background(Protocol):
    """What runs on a thread of its own beside the requests."""

    def start(self) -> None: ...

    def close(self) -> None: ...


class Application:
    """The ASGI application. Open it with :func:`create_app`; it closes itself at the end of its lifespan."""

    def __init__(
        self, parts: Parts, gate: Gate, budget: Budget, background: Sequence[Background], *, new_token: str | None
    ) -> None:
        """``background`` runs until :meth:`close`."""
        self.parts = parts
        self._background = background
        self.new_token = new_token
        """A token that was made just now, to be shown once."""
        self._gate = gate
        answers = Answers()
        parts.store.listen_for_answers(answers.wake)
        self._ingest = Ingest(parts.store.submit, answers, budget)
        self._api = build(parts)
        self._turns = Turns()
        self._traffic = Traffic(self._serve, parts.counters)
        self.posts = WindowPosts(gate, self._ingest, answers, self._traffic, budget)
        """For the server: posts of windows that come as agents send them need not come through here."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._traffic(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_ingest = scope["path"] == PATH
        # Agents need none of a browser's headers, and every call costs.
        answer = send if is_ingest else with_headers(scope, send)
        try:
            receive = await self._gate.admit(scope, receive, is_ingest=is_ingest)
        except RequestError as error:
            await refuse(answer, error)
        except ConnectionResetError:
            return
        else:
            if is_ingest:
                await self._ingest(scope, receive, answer)
            elif scope["path"] == HEALTH:
                await self._api(scope, receive, answer)
            else:
                await self._in_turn(scope, receive, answer)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = await self._turns.next(key_of_caller(scope, scope[PERMISSION]))
        try:
            await self._api(scope, receive, turn.until_answered(send))
        finally:
            turn.end()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.close()
        await send({"type": "lifespan.shutdown.complete"})

    def close(self) -> None:
        """End the streams, then write what waits."""
        self.parts.events.close()
        # All at once: each waits for what it is in the middle of.
        with ThreadPoolExecutor(max(1, len(self._background))) as closing:
            list(closing.map(lambda each: each.close(), self._background))
        self.parts.store.close()


def _keys(settings: AlertSettings) -> Sequence[str]:
    """What addresses and secrets of channels are encrypted with: the first one. Made at its first use, if need be.

    Raises:
        ConflictError: there is none.
    """
    path = settings.key_path
    if settings.keys:
        own = None if path is None else owner_token.read(path)
        return settings.keys if own is None else (*settings.keys, own)
    if path is None:
        raise ConflictError(
            "addresses of channels are encrypted, and there is no key: the operator of the service sets "
            "UNDERFED_SECRET_KEY, the same for every process"
        )
    try:
        return (owner_token.read_or_make(path, "key"),)
    except StartError as error:
        raise ConflictError(str(error)) from error


def create_app(
    settings: Settings,
    judge: Judge | None = None,
    clock: Callable[[], float] = time.monotonic,
    judged_at_once: int = 1,
    prepare: Prepare | None = None,
    beside: Sequence[Background] = (),
    pages: Pages = write_here,
    export: Export = export_here,
) -> Application:
    """Open the database and everything around it.

    ``judge`` is called at most once a second a run, for runs whose windows arrived; ``judged_at_once`` runs are judged
    and what was found of them saved at a time. ``clock``: in seconds, by which requests are limited. ``prepare``
    computes the chunks of a stream in another process; ``None``: this one does. ``pages`` has pages of all runs
    written, ``export`` a run into a file. ``beside`` runs until the application closes, and ends before the database is
    closed.

    Raises:
        SettingsError: ``settings.database_url`` names no file of ours.
        StartError: the database cannot be used.
    """
    counters = Counters()
    keep_deleted = timedelta(microseconds=settings.keep_deleted_us)
    store = Store(settings.database_url, counters=counters, keep_deleted=keep_deleted, prepare=prepare)
    try:
        if not store.is_shared:
            store.read_ahead()
        access, new_token = open_access(store, settings)
        events = Events(store.changed_since)
        alerting = Alerting(store, settings.alerts, partial(_keys, settings.alerts), counters)
        scheduler = JudgementScheduler(store, events, judge, alerting.watcher, counters, judged_at_once)
        limits = RateLimits(settings.requests_per_s, settings.bytes_per_s, clock)
        parts = Parts(
            store,
            access,
            limits,
            events,
            scheduler,
            LoaderDiagnoses(),
            ServedHotspots(),
            alerting,
            counters,
            store.now(),
            RetentionPolicy(
                settings.retain_us,
                settings.max_bytes,
                archive_after_us=settings.archive_after_us,
                delete_after_us=settings.delete_after_us,
            ),
            pages,
            export,
        )
        background: list[Background] = [
            scheduler,
            *beside,
            remove_deleted_runs(store),
            trim_audit_log(store, timedelta(microseconds=settings.keep_audit_us)),
            trim_alert_log(store, timedelta(microseconds=settings.alerts.keep_us)),
            Retention(store, parts.default_policy, scheduler.publish),
            alerting.sender,
            access,
        ]
        if store.is_shared:
            background.insert(0, Follower(store, events, scheduler.touch))
        if settings.backups is not None and store.database.path is not None:
            background.append(ScheduledBackups(store.database.path, settings.backups, counters))
        budget = bodies()
        gate = Gate(access, limits, Proxy(settings), budget)
        application = Application(parts, gate, budget, background, new_token=new_token)
    except BaseException:
        store.close()
        raise
    access.listen(events.wake)
    for each in background:
        each.start()
    return application
