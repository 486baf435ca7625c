"""What is concluded from the yardsticks' runs; the runs themselves are no test."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.yardsticks import dlio, dlio_environment, ladder, parquet
from benchmarks.yardsticks.dlio import Predicted, Run
from benchmarks.yardsticks.dlio_environment import Dlio, knows
from benchmarks.yardsticks.dlio_workloads import Own, own_figures
from benchmarks.yardsticks.ladder import RUNGS, Stand, follow, holds, ladder_table
from benchmarks.yardsticks.markdown import table
from benchmarks.yardsticks.parquet import Decode
from underfed_server.diagnosis.thresholds import THRESHOLDS

SETTINGS = {"num_workers": 4, "prefetch_factor": 2, "persistent_workers": False}


def said(*changes: str, causes: tuple[str, ...] = (), **settings: Any) -> dict[str, Any]:
    """A diagnosis, as the service's API gives it."""
    figures = {"from": None, "to": None, "predicted_speedup": 2.0, "low": 1.5, "high": 2.5}
    return {
        "data_stall_fraction": 0.5,
        "causes": [{"cause": cause, "cost_fraction": 0.4} for cause in causes],
        "advice": [{**figures, "change": change, "settings": {**SETTINGS, **settings}} for change in changes],
    }


def stands(*diagnoses: dict[str, Any]) -> list[Stand]:
    return [Stand(*each) for each in zip(RUNGS, (*RUNGS[1:], None), diagnoses, strict=True)]


def test_each_rung_is_right_where_the_next_is_the_first_advice() -> None:
    climbed = stands(said("num_workers"), said("persistent_workers"), said("vectorize_getitem", "num_workers"), said())
    assert all(stand.is_right for stand in climbed)
    wrong = stands(said("prefetch_factor", "num_workers"), said("pin_memory"), said(), said("vectorize_getitem"))
    assert not any(stand.is_right for stand in wrong)


def test_pinning_is_wrong_also_behind_the_right_advice() -> None:
    assert not Stand(RUNGS[0], RUNGS[1], said("num_workers", "pin_memory")).is_right


@pytest.mark.parametrize(("rung", "following"), list(pairwise(RUNGS)))
def test_who_follows_the_right_advice_stands_on_the_next_rung(rung: ladder.Rung, following: ladder.Rung) -> None:
    assert following.change is not None
    kept = "--persistent-workers" in following.arguments
    (advice,) = said(following.change, persistent_workers=kept)["advice"]
    assert follow(rung, advice) == following.arguments


def test_a_change_of_the_data_set_keeps_the_settings_of_its_rung() -> None:
    (advice,) = said("vectorize_getitem")["advice"]
    assert follow(RUNGS[2], advice | {"settings": {}}) == RUNGS[3].arguments


def test_advice_that_no_setting_of_the_job_carries_out_is_not_measured() -> None:
    (advice,) = said("cpu_allocation")["advice"]
    assert follow(RUNGS[1], advice) is None
    assert holds(advice, None) is None


def test_a_gain_is_inside_or_outside_of_what_was_predicted() -> None:
    (advice,) = said("num_workers")["advice"]
    assert [holds(advice, gain) for gain in (1.4, 1.5, 2.6)] == [False, True, False]
    assert holds({**advice, "low": None, "high": None}, 2.0) is None


def test_the_ladder_has_a_row_a_rung() -> None:
    climbed = stands(said("num_workers", causes=("no_workers",)), said(), said(), said())
    speeds = {rung.arguments: [speed, speed, 9 * speed] for rung, speed in zip(RUNGS, (1, 4, 5, 10), strict=True)}
    _, _, first, second, *_ = ladder_table(climbed, speeds).splitlines()
    assert [cell.strip() for cell in first.split("|")[1:-1]] == [
        "0 workers",
        "1.0×",
        "1.00×",
        "4.00×",
        "no_workers 40%",
        "num_workers: 2.00× (1.50–2.50)",
        "yes",
        "4.00×",
        "NO",
    ]
    assert second.split("|")[3].strip() == "4.00×"


