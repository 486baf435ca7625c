"""The hosts of a run receive each other's switches in the answers to their windows, and no other run's hosts do."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event, select

from tests.app.made_windows import made_window, posted_window
from underfed_server.errors import ForbiddenError
from underfed_server.ingest.posted import Ack, Outcome
from underfed_server.store.databases import tables
from underfed_server.store.store import Store

LEAD, OTHER, THIRD = 0, 2, 4
"""Ranks that speak for their hosts, of two ranks each."""

CREW = LEAD + 7 + OTHER + 7 + THIRD + 7


class Hosts:
    """Three hosts that post one window after another."""

    def __init__(self, store: Store, *, project: str | None = None) -> None:
        self.store = store
        self.project = project
        self.posted: dict[tuple[int, int], int] = {}

    def outcome(self, rank: int, switch: dict[str, Any] | None, *, again: int = 0, **changes: Any) -> Outcome:
        """``again``: how often its process was started again."""
        stream = rank, rank + 7 + again
        index = self.posted[stream] = self.posted.get(stream, -1) + 1
        window = made_window(index, rank=rank, incarnation=stream[1], **changes)
        if switch is not None:
            window["switch"] = {"ranks": 2, **switch}
        posted = replace(posted_window(window), project=self.project)
        return self.store.submit(posted).result(timeout=30)

    def report(self, rank: int, again: int = 0, **switch: Any) -> dict[str, Any]:
        outcome = self.outcome(rank, switch, again=again)
        assert isinstance(outcome, Ack)
        assert outcome.switch is not None
        return dict(outcome.switch)

    def kept(self) -> list[int]:
        with self.store.reading() as reader:
            ranks = select(tables.host_switch.c.rank).order_by(tables.host_switch.c.rank)
            return list(reader.connection.execute(ranks).scalars())


def plan(number: int = 9, crew: int = CREW, **changes: Any) -> dict[str, Any]:
    settings = {"num_workers": 3, "prefetch_factor": 2}
    keep = {"num_workers": 0, "prefetch_factor": None}
    return {"number": number, "step": 120, "crew": crew, "settings": settings, "keep": keep, **changes}


@pytest.fixture
def hosts(store: Store) -> Hosts:
    """All three have reported their ranks."""
    hosts = Hosts(store)
    for rank in (LEAD, OTHER, THIRD):
        hosts.report(rank)
    return hosts


def test_the_leading_host_learns_when_all_ranks_are_there(store: Store) -> None:
    hosts = Hosts(store)
    assert hosts.report(OTHER) == {"ranks": 2, "crew": 9}, "the leading host has not reported"
    assert hosts.report(LEAD) == {"ranks": 4, "crew": 16}
    assert hosts.report(THIRD)["ranks"] == 6
    assert hosts.report(LEAD) == {"ranks": 6, "crew": CREW}


def test_a_plan_is_sent_to_the_other_hosts_until_they_have_seen_it(hosts: Hosts) -> None:
    hosts.report(LEAD, is_searching=True, plan=plan())
    answer = hosts.report(OTHER)
    assert (answer["plan"], answer["is_searching"], answer["lead_window_index"]) == (plan(), True, 1)
    assert hosts.report(OTHER)["plan"] == plan(), "an answer that was lost is given again"
    assert "plan" not in hosts.report(OTHER, seen=9, seen_step=101)
    hosts.report(LEAD, is_searching=True, plan=plan(10))
    assert hosts.report(OTHER, seen=9, seen_step=101)["plan"] == plan(10)


def test_the_leading_host_learns_who_has_done_what_it_planned(hosts: Hosts) -> None:
    answer = hosts.report(LEAD, plan=plan())
    nobody = {"number": 9, "done_ranks": 0, "first_seen_step": None, "last_seen_step": None, "reason": None}
    assert {name: answer[name] for name in nobody} == nobody
    hosts.report(OTHER, seen=9, seen_step=101, done=9)
    hosts.report(THIRD, seen=9, seen_step=104, done=8, reason="no room")
    answer = hosts.report(LEAD, plan=plan())
    some = {"number": 9, "done_ranks": 2, "first_seen_step": 101, "last_seen_step": 104, "reason": "no room"}
    assert {name: answer[name] for name in some} == some
    assert hosts.report(LEAD, plan=plan(10))["done_ranks"] == 0, "another plan"


def test_a_process_that_was_started_again_is_not_sent_an_earlier_plan(hosts: Hosts) -> None:
    """It counts its steps anew."""
    hosts.report(LEAD, plan=plan())
    assert "plan" not in hosts.report(OTHER, again=1)
    assert "plan" not in hosts.report(THIRD)
    hosts.report(LEAD, plan=plan(10, crew=CREW + 1))
    assert hosts.report(OTHER, again=1)["plan"]["number"] == 10


def test_a_process_that_has_ended_is_no_longer_one_of_the_run(hosts: Hosts) -> None:
    assert hosts.kept() == [LEAD, OTHER, THIRD]
    hosts.outcome(OTHER, {}, end={"status": "crashed"})
    assert hosts.report(LEAD)["ranks"] == 4
    hosts.report(OTHER, again=1)
    assert hosts.report(LEAD)["ranks"] == 6
    for rank in (LEAD, THIRD):
        hosts.outcome(rank, {}, end={"status": "finished"})
    assert hosts.kept() == [OTHER]


def test_a_window_that_is_repeated_is_answered_and_changes_nothing(hosts: Hosts) -> None:
    hosts.report(LEAD, plan=plan(10))
    hosts.posted[LEAD, LEAD + 7] -= 1
    assert hosts.report(LEAD, plan=plan(9))["number"] == 10


def test_a_token_of_one_project_plans_nothing_in_a_run_of_another(hosts: Hosts) -> None:
    stranger = Hosts(hosts.store, project="others")
    stranger.posted = dict(hosts.posted)
    assert isinstance(stranger.outcome(LEAD, {"plan": plan()}), ForbiddenError)
    assert "plan" not in hosts.report(OTHER)


def test_a_run_on_one_host_is_asked_for_nothing_and_sent_nothing(store: Store) -> None:
    hosts, asked = Hosts(store), []
    engine = store._writer._engine
    event.listen(engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    outcome = hosts.outcome(LEAD, None)
    assert isinstance(outcome, Ack)
    assert outcome.switch is None
    assert asked
    assert not [statement for statement in asked if "host_switch" in statement]
