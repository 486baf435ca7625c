"""Alerts over a store whose clock tests move: nothing is sent but by ``sent``, on the test's own thread."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import pytest

from tests.app.alerts.receivers import Receiver, receiving
from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.alerts.alerting import Alerting
from underfed_server.alerts.conditions import CONDITIONS
from underfed_server.counters import Counters
from underfed_server.model import Alert, AlertRule, ChannelMade, Condition
from underfed_server.settings import AlertSettings, MailServer
from underfed_server.store.alerts.rules import NewRule
from underfed_server.store.runs.audit_log import Author
from underfed_server.store.store import Store

KEY = "a-key-that-is-as-long-as-a-key-must-be"
HERE = AlertSettings(networks=(ipaddress.ip_network("127.0.0.1"),), keys=(KEY,), public_url="https://underfed.example")
ADA = Author("ada")


@dataclass
class Desk:
    """What an administrator, the judge and a sender do, one after the other."""

    store: Store
    clock: WallClock
    settings: AlertSettings = HERE
    elapsed_s: float = 0.0
    windows: dict[str, int] = field(default_factory=dict)
    began_at: datetime = field(init=False)
    """Of its runs."""
    alerting: Alerting = field(init=False)

    def __post_init__(self) -> None:
        self.began_at = self.clock.now
        self.restart()

    def restart(self) -> None:
        """As after a restart of the service: what is known is in the database."""
        self.alerting = Alerting(self.store, self.settings, lambda: self.settings.keys, Counters())
        self.alerting.watcher.clock = lambda: self.elapsed_s

    def with_mail(self, server: MailServer) -> None:
        self.settings = replace(self.settings, mail_server=server)
        self.restart()

    def advance(self, **by: float) -> None:
        before = self.clock.now
        self.clock.advance(**by)
        self.elapsed_s += (self.clock.now - before).total_seconds()

    def channel(self, url: str, kind: Any = "webhook", name: str = "ops", project: str | None = None) -> ChannelMade:
        return self.alerting.make_channel(name, kind, url, (), project, ADA)

    def mail_channel(self, *to: str) -> ChannelMade:
        return self.alerting.make_channel("mail", "email", None, to, None, ADA)

    def rule(self, channel_id: str, condition: Condition = "data_bound", **asked: Any) -> AlertRule:
        declared = CONDITIONS[condition]
        usual = {
            "threshold": declared.threshold, "for_us": 0, "cool_down_us": 3_600_000_000, "tells_recovery": True,
            "project": None, "user": None, "page_url": "http://127.0.0.1:7077",
        }  # fmt: skip
        new = NewRule(condition=condition, channel_id=channel_id, **(usual | asked))
        return self.alerting.make_rule(new, None, ADA)

    def judged(self, run_id: str = "run-1", *, run: dict[str, Any] | None = None, **figures: Any) -> None:
        """A window of the run came, and this was found of it."""
        index = self.windows.get(run_id, 0)
        self.windows[run_id] = index + 1
        described = {"run": RUN | (run or {})} if index == 0 else {}
        sent = made_window(index, run_id=run_id, started_at=self.began_at.isoformat(), **described)
        if figures.get("status", "running") != "running":
            sent["end"] = {"status": figures["status"]}
        post(self.store, [sent])
        self.store.save_diagnosis(made_diagnosis(run_id, **figures))
        self.alerting.watcher(run_id)

    def send(self) -> int:
        """Everything that is due. Returns how many attempts it took."""
        sender, attempts = self.alerting.sender, 0
        while (claimed := sender._claim()) is not None:
            sender._send(claimed)
            attempts += 1
        return attempts

    @property
    def log(self) -> list[Alert]:
        """The oldest first."""
        return self.store.alerts(None, 500, None).alerts[::-1]

    @property
    def titles(self) -> list[str]:
        return [each.message.title for each in self.log]


@pytest.fixture
def clock() -> WallClock:
    """Of today: a receiver refuses what was signed days ago."""
    return WallClock(datetime.now(timezone.utc))


@pytest.fixture
def store(database_url: str, clock: WallClock) -> Iterator[Store]:
    opened = Store(database_url, now=clock)
    yield opened
    opened.close()


@pytest.fixture
def desk(store: Store, clock: WallClock) -> Desk:
    return Desk(store, clock)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as opened:
        yield opened
