"""Several hosts switch at the same step where they can, and none is left in a trial that nobody measures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.agent.tuning.hosts_in_step import APIECE, STEP_NS, Hosts, record
from tests.agent.tuning.training_loop import FOUR, NONE, TWO, Loop, workers
from underfed.exchange import switch, tuning
from underfed.exchange.parts import read_part, write_part
from underfed.trainer.tuning import hosts as limits
from underfed.trainer.tuning.conductor import Order
from underfed.trainer.tuning.hosts import CREW_CHANGED, NOT_DONE, NOT_TOGETHER, Failure
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.ranks import AWAITED_NS, MORE, NO_LEAD, NO_SERVICE, living_ranks
from underfed.trainer.tuning.tuner import TuneOptions, Tuner

AWAITED = AWAITED_NS // STEP_NS + 20
LOST = limits.LOST_NS // STEP_NS + 20
DONE = limits.DONE_NS // STEP_NS + 20
"""Steps that take so long."""


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Three, which know of each other."""
    hosts = Hosts(tmp_path, 3)
    hosts.run(30)
    assert hosts.lead.ranks.are_here()
    return hosts


def test_all_hosts_switch_at_the_step_that_one_of_them_planned(hosts: Hosts) -> None:
    hosts.plan(FOUR)
    assert not hosts.lead.ranks.have_switched()
    hosts.run(60)
    assert hosts.lead.ranks.have_switched()
    (planned,) = hosts.lead.switched
    assert planned[0] > 33
    assert [host.switched for host in hosts.others] == [[planned], [planned]]
    assert hosts.lead.ranks.take_failure() is None


def test_nothing_is_measured_before_the_last_host_is_ready(hosts: Hosts) -> None:
    late = hosts.others[-1]
    hosts.plan(FOUR)
    late.is_cut_off = True
    hosts.run(100)
    assert hosts.others[0].in_use == FOUR
    assert not hosts.lead.ranks.have_switched()
    late.is_cut_off = False
    hosts.run(20)
    assert late.in_use == FOUR
    assert hosts.lead.ranks.have_switched()


def test_a_plan_lies_as_far_ahead_as_plans_were_seen_to_take(hosts: Hosts) -> None:
    aheads = []
    for setting, keep in ((TWO, NONE), (FOUR, TWO), (TWO, FOUR), (FOUR, TWO)):
        before = hosts.steps
        hosts.plan(setting, keep)
        hosts.run(100)
        aheads.append(hosts.lead.switched[-1][0] - before)
    assert aheads[0] > aheads[1] > aheads[2] >= aheads[3] >= 3
    hosts.post_every = 30
    hosts.plan(TWO, FOUR)
    hosts.run(300)
    before = hosts.steps
    hosts.plan(FOUR, TWO)
    hosts.run(200)
    assert hosts.lead.switched[-1][0] - before > 30
    assert len({host.switched[-1] for host in hosts.all}) == 1


def test_where_a_host_no_longer_reports_both_sides_go_back(hosts: Hosts) -> None:
    """The one that leads says so, and the other one does not stay in a setting that nobody measures."""
    lost = hosts.others[0]
    hosts.plan(FOUR)
    hosts.run(60)
    assert hosts.lead.ranks.have_switched()
    lost.is_cut_off = True
    hosts.plan(TWO)
    hosts.run(DONE + 60)
    assert lost.in_use == FOUR
    assert hosts.lead.ranks.take_failure() == Failure(NOT_DONE, is_final=True)
    hosts.lead.ranks.end()
    hosts.plan(NONE, is_searching=False)
    assert hosts.lead.ranks.have_switched(), "nobody is waited for any more"
    hosts.run(LOST - DONE + 60)
    assert {host.in_use for host in hosts.all} == {NONE}


def test_without_the_service_a_trial_ends_on_every_host(hosts: Hosts) -> None:
    hosts.plan(FOUR)
    hosts.run(60)
    hosts.has_service = False
    hosts.run(LOST)
    assert [host.in_use for host in hosts.others] == [NONE, NONE]
    hosts.has_service = True
    hosts.plan(TWO, TWO, is_searching=False)
    hosts.run(60)
    assert {host.in_use for host in hosts.all} == {TWO}, "what is planned later is done"


