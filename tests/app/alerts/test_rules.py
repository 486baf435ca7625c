"""When a run is reported, and when not: once a cause, after it lasted, not again soon, and when it is over."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app.alerts.conftest import Desk
from tests.app.conftest import on_sqlite_alone
from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.posting import post
from underfed_server.alerts.conditions import Reading
from underfed_server.alerts.due import advance
from underfed_server.diagnosis.causes.memory_pressure import MEMORY_LEFT, USED_UP_IN
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.model import AlertRule, CauseFinding, Condition, Evidence, RankDiagnosis, Signal
from underfed_server.store.alerts.states import RuleState

NOWHERE = "http://127.0.0.1:9/"
MINUTE_US = 60_000_000
MINUTE = timedelta(minutes=1)
FED: dict[str, Any] = {"bound": "compute", "level": "healthy", "data_stall_fraction": 0.01, "causes": [], "advice": []}
UNKNOWN: dict[str, Any] = {
    "bound": "unknown", "level": "unknown", "data_stall_fraction": None, "hours_lost": None, "causes": [], "advice": [],
}  # fmt: skip


def memory(hours: float | None, reading: Any = "cause") -> dict[str, Any]:
    value = None if hours is None else hours * US_PER_HOUR
    found = CauseFinding(
        cause="memory_pressure", cost_fraction=0.0, sentence="In 3 hours memory is used up.",
        evidence=[Evidence(what=USED_UP_IN, value=value, unit="us")],
    )  # fmt: skip
    left = Evidence(what="of it", value=0.5, unit="fraction")
    row = Signal(signal=MEMORY_LEFT, measured=left, healthy="over 10%", reading=reading, says="")
    return {"causes": [found], "signals": [row]}


def ranks(*slow: int) -> dict[str, Any]:
    return {"ranks": [RankDiagnosis(rank=rank, data_stall_fraction=0.1, straggler=rank in slow) for rank in range(4)]}


HOLDS: list[tuple[Condition, dict[str, Any], str, dict[str, Any]]] = [
    ("data_bound", {}, "resnet waits for data 40% of its step time", FED),
    ("hours_lost", {"hours_lost": 9.5}, "resnet has lost 9.5 h to its input", {"hours_lost": 7.9}),
    ("memory", memory(3.0), "resnet runs out of memory in 3 h", memory(None)),
    ("memory", memory(3.0), "resnet runs out of memory in 3 h", {"causes": []}),
    ("straggler", ranks(2), "resnet rank 2 keeps the others waiting", ranks()),
    ("straggler", ranks(0, 3), "resnet ranks 0, 3 keep the others waiting", ranks()),
]


@on_sqlite_alone
@pytest.mark.parametrize(("condition", "holds", "title", "clear"), HOLDS)
def test_a_condition_that_holds_is_reported_once_and_what_does_not_or_was_not_measured_never(
    desk: Desk, condition: Condition, holds: dict[str, Any], title: str, clear: dict[str, Any]
) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, condition)
    for found in (UNKNOWN, clear, UNKNOWN, clear):
        desk.judged(**found)
        desk.advance(hours=3)
    assert desk.titles == []
    for _ in range(3):
        desk.judged(**holds)
        desk.advance(hours=3)
    assert desk.titles == [title]


@on_sqlite_alone
def test_memory_that_is_not_sampled_any_more_has_not_recovered(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "memory")
    desk.judged(**memory(3.0))
    for _ in range(3):
        desk.judged(**memory(None, "not_measured"))
        desk.advance(hours=1)
    assert len(desk.titles) == 1
    for _ in range(2):
        desk.judged(**memory(None))
        desk.advance(minutes=1)
    assert desk.titles[1:] == ["Recovered: resnet no longer runs out of memory"]


def test_a_condition_has_to_last_and_time_that_was_not_measured_does_not_count(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, for_us=10 * MINUTE_US)
    desk.judged()
    desk.advance(minutes=9)
    desk.judged(**UNKNOWN)
    desk.advance(minutes=9)
    desk.judged()
    desk.advance(minutes=9)
    desk.judged()
    desk.restart()
    assert desk.titles == []
    desk.advance(minutes=1)
    desk.judged()
    assert len(desk.titles) == 1


@on_sqlite_alone
def test_another_cause_is_reported_and_the_first_one_not_again(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id)
    for cause in ("no_workers", "storage_wait", "no_workers", "storage_wait"):
        desk.judged(causes=[made_cause(cause)])
        desk.advance(hours=2)
    assert [each.message.cause for each in desk.log] == ["no_workers", "storage_wait"]


def test_causes_that_take_turns_in_leading_send_one_message(desk: Desk) -> None:
    """As on a host that others keep busy: two causes cost about the same, and each judgement names another first."""
    desk.rule(desk.channel(NOWHERE).channel_id, for_us=10 * MINUTE_US)
    for minute in range(60):
        desk.judged(causes=[made_cause(("cpu_limited", "storage_wait", "ipc_copy")[minute % 3])])
        desk.advance(minutes=1)
        if minute % 7 == 0:
            desk.restart()
    assert len(desk.titles) == 1
    for _ in range(11):
        assert len(desk.titles) == 1, "another cause has to last, too"
        desk.judged(causes=[made_cause("no_workers")])
        desk.advance(minutes=1)
    assert [each.message.cause for each in desk.log][1:] == ["no_workers"]


HELD_MIN, COOL_MIN = 5, 20
CAUSES = ["a", "b", "c"]


@given(
    st.lists(st.tuples(st.sampled_from([*CAUSES, None, "unknown"]), st.integers(1, 8), st.integers(1, 3)), max_size=60)
)
def test_no_sequence_of_causes_sends_one_twice_or_one_that_has_not_lasted(
    spans: list[tuple[str | None, int, int]],
) -> None:
    """Each span: what leads (``None``: the condition does not hold), for how many judgements, minutes apart."""
    rule = made_rule(for_us=HELD_MIN * MINUTE_US, cool_down_us=COOL_MIN * MINUTE_US)
    state, now = RuleState(), datetime(2026, 11, 24, tzinfo=timezone.utc)
    reported_at: dict[str, datetime] = {}
    stretch: set[str] = set()
    leads_since = holds_since = now
    before: str | None = None
    for subject, apart in [(leads, apart) for leads, count, apart in spans for _ in range(count)]:
        now += timedelta(minutes=apart)
        holds = subject in CAUSES
        if subject != before:
            leads_since = now
        if holds and before not in CAUSES:
            holds_since = now
        before = subject
        reading = Reading(None if subject == "unknown" else holds, (subject or "",), "waits")
        was_quiet = not state.is_raised and all(now - at >= COOL_MIN * MINUTE for at in reported_at.values())
        step = advance(rule, state, reading, now, has_ended=False)
        state = step.state
        if step.kind == "recovered":
            stretch.clear()
        has_lasted = holds and now - (holds_since if was_quiet else leads_since) >= HELD_MIN * MINUTE
        is_reported = subject in stretch or (
            subject in reported_at and now - reported_at[subject or ""] < COOL_MIN * MINUTE
        )
        if step.kind == "raised":
            assert subject is not None
            assert has_lasted
            assert not is_reported
            reported_at[subject] = now
            stretch.add(subject)
        elif has_lasted and was_quiet:
            assert is_reported, "what lasted and was not reported is reported"


def made_rule(**columns: Any) -> AlertRule:
    usual: dict[str, Any] = {
        "rule_id": "r1", "project": None, "user": None, "condition": "data_bound", "threshold": 0.2,
        "tells_recovery": True, "channel_id": "c1", "made_by": "ada", "made_at": datetime.now(timezone.utc),
    }  # fmt: skip
    return AlertRule(**usual | columns)


def test_more_ranks_than_a_rule_remembers_are_reported_once() -> None:
    many = Reading(True, tuple(str(rank) for rank in range(1_000)), "keep the others waiting")
    state, now, kinds = RuleState(), datetime(2026, 11, 24, tzinfo=timezone.utc), []
    for _ in range(5):
        step = advance(made_rule(for_us=0, cool_down_us=MINUTE_US), state, many, now, has_ended=False)
        state, now = step.state, now + timedelta(hours=1)
        kinds.append(step.kind)
    assert kinds == ["raised", None, None, None, None]


@on_sqlite_alone
def test_what_recovers_and_comes_again_is_reported_again_only_after_the_cool_down(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id)

    def recover() -> None:
        desk.judged(**FED)
        desk.advance(minutes=1)
        desk.judged(**FED)

    desk.judged()
    desk.judged(**FED)
    desk.judged()
    assert len(desk.titles) == 1, "a moment of rest is no recovery"
    recover()
    assert desk.titles[1:] == ["Recovered: resnet waits for data 1.0% of its step time"]
    desk.judged()
    recover()
    assert len(desk.titles) == 2, "within the cool-down neither is reported"
    desk.judged()
    desk.advance(hours=1)
    desk.judged()
    recover()
    assert [each.message.kind for each in desk.log] == ["raised", "recovered", "raised", "recovered"]


@on_sqlite_alone
def test_a_run_that_ends_has_not_recovered_and_waits_for_nothing(desk: Desk) -> None:
    channel = desk.channel(NOWHERE).channel_id
    desk.rule(channel)
    desk.rule(channel, "straggler", for_us=10 * MINUTE_US)
    desk.judged(**ranks(1))
    desk.judged(**ranks(1), status="finished")
    for _ in range(3):
        desk.advance(minutes=30)
        desk.store.save_diagnosis(made_diagnosis(**FED | ranks(1), status="finished"))
        desk.alerting.watcher("run-1")
    assert [each.message.condition for each in desk.log] == ["data_bound"]


@pytest.mark.parametrize(("condition", "first", "then"), [("data_bound", {}, FED), ("verdict_changed", FED, {})])
def test_the_end_of_a_recording_that_arrives_again_reports_nothing_again(
    desk: Desk, condition: Condition, first: dict[str, Any], then: dict[str, Any]
) -> None:
    """As from a spool that is sent hours after the collector's own end: a run that is over did not fall back."""
    desk.rule(desk.channel(NOWHERE).channel_id, condition, for_us=0)
    for found in (first, then, then, first):
        desk.judged(**found)
        desk.advance(minutes=1)
    kinds = [each.message.kind for each in desk.log]
    desk.judged(status="finished")
    for found in (FED, {}, FED, {}):
        desk.advance(hours=2)
        desk.store.save_diagnosis(made_diagnosis(**found, status="finished"))
        desk.alerting.watcher("run-1")
    assert [each.message.kind for each in desk.log] == kinds


