"""What runs read from a place, kept for other runs of their project."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.model import ReadRate
from underfed_server.store.runs.read_rates import NEWEST, read_rates
from underfed_server.store.store import Store


def rate(mb_per_s: float, place: str = "filer:/export") -> ReadRate:
    return ReadRate(place=place, readers=8.0, bytes_per_s=mb_per_s * 1e6, sample_bytes=1e5, is_limited=False)


def judged(store: Store, run_id: str, read_rate: ReadRate | None, project: str = "vision") -> None:
    post(store, [made_window(0, run_id=run_id, run=RUN | {"project": project}, end={"status": "finished"})])
    store.save_diagnosis(made_diagnosis(run_id, read_rate=read_rate))


def mb_per_s(store: Store, run_id: str, place: str = "filer:/export") -> list[float]:
    with store.reading() as reader:
        return [each.bytes_per_s / 1e6 for each in read_rates(reader.connection, run_id, place)]


def test_other_runs_of_the_project_say_what_they_read_from_a_place(store: Store) -> None:
    judged(store, "own", rate(10))
    judged(store, "same", rate(20))
    judged(store, "elsewhere", rate(30, "filer:/other"))
    judged(store, "secret", rate(40), project="other")
    judged(store, "gone", rate(50))
    store.delete_run("gone")
    assert mb_per_s(store, "own") == [20.0]
    assert mb_per_s(store, "secret") == []


@pytest.mark.sql
def test_the_last_judgement_of_a_run_counts(store: Store) -> None:
    judged(store, "own", None)
    judged(store, "same", rate(20))
    store.save_diagnosis(made_diagnosis("same", read_rate=rate(25)))
    assert mb_per_s(store, "own") == [25.0]
    store.save_diagnosis(made_diagnosis("same", read_rate=None))
    assert mb_per_s(store, "own") == []


def test_the_newest_runs_are_shown_however_many_there_are(store: Store, clock: WallClock) -> None:
    judged(store, "own", None)
    for index in range(NEWEST + 2):
        clock.now += timedelta(seconds=1)
        judged(store, f"run-{index}", rate(index))
    assert mb_per_s(store, "own") == [float(index) for index in range(NEWEST + 1, 1, -1)]
