"""Which of the proposed settings are tried, and with which queues."""

from __future__ import annotations

import pytest

from underfed.trainer.tuning.candidates import Surroundings, to_try
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.search import Candidate

ONE = LoaderSetting(1, 8)
LONG = Surroundings(most_steps=2000)


def tried(found: list[LoaderSetting], around: Surroundings = LONG, **fixed: int) -> list[LoaderSetting]:
    return [each.setting for each in to_try([Candidate(each, 2.0) for each in found], ONE, fixed, around)]


def test_each_is_tried_once_and_the_one_in_use_is_not() -> None:
    assert tried([LoaderSetting(2, 8), ONE, LoaderSetting(2, 8), LoaderSetting(0)]) == [
        LoaderSetting(0),
        LoaderSetting(2, 8),
    ]


@pytest.mark.parametrize(
    ("wanted", "around", "fitted"),
    [
        (LoaderSetting(5, 8), Surroundings(2000, pass_steps=25), LoaderSetting(5, 2)),
        (LoaderSetting(8, 2), Surroundings(2000, pass_steps=12), LoaderSetting(3, 2)),
        (LoaderSetting(4, 8), Surroundings(100), LoaderSetting(4, 4)),
        (LoaderSetting(16, 8), Surroundings(100), LoaderSetting(16, 2)),
        (LoaderSetting(4, 8), LONG, LoaderSetting(4, 8)),
    ],
)
def test_queues_fit_the_passes_and_the_steps_for_trials(
    wanted: LoaderSetting, around: Surroundings, fitted: LoaderSetting
) -> None:
    (candidate,) = to_try([Candidate(wanted, 2.0)], ONE, {}, around)
    assert candidate.setting == fitted
    assert candidate.predicted == (2.0 if fitted == wanted else None)


def test_what_is_set_is_not_fitted() -> None:
    short = Surroundings(100, pass_steps=12)
    assert tried([LoaderSetting(5, 8)], short, prefetch_factor=8) == [LoaderSetting(5, 8)]
    assert tried([LoaderSetting(1, 16)], short, num_workers=1) == [LoaderSetting(1, 6)]


@pytest.mark.parametrize(("megabytes", "is_tried"), [(24, True), (1, False)])
def test_no_workers_are_tried_where_handing_over_takes_a_good_part_of_a_step(megabytes: int, is_tried: bool) -> None:
    around = Surroundings(2000, batch_bytes=megabytes * 1_000_000, step_ns=20e6)
    assert (LoaderSetting(0) in tried([LoaderSetting(2, 8)], around)) == is_tried
    assert LoaderSetting(0) not in tried([LoaderSetting(1, 4)], around, num_workers=1)