def test_an_old_answer_of_a_host_that_was_cut_off_does_not_count(hosts: Hosts) -> None:
    """It has done the switch, and gone back by the time that its windows arrive."""
    late = hosts.others[0]
    hosts.plan(FOUR)
    hosts.run(4)
    late.is_cut_off = True
    hosts.run(60)
    old = read_part(late.directory / switch.FILE, switch.Switch)
    assert old.done == old.seen > 0
    hosts.run(LOST)
    now = read_part(late.directory / switch.FILE, switch.Switch)
    assert (now.done, now.reason) == (0, limits.WENT_BACK)
    assert late.in_use == NONE
    late.is_cut_off = False
    write_part(late.directory / switch.FILE, old)
    hosts.run(10)
    assert not hosts.lead.ranks.have_switched()


def test_what_was_kept_stays_without_the_service(hosts: Hosts) -> None:
    hosts.plan(FOUR, FOUR, is_searching=False)
    hosts.run(60)
    hosts.has_service = False
    hosts.run(LOST)
    assert {host.in_use for host in hosts.all} == {FOUR}


def test_where_the_leading_host_gives_up_the_others_go_back(hosts: Hosts) -> None:
    hosts.plan(FOUR)
    hosts.run(60)
    hosts.lead.ranks.leave()
    hosts.run(20)
    assert [host.in_use for host in hosts.others] == [NONE, NONE]


def test_a_host_without_room_says_so_and_stays_as_it_is(hosts: Hosts) -> None:
    hosts.no_room = "its batches need 9 GB"
    hosts.plan(FOUR)
    hosts.run(60)
    assert hosts.lead.ranks.take_failure() == Failure("on another host: its batches need 9 GB", is_final=False)
    assert [host.in_use for host in hosts.others] == [NONE, NONE]
    hosts.plan(NONE)
    hosts.run(60)
    assert hosts.lead.ranks.have_switched()
    assert hosts.lead.ranks.take_failure() is None


def test_a_process_that_is_started_again_ends_the_trials(hosts: Hosts) -> None:
    hosts.plan(FOUR)
    hosts.run(60)
    other = hosts.others[0]
    other.directory = record(other.directory.parent, other.rank, 8)
    write_part(other.directory / switch.FILE, switch.Switch(APIECE))
    hosts.run(10)
    assert hosts.lead.ranks.take_failure() == Failure(CREW_CHANGED, is_final=True)


@pytest.mark.parametrize("steps", [-200, 200])
def test_ranks_that_do_not_train_together_are_left_alone(hosts: Hosts, steps: int) -> None:
    """A host that is further than the one that plans, or behind it, does not wait for it."""
    hosts.run(270)
    hosts.others[1].ahead = steps
    hosts.plan(FOUR)
    hosts.run(20)
    assert hosts.lead.ranks.take_failure() == Failure(NOT_TOGETHER, is_final=True)


def test_ranks_of_one_host_write_nothing_for_others(tmp_path: Path) -> None:
    one = Hosts(tmp_path, 1)
    one.run(30)
    assert one.lead.ranks.are_here()
    assert not one.lead.ranks.are_on_several_hosts
    assert not (one.lead.directory / switch.FILE).exists()
    one.plan(TWO)
    one.run(5)
    assert one.lead.switched == [(33, TWO)]


def test_ranks_that_begin_late_on_the_same_host_need_no_service(tmp_path: Path) -> None:
    one = Hosts(tmp_path, 1, wanted=3)
    one.has_service = False
    one.run(30)
    assert one.lead.ranks.are_on_several_hosts
    record(one.lead.directory.parent, 2)
    one.run(20)
    assert one.lead.ranks.are_here()
    assert not one.lead.ranks.are_on_several_hosts


@pytest.mark.parametrize(("has_service", "wanted", "lead", "other"), [
    (False, 4, NO_SERVICE, NO_SERVICE),
    (True, 9, "5 of 9 ranks were not heard of, and all have to switch at the same step", None),
    (True, 3, MORE, None),
    (True, 4, None, None),
])  # fmt: skip
def test_why_ranks_on_other_hosts_are_not_tuned_is_said(
    tmp_path: Path, has_service: bool, wanted: int, lead: str | None, other: str | None
) -> None:
    hosts = Hosts(tmp_path, 2, wanted=wanted)
    hosts.has_service = has_service
    hosts.run(30)
    assert [host.ranks.why_never(hosts.now_ns) for host in hosts.all] == [None, None]
    hosts.run(AWAITED)
    assert [host.ranks.why_never(hosts.now_ns) for host in hosts.all] == [lead, other]