@on_sqlite_alone
def test_what_was_reported_of_an_ended_run_is_not_taken_back(desk: Desk) -> None:
    rule, now = desk.rule(desk.channel(NOWHERE).channel_id), desk.clock.now
    raised, rests = RuleState(is_raised=True, clear_at=now - timedelta(hours=1)), Reading(False)
    kinds = [advance(rule, raised, rests, now, has_ended=ended).kind for ended in (False, True)]
    assert kinds == ["recovered", None]


@on_sqlite_alone
def test_a_verdict_has_to_last_before_it_is_a_change_and_the_first_is_none(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "verdict_changed", for_us=5 * MINUTE_US)
    desk.judged(**UNKNOWN)
    for found in (FED, FED, {}, FED, UNKNOWN, {}):
        desk.judged(**found)
        desk.advance(minutes=4)
    assert desk.titles == []
    desk.advance(minutes=1)
    desk.judged()
    desk.judged()
    assert desk.titles == ["resnet was compute-bound, is data-bound now"]


@on_sqlite_alone
def test_a_rule_is_about_the_runs_of_its_project_and_user_that_were_seen_since_it_was_made(desk: Desk) -> None:
    desk.judged("earlier")
    desk.judged("earlier", status="finished")
    desk.judged("silent")
    desk.advance(seconds=1)
    channel = desk.channel(NOWHERE).channel_id
    desk.rule(channel, project="vision")
    desk.rule(channel, user="bob")
    desk.alerting.watcher("earlier")
    desk.alerting.watcher("silent")
    desk.judged("of-ada")
    desk.judged("of-bob", run={"user": "bob", "project": "speech"})
    desk.judged("of-eve", run={"user": "eve", "project": "speech"})
    assert sorted(each.run_id or "" for each in desk.log) == ["of-ada", "of-bob"]


