"""How the hosts of a run switch settings at the same step: what each sends, and what the others sent, in the answer to
its window.

The host of rank 0 leads. It plans a switch once all ranks have sent something, and is sent how many have done it; the
others are sent the plan. In the database, since a run's hosts may talk to different processes of the service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, delete, select

from underfed_server.ingest.posted import Ack, Outcome, PostedWindow
from underfed_server.ingest.wire import Switch, Window
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put

LEADS = 0
"""Rank of the process that plans."""

_kept = tables.host_switch.c


class SentSwitch(msgspec.Struct, frozen=True, gc=False):
    """What the first rank of a host sent last."""

    rank: int
    incarnation: int
    window_index: int
    switch: Switch


def with_switches(
    connection: Connection, posted_windows: Sequence[PostedWindow], outcomes: Sequence[Outcome]
) -> Sequence[Outcome]:
    """Most windows are of runs that do not tune themselves, or on one host."""
    if all(posted.window.switch is None for posted in posted_windows):
        return outcomes
    taken = [
        (posted.window, outcome)
        for posted, outcome in zip(posted_windows, outcomes, strict=True)
        if posted.window.switch is not None and isinstance(outcome, Ack)
    ]
    _keep(connection, [window for window, outcome in taken if outcome.is_new])
    sent = _read(connection, {window.run_id for window, _ in taken})
    return [
        replace(outcome, switch=answer_to(posted.window, sent[posted.window.run_id]))
        if posted.window.switch is not None and isinstance(outcome, Ack)
        else outcome
        for posted, outcome in zip(posted_windows, outcomes, strict=True)
    ]


def _keep(connection: Connection, windows: Sequence[Window]) -> None:
    """The newest of each rank. A process that has ended is no longer one of the run's."""
    newest: dict[tuple[str, int], Window] = {}
    for window in windows:
        place = window.run_id, window.rank
        if place not in newest or newest[place].incarnation <= window.incarnation:
            newest[place] = window
    put(connection, tables.host_switch, *(_row(window) for window in newest.values() if window.end is None))
    for window in newest.values():
        if window.end is not None:
            own = (_kept.run_id == window.run_id, _kept.rank == window.rank, _kept.incarnation <= window.incarnation)
            connection.execute(delete(tables.host_switch).where(*own))


def _row(window: Window) -> dict[str, Any]:
    return {
        "run_id": window.run_id,
        "rank": window.rank,
        "incarnation": window.incarnation,
        "window_index": window.window_index,
        "body": msgspec.to_builtins(window.switch),
    }


def _read(connection: Connection, run_ids: set[str]) -> Mapping[str, list[SentSwitch]]:
    """By run, in the order of ranks."""
    found: dict[str, list[SentSwitch]] = defaultdict(list)
    columns = _kept.run_id, _kept.rank, _kept.incarnation, _kept.window_index, _kept.body
    rows = select(*columns).where(_kept.run_id.in_(run_ids)).order_by(_kept.run_id, _kept.rank)
    for row in connection.execute(rows):
        switch = msgspec.convert(row.body, Switch)
        found[row.run_id].append(SentSwitch(row.rank, row.incarnation, row.window_index, switch))
    return found


def answer_to(window: Window, rows: Sequence[SentSwitch]) -> dict[str, Any]:
    """``rows``: of its run, its own among them."""
    ranks, crew = sum(row.switch.ranks for row in rows), sum(row.incarnation for row in rows)
    lead = next((row for row in rows if row.rank == LEADS), None)
    answer: dict[str, Any] = {"ranks": ranks, "crew": crew}
    if window.rank == LEADS:
        return answer | _done(lead, [row.switch for row in rows if row.rank != LEADS])
    if lead is None:
        return answer
    answer |= {"lead_window_index": lead.window_index, "is_searching": lead.switch.is_searching}
    plan = lead.switch.plan
    # Another crew than it was made for: a process was started again since, and counts its steps anew.
    if plan is not None and plan.crew == crew and window.switch is not None and window.switch.seen != plan.number:
        answer["plan"] = msgspec.to_builtins(plan)
    return answer


def _done(lead: SentSwitch | None, others: Sequence[Switch]) -> dict[str, Any]:
    """How far the other hosts are with the newest plan."""
    plan = None if lead is None else lead.switch.plan
    if plan is None:
        return {}
    seen = [other for other in others if other.seen == plan.number]
    steps = [other.seen_step for other in seen if other.seen_step is not None]
    return {
        "number": plan.number,
        "done_ranks": sum(other.ranks for other in others if other.done == plan.number),
        "first_seen_step": min(steps, default=None),
        "last_seen_step": max(steps, default=None),
        "reason": next((other.reason for other in seen if other.reason is not None), None),
    }