def test_hosts_that_cannot_find_the_same_run_are_refused_at_once(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2, apart="set UNDERFED_RUN_ID")
    hosts.all[0].is_cut_off = hosts.all[1].is_cut_off = True
    hosts.run(30)
    assert [host.ranks.why_never(hosts.now_ns) for host in hosts.all] == ["set UNDERFED_RUN_ID"] * 2


def test_a_run_whose_rank_0_is_elsewhere_is_left_alone(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2)
    hosts.lead.is_cut_off = True
    hosts.run(AWAITED)
    assert hosts.others[0].ranks.why_never(hosts.now_ns) == NO_LEAD


def test_processes_that_have_ended_are_no_ranks_of_this_host(tmp_path: Path) -> None:
    """The job was started again, and this host has other ranks now."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    record(tmp_path, 0, pid=ended.pid)
    record(tmp_path, 2)
    assert living_ranks(tmp_path) == {2}


def test_a_program_on_several_hosts_is_not_ended(hosts: Hosts) -> None:
    """A rank that had not received it in time would wait for those that had."""
    hosts.lead.ranks.plan(Order(FOUR, FOUR, is_end=True), hosts.steps, is_searching=False)
    for _ in range(60):
        hosts.run(1)
        due = [host.ranks.due(hosts.steps, host.in_use, is_switching=False) for host in hosts.all]
        assert not any(order.is_end for order in due if order is not None)
    assert {host.in_use for host in hosts.all} == {FOUR}


class Planned:
    """What a tuner plans for all."""

    def __init__(self) -> None:
        self.planned: list[Order] = []
        self.has_ended = False

    def plan(self, order: Order, _step: int, *, is_searching: bool) -> None:
        self.planned.append(order)

    def end(self) -> None:
        self.has_ended = True


def searching(best: LoaderSetting) -> Loop:
    """A search goes on in which this one is the best so far."""
    for steps in range(20, 200):
        loop = Loop({NONE: 90, TWO: 30, FOUR: 5}, candidates=workers(2, 4))
        loop.run(steps)
        if loop.conductor.is_searching and loop.conductor.searches[-1].best.setting == best:
            return loop
    raise AssertionError("no such search")


def searching_on() -> Loop:
    """A search goes on in which another setting is shown to be faster than the one in use before."""
    loop = Loop({NONE: 90, TWO: 30, FOUR: 30}, candidates=workers(2, 4), step_noise=0.2)
    while loop.step < 1000:
        loop.run(1)
        search = loop.conductor.searches[-1] if loop.conductor.is_searching else None
        if search is not None and search._is_shown(search.best):
            return loop
    raise AssertionError("no such search")


@pytest.mark.parametrize("is_shown", [False, True])
def test_after_a_switch_that_failed_elsewhere_the_best_that_was_shown_comes_back(is_shown: bool) -> None:
    said: list[str] = []
    loop, ranks = searching_on() if is_shown else searching(TWO), Planned()
    tuner = Tuner(TuneOptions(), said.append)
    tuner._setting = loop.in_use
    tuner._failed_elsewhere(Failure("no answer", is_final=True), loop.conductor, ranks, loop.now_ns)  # type: ignore[arg-type]
    (order,) = ranks.planned
    assert (order.setting != NONE) == is_shown
    assert (loop.conductor.status, loop.conductor.reason) == (
        tuning.KEPT if is_shown else tuning.REFUSED,
        "no answer",
    )
    assert ranks.has_ended
    assert any("no answer" in line for line in said)


def test_a_setting_that_one_host_has_no_room_for_gives_way_to_the_next_one() -> None:
    loop, ranks = searching(NONE), Planned()
    tuner = Tuner(TuneOptions(), lambda _: None)
    tuner._setting = NONE
    tuner._failed_elsewhere(Failure("no room", is_final=False), loop.conductor, ranks, loop.now_ns)  # type: ignore[arg-type]
    assert [order.setting for order in ranks.planned] == [FOUR]
    assert loop.conductor.is_searching
    assert loop.conductor.searches[-1].trials[1].reason == "no room"