@on_sqlite_alone
def test_what_an_agent_sends_days_after_its_run_ended_is_reported_to_nobody(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "hours_lost")
    desk.advance(days=2)
    desk.judged(hours_lost=20.0, status="finished")
    assert desk.titles == []


@pytest.mark.sql
def test_a_host_from_which_nothing_comes_is_offline_and_reports_again(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "host_offline", for_us=MINUTE_US)
    desk.judged()
    desk.advance(seconds=31)
    desk.alerting.watcher("run-1")
    assert desk.store.summary("run-1").status == "lost"
    desk.restart()
    desk.advance(seconds=59)
    desk.alerting.watcher.look_again()
    assert desk.titles == []
    desk.advance(seconds=1)
    for _ in range(3):
        desk.alerting.watcher.look_again()
        desk.advance(hours=3)
    assert desk.titles == ["resnet host node-1 is offline"]
    for _ in range(2):
        desk.judged()
        desk.advance(seconds=60)
    assert desk.titles[1:] == ["Recovered: resnet all its hosts report"]


@on_sqlite_alone
def test_a_host_that_another_run_reports_from_is_not_offline(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "host_offline")
    desk.judged()
    desk.advance(seconds=31)
    desk.judged("other")
    desk.alerting.watcher("run-1")
    assert desk.titles == []


