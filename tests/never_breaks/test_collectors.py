"""When a collector dies nothing is lost: training goes on, and the next collector continues where it stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.fakes.forkserver import Job
from tests.fakes.jobs import end, run_job, start_job
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import collectors_of, only_collector, wait_for_collectors
from tests.never_breaks.evidence import (
    assert_accounted_for,
    assert_all_arrived,
    assert_untouched,
    delivered,
    push,
    start_confined,
)
from underfed.collector.spool.segment import count_frames

LONG = ("--length", "400", "--work-ms", "16", "--epochs", "1", "--workers", "1")
LONG_STEPS = 100
MIDDLE = "25"
LOST_AT_MOST = 4
"""Steps that are lost with a collector that is killed: those in progress, which the next one cannot complete."""


def start_long_job(service: Service, go_on: Path, *arguments: str) -> Job:
    """It waits in its middle."""
    job = start_job(*arguments, "--at", MIDDLE, "--wait-for", str(go_on))
    wait_until(lambda: service.count_steps() > 20, "steps arrive")
    return job


def end_collector(run_id: str, how: signal.Signals) -> int:
    collector = only_collector(run_id)
    os.kill(collector, how)
    return collector


def test_the_training_starts_another_collector_where_one_was_killed(service: Service, run_id: str, go_on: Path) -> None:
    arguments = ("--length", "200", "--work-ms", "20", "--epochs", "4", "--workers", "1")
    job = start_long_job(service, go_on, *arguments, "--wait-from", "1")
    wait_until(lambda: ("train", 1) in service.epochs(), "a second epoch begins")
    killed = end_collector(run_id, signal.SIGKILL)
    go_on.touch()
    wait_until(lambda: set(collectors_of(run_id)) - {killed}, "another one is there", longest_pause_s=0.1)
    assert job.poll() is None
    assert_untouched(end(job), *arguments)
    wait_until(service.ends, "the end arrives")
    assert assert_accounted_for(service, 200) <= LOST_AT_MOST
    assert [epoch["steps"] for epoch in service.epochs().values()] == [50] * 4
    assert [epoch["ended"] for epoch in service.epochs().values()] == ["exhausted"] * 4


def test_a_push_in_between_takes_nothing_from_the_next_collector(
    absent_service: Service, run_id: str, tmp_path: Path, go_on: Path
) -> None:
    job = start_job(*LONG, "--at", MIDDLE, "--wait-for", str(go_on))
    wait_until(lambda: any(map(count_frames, tmp_path.glob("data/spool/*/*.segment"))), "a window is kept")
    end_collector(run_id, signal.SIGKILL)
    wait_for_collectors(run_id)
    absent_service.start()
    pushed = push()
    assert "still runs, so its own collector reads its rings" in pushed.stdout
    assert absent_service.windows
    go_on.touch()
    assert_untouched(end(job), *LONG)
    wait_for_collectors(run_id)
    assert push().returncode == 0
    assert assert_accounted_for(absent_service, LONG_STEPS) <= LOST_AT_MOST
    assert [ended["status"] for ended in absent_service.ends()] == ["finished"]


def test_another_ranks_collector_takes_over(service: Service, run_id: str, go_on: Path) -> None:
    job = start_long_job(service, go_on, *LONG)
    end_collector(run_id, signal.SIGKILL)
    wait_for_collectors(run_id)
    other = run_job(RANK="1", LOCAL_RANK="1", WORLD_SIZE="2")
    assert other.returncode == 0
    go_on.touch()
    assert end(job).returncode == 0
    wait_until(lambda: len(service.ends()) == 2, "both end")
    last = [window for window in service.windows if window["rank"] == 0 and "end" in window][-1]
    assert len(delivered(service)) + last["losses"]["dropped_steps"] == LONG_STEPS
    assert delivered(service, rank=1) == list(range(20))


def test_a_collector_that_gets_sigterm_serves_until_the_end(service: Service, run_id: str, go_on: Path) -> None:
    """Who stops a job sends SIGTERM to all of its processes, and the training may yet write a checkpoint."""
    job = start_long_job(service, go_on, *LONG)
    end_collector(run_id, signal.SIGTERM)
    go_on.touch()
    assert_untouched(end(job), *LONG)
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service, LONG_STEPS)


def test_a_collector_that_is_stopped_for_long_misses_whole_steps_and_counts_them(service: Service, run_id: str) -> None:
    steps = 16_000
    job = start_job("--length", str(steps), "--batch", "1", "--work-ms", "0", "--epochs", "1")
    # It cannot end before what it prints is read.
    wait_until(lambda: service.count_steps() > 20, "steps arrive")
    collector = end_collector(run_id, signal.SIGSTOP)
    for _ in range(7_000):
        assert job.stdout.readline()
    assert job.poll() is None
    os.kill(collector, signal.SIGCONT)
    assert end(job).returncode == 0
    wait_until(service.ends, "the end arrives")
    assert assert_accounted_for(service, steps) > 0
    ended_us = 0
    for each in service.steps():
        assert each["first_batch_index"] == each["first_step_index"]
        assert each["start_us"] >= ended_us
        assert all(
            step is None or step >= wait for step, wait in zip(each["step_us"], each["data_wait_us"], strict=True)
        )
        ended_us = each["start_us"] + sum(step or 0 for step in each["step_us"])
    assert ended_us <= service.windows[-1]["end_us"]


def test_a_collector_that_is_stopped_at_the_end_delays_nobody(service: Service, run_id: str, go_on: Path) -> None:
    arguments = ("--length", "400", "--work-ms", "16", "--epochs", "1")
    job = start_long_job(service, go_on, *arguments)
    collector = end_collector(run_id, signal.SIGSTOP)
    go_on.touch()
    assert_untouched(end(job), *arguments)
    assert not service.ends()
    os.kill(collector, signal.SIGCONT)
    wait_until(service.ends, "the end arrives")
    assert_all_arrived(service, LONG_STEPS)


def test_what_a_collector_that_cannot_start_leaves_is_sent_by_push(service: Service) -> None:
    job = end(start_confined("--python", "/nowhere/python"))
    assert_untouched(job)
    assert f"`UNDERFED_URL={service.url} underfed push` sends it" in job.stderr.splitlines()[-1]
    assert push().returncode == 0
    assert_all_arrived(service)