@pytest.mark.parametrize(
    ("causes", "changes", "is_right"),
    [
        (("cpu_limited",), ("cpu_allocation",), True),
        (("cpu_limited", "storage_wait"), (), False),
        (("storage_limit",), (), False),
        (("too_few_workers",), (), False),
        (("cpu_limited",), ("tmpfs",), False),
        ((), (), False),
    ],
)
def test_a_decode_is_the_cores_and_never_storage(
    causes: tuple[str, ...], changes: tuple[str, ...], is_right: bool
) -> None:
    decode = Decode(num_workers=2, in_pool=False, diagnosis=said(*changes, causes=causes))
    assert decode.is_right == is_right
    assert parquet.parquet_table([decode]).splitlines()[-1].endswith("| yes |" if is_right else "| NO |")


def run(read_threads: int, samples_per_s: float, **predicted: Predicted) -> Run:
    own = Own(au=0.6, load_s=0.004, samples_per_s=samples_per_s)
    by_threads = {int(threads.removeprefix("to_")): found for threads, found in predicted.items()}
    return Run("unet3d", read_threads, (own,), said(causes=("no_workers",)), 0.0042, by_threads)


def test_what_is_said_stands_beside_what_dlio_says_of_itself() -> None:
    *_, row = dlio.own_table([run(0, 100.0)]).splitlines()
    assert row == "| unet3d | 0 | 50.0% | 40.0% | 4.2 ms | 4.0 ms | no_workers 40% | none |"


def test_each_setting_is_predicted_from_each_other() -> None:
    runs = [run(0, 100.0, to_1=Predicted(1.5, 1.2, 1.8)), run(1, 200.0, to_0=Predicted(0.5, 0.4, 0.6))]
    *_, up, down = dlio.prediction_table(runs).splitlines()
    assert up == "| unet3d | 0 | 1 | 1.50× (1.20–1.80) | 2.00× | NO |"
    assert down == "| unet3d | 1 | 0 | 0.50× (0.40–0.60) | 0.50× | yes |"


def test_dlio_figures_are_those_of_its_files(tmp_path: Path) -> None:
    metric = {"train_au_mean_percentage": 62.5, "train_throughput_mean_samples_per_second": 80.0}
    (tmp_path / "summary.json").write_text(json.dumps({"metric": metric}))
    steps = {"hostname": "here", "1": {"load": {"block1": [*[9.0] * THRESHOLDS.warmup_steps, 0.2, 0.1]}}}
    (tmp_path / "0_output.json").write_text(json.dumps(steps))
    own = own_figures(tmp_path)
    assert (own.au, own.load_s, own.samples_per_s) == pytest.approx((0.625, 0.15, 80.0))


def test_without_a_checkout_dlio_is_left_out_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dlio_environment, "REPOSITORIES", {str(tmp_path / "nowhere"): "0" * 40})
    dlio.measure(tmp_path, [], repeats=1, steps=None)
    assert "could not be fetched" in (said := capsys.readouterr().out)
    assert "left out" in said


def test_dlio_is_fetched_once_at_the_commit_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    for content in ("named", "newer"):
        (repository / "file").write_text(content)
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", content], check=True)
    named = subprocess.run([*git, "rev-parse", "HEAD~"], check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.setattr(dlio_environment, "REPOSITORIES", {str(repository): named})
    (checkout,) = dlio_environment.fetch(tmp_path)
    assert (checkout / "file").read_text() == "named"
    repository.rename(tmp_path / "gone")
    assert dlio_environment.fetch(tmp_path) == [checkout]


def test_a_checkout_knows_the_formats_that_it_generates(tmp_path: Path) -> None:
    generators = tmp_path / "dlio_benchmark" / "data_generator"
    generators.mkdir(parents=True)
    (generators / "npz_generator.py").touch()
    assert knows(tmp_path, "npz")
    assert not knows(tmp_path, "parquet")


def test_options_reach_dlio_as_those_of_its_workload(tmp_path: Path) -> None:
    command = Dlio(Path("python"), tmp_path).command({"reader.read_threads": 2}, tmp_path / "out")
    assert "++workload.reader.read_threads=2" in command


def test_a_table_is_not_broken_by_what_stands_in_it() -> None:
    assert table(["a"], [["x|y\nz"]]).splitlines()[-1] == "| x/y z |"