@on_sqlite_alone
def test_of_several_hosts_the_silent_one_is_offline_while_the_run_goes_on(desk: Desk) -> None:
    desk.rule(desk.channel(NOWHERE).channel_id, "host_offline")
    post(desk.store, [made_window(0, rank=1, run=RUN | {"hostname": "node-2"})])
    for _ in range(4):
        desk.judged()
        desk.advance(seconds=10)
    desk.judged()
    assert desk.titles == ["resnet host node-2 is offline"]
    for index in range(1, 9):
        post(desk.store, [made_window(index, rank=1)])
        desk.judged()
        desk.advance(seconds=10)
    assert [each.message.kind for each in desk.log] == ["raised", "recovered"]


@on_sqlite_alone
def test_a_clock_that_jumps_neither_calls_a_host_offline_nor_silences_a_rule(desk: Desk) -> None:
    channel = desk.channel(NOWHERE).channel_id
    desk.rule(channel, "host_offline", for_us=MINUTE_US)
    desk.rule(channel)
    desk.judged()
    desk.clock.advance(hours=5)
    desk.judged()
    assert [each.message.condition for each in desk.log] == ["data_bound"]
    desk.clock.advance(days=-300)
    for found in (FED, FED, {}):
        desk.judged(**found)
        desk.advance(hours=1)
    kinds = sorted(each.message.kind for each in desk.log if each.message.condition == "data_bound")
    assert kinds == ["raised", "raised", "recovered"]


@pytest.mark.parametrize("is_known", [False, True])
def test_two_processes_that_look_at_one_run_report_it_once(desk: Desk, is_known: bool) -> None:
    """``is_known``: the rule knows something of the run already, and what is reported is that it recovered."""
    desk.rule(desk.channel(NOWHERE).channel_id)
    if is_known:
        desk.judged()
    desk.judged(**FED)
    desk.advance(minutes=1)
    desk.store.save_diagnosis(made_diagnosis(**FED if is_known else {}))
    first, second = Desk(desk.store, desk.clock), Desk(desk.store, desk.clock)
    states = desk.store.alert_states

    def read_before_the_first_wrote(run_id: str) -> Any:
        known = states(run_id)
        second.store.alert_states = states  # type: ignore[method-assign]
        second.alerting.watcher(run_id)
        return known

    first.store.alert_states = read_before_the_first_wrote  # type: ignore[method-assign]
    first.alerting.watcher("run-1")
    assert [each.message.kind for each in desk.log] == (["raised", "recovered"] if is_known else ["raised"])
