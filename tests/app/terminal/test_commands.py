"""``underfed runs``, ``show`` and ``compare`` against a real service: what they print, and their error messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_diagnosis
from tests.app.made_windows import RUN, made_stream
from tests.app.serving import serving, settings_for
from tests.app.store.posting import post
from tests.fakes.looks import evenly
from underfed_server.diagnose import Diagnoser
from underfed_server.main import create_app
from underfed_server.model import Anatomy, Comparison, Diagnosis, RunsPage
from underfed_server.store.store import Store
from underfed_server.terminal.commands import compare, export, runs, show
from underfed_server.terminal.one_line import LONGEST, line_of

Capture = pytest.CaptureFixture[str]
TOKEN = "a-token-of-the-tests"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store behind the service that the commands talk to."""
    settings = settings_for(tmp_path, token=TOKEN)
    application = create_app(settings)
    with serving(application, settings) as address:
        monkeypatch.setenv("UNDERFED_URL", address)
        monkeypatch.setenv("UNDERFED_TOKEN", TOKEN)
        yield application.parts.store


def test_runs_are_listed(store: Store, capsys: Capture) -> None:
    assert runs([]) == 0
    assert capsys.readouterr().out.startswith("No run yet")
    post(store, made_stream(2))
    assert runs([]) == 0
    assert "run-1" in capsys.readouterr().out
    assert runs(["--json"]) == 0
    page = RunsPage.model_validate_json(capsys.readouterr().out)
    assert [run.run_id for run in page.runs] == ["run-1"]


@pytest.mark.parametrize("wanted", ["run-1", "run", "latest"])
def test_a_run_is_shown_by_id_by_its_beginning_or_as_the_latest(store: Store, capsys: Capture, wanted: str) -> None:
    post(store, made_stream(2))
    store.save_diagnosis(made_diagnosis(sentence="It waits for data."))
    assert show([wanted]) == 0
    assert "It waits for data." in capsys.readouterr().out
    assert show([wanted, "--json"]) == 0
    said = capsys.readouterr().out
    assert json.loads(said)["advice"][0]["from"] == 0
    assert Diagnosis.model_validate_json(said).run_id == "run-1"


def test_a_run_is_shown_by_its_job_of_slurm_the_newest_of_several(store: Store, capsys: Capture) -> None:
    for minute, job in enumerate(("4711", "4711", "47110")):
        started = f"2026-11-20T10:0{minute}:00Z"
        post(store, made_stream(1, run_id=f"step-{minute}", started_at=started, run=RUN | {"slurm_job_id": job}))
    assert show(["slurm:4711", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run_id"] == "step-1"
    assert show(["slurm:471"]) == show(["slurm:4711_2"]) == 1
    said = capsys.readouterr().err
    assert "no run is of SLURM's job 471" in said
    assert "named by its number" in said


def test_a_verdict_is_one_line_that_every_shell_and_database_takes(store: Store, capsys: Capture) -> None:
    post(store, made_stream(1))
    found: dict[str, Any] = {"is_final": True, "hours_lost": 0.8, "data_stall_fraction": 0.43}
    store.save_diagnosis(made_diagnosis(**found))
    assert show(["run-1", "--line"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "data-bound: 43% of step time lost to input (no workers), 48 min lost; first fix: Use workers, x 1.60; "
        "run run-1\n"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"gpu_hours_lost": 12.0}, "12 h of GPU time lost"),
        (
            {
                "bound": "transfer",
                "data_stall_fraction": 0.002,
                "anatomy": Anatomy(step_us=100_000, data_wait_us=200, h2d_exposed_us=31_000, compute_us=68_800),
            },
            ": 31% of step time lost to copies (",
        ),
        (
            {"bound": "unknown", "level": "unknown", "reason": "Too few steps.", "causes": []},
            "measuring: Too few steps; run",
        ),
        ({"causes": [], "advice": [], "hours_lost": None}, "lost to input; run run-1"),
        ({"sentence": "", "bound": "unknown", "reason": 'a "b" \\ `c`\n×–é' + "y" * 400}, "a 'b' / 'c' x-?yyy"),
    ],
)
def test_a_line_is_short_and_plain_whatever_it_says(changes: dict[str, Any], expected: str) -> None:
    line = line_of(made_diagnosis(**changes))
    assert expected in line
    assert line.isascii()
    assert line.isprintable()
    assert len(line) <= LONGEST
    assert line.endswith("; run run-1")


@pytest.mark.parametrize("beside", [None, "Other jobs fill the cores.", "Other jobs fill the cores. " * 20])
def test_a_line_has_the_first_fix_whatever_else_it_says(beside: str | None) -> None:
    to_try = made_advice(None).model_copy(update={"title": "Open the archive once in each worker"})
    first = {"beside_loader": beside, "is_beside_first": beside is not None}
    line = line_of(made_diagnosis(run_id="train-7f3a9c2e", advice=[to_try], **first))
    assert f"{'worth a try' if beside else 'first fix'}: Open the archive once in each worker, try it; run " in line
    assert ("first fix: Other jobs fill the cores" in line) == bool(beside)
    assert len(line) <= LONGEST


def test_a_line_has_what_is_neither_training_nor_waiting() -> None:
    sentences = [
        "Checkpoints take 13% of this loop's time: 15 pauses, in each of which 62 MiB were written.",
        "draw takes 9%.",
    ]
    assert "; Checkpoints take 13% of this loop's time; " in line_of(made_diagnosis(beside_training=sentences))


def test_a_line_of_a_run_without_a_verdict_has_what_it_waited_so_far() -> None:
    known: dict[str, Any] = {
        "bound": "unknown", "level": "unknown", "reason": "21 of 25 steps", "causes": [], "waited_fraction": 0.98,
    }  # fmt: skip
    ended = line_of(made_diagnosis(status="finished", **known))
    assert ended == "no verdict: 21 of 25 steps; so far 98% of the time was spent waiting for data; run run-1"
    assert "so far" not in line_of(made_diagnosis(status="running", **known))


def test_an_id_takes_precedence_over_a_beginning_and_ambiguity_is_reported(store: Store, capsys: Capture) -> None:
    for run_id in ("train", "train-2", "train-3"):
        post(store, made_stream(1, run_id=run_id))
    assert show(["train", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run_id"] == "train"
    assert show(["train-"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "2 runs begin with 'train-'" in said.err
    assert show(["nobody"]) == 1
    assert "no run begins with 'nobody'" in capsys.readouterr().err


def listed(capsys: Capture, *argv: str) -> list[str]:
    assert runs([*argv, "--json"]) == 0
    return [run.run_id for run in RunsPage.model_validate_json(capsys.readouterr().out).runs]


@pytest.fixture
def three(store: Store) -> Store:
    for minute, (run_id, hostname) in enumerate((("alpha", "gpu-03"), ("beta", "gpu-04"), ("gamma", "gpu-03"))):
        described = RUN | {"hostname": hostname, "name": run_id}
        post(store, made_stream(1, run_id=run_id, run=described, started_at=f"2026-11-20T10:0{minute}:00Z"))
    store.save_diagnosis(made_diagnosis("alpha"))
    return store


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["host:gpu-03"], ["gamma", "alpha"]),
        (["host:gpu-03 bound:data"], ["alpha"]),
        (["host:gpu-03", "bound:data"], ["alpha"]),
        (["-host:gpu-03"], ["beta"]),
        (["-host:gpu-03", "-name:gamma"], ["beta"]),
        (["--sort", "-name"], ["gamma", "beta", "alpha"]),
        (["--sort=name", "--limit", "2"], ["alpha", "beta"]),
        ([], ["gamma", "beta", "alpha"]),
    ],
)
def test_runs_are_searched_and_sorted(three: Store, capsys: Capture, argv: list[str], expected: list[str]) -> None:
    assert listed(capsys, *argv) == expected


def test_archived_runs_are_listed_on_request_and_found_by_their_id(three: Store, capsys: Capture) -> None:
    three.edit_run("beta", {"archived": True})
    assert listed(capsys) == ["gamma", "alpha"]
    assert listed(capsys, "--archived") == ["gamma", "beta", "alpha"]
    assert listed(capsys, "is:archived") == ["beta"]
    assert show(["beta", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run_id"] == "beta"


def test_an_expression_that_cannot_be_understood_is_said_with_its_place(three: Store, capsys: Capture) -> None:
    assert runs(["bound:data", "num_worker<8"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    first, *below = said.err.splitlines()
    assert first.startswith("underfed: there is no key 'num_worker'; 'num_workers' is one")
    assert below == ["  bound:data num_worker<8", "             ^"]


@pytest.mark.parametrize("wanted", ['a"b', "a,b", "a b", "", "../x", "x" * 65])
def test_what_cannot_be_an_id_is_no_run(three: Store, capsys: Capture, wanted: str) -> None:
    assert show([wanted]) == 1
    assert "no run begins with" in capsys.readouterr().err


def test_runs_are_compared_by_their_beginnings_with_the_first(store: Store, capsys: Capture) -> None:
    for seed, (run_id, workers) in enumerate((("slow", 2), ("quick", 8))):
        loader = {"loader": "train", "settings": {"num_workers": workers, "batch_size": 32}}
        windows = list(made_stream(20, run_id=run_id, seed=seed))
        windows[0] |= {"loaders": [loader], "run": RUN | {"name": f"[red]{run_id}"}}
        post(store, windows)
        Diagnoser()(store, run_id)
    assert compare(["slo", "quick"]) == 0
    said = capsys.readouterr().out
    assert "[red]slow" in said and "baseline" in said
    assert "◆ num_workers  2" in said
    assert compare(["quick", "slow", "--json"]) == 0
    found = Comparison.model_validate_json(capsys.readouterr().out)
    assert [run.run.run_id for run in found.runs] == ["quick", "slow"]
    assert compare(["quick", "qui"]) == 1
    assert "a run was given twice" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        compare(["quick"])
    assert "two to 8 runs" in capsys.readouterr().err


def test_a_comparison_says_why_nothing_of_loading_is_compared(store: Store, capsys: Capture) -> None:
    seen = {"loader": "train", "frames": [{"function": "decode", "file": "data.py", "line": 9}],
            "stacks": [{"stage": "getitem", "frames": [0], "samples": evenly(400)}]}  # fmt: skip
    for run_id, stacks in (("seen", [seen]), ("again", [seen]), ("bare", [])):
        windows = list(made_stream(20, run_id=run_id))
        windows[0] |= {"run": RUN | {"name": run_id}, "stacks": stacks}
        post(store, windows)
        Diagnoser()(store, run_id)

    def said(*runs: str) -> list[str]:
        assert compare([*runs]) == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        return lines[lines.index("Where loading spends its time") + 1 :][:2]

    assert said("seen", "bare") == ["bare: no looks at its loading, 100 are needed", ""]
    assert said("seen", "again") == ["No function differs by more than chance.", ""]
    assert said("seen", "again", "bare") == [
        "bare: no looks at its loading, 100 are needed", "No function differs by more than chance.",
    ]  # fmt: skip


def test_stacks_of_a_few_looks_are_exported_with_a_warning(store: Store, capsys: Capture, tmp_path: Path) -> None:
    def stacks(samples: int) -> list[dict[str, Any]]:
        counted = [{"stage": stage, "frames": [0], "samples": evenly(samples)} for stage in ("getitem", "step")]
        frames = [{"function": "decode", "file": "data.py", "line": 9}]
        return [{"loader": "train", "frames": frames, "stacks": counted}]

    for run_id, samples in (("few", 14), ("enough", 100)):
        loaders = [{"loader": "train", "settings": {}}]
        post(store, made_stream(1, run_id=run_id, stacks=stacks(samples), loaders=loaders))
    out = ["--format", "collapsed", "--out", str(tmp_path / "stacks.txt")]
    assert export(["few", *out]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "underfed: train: 14 looks at its loading, 100 are needed; its shares say little",
        "underfed: train: 14 looks at its thread, 100 are needed; its shares say little",
    ]
    assert export(["enough", *out]) == 0
    assert capsys.readouterr().err == ""


def test_what_the_service_refuses_is_said(store: Store, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_TOKEN", "wrong")
    assert runs([]) == 1
    assert "token" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "said"),
    [("http://127.0.0.1:9", "no service answers at http://127.0.0.1:9"), ("ftp://x", "must begin with http")],
)
def test_a_service_that_is_not_there_is_said(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    monkeypatch.setenv("UNDERFED_URL", url)
    assert runs([]) == 1
    assert said in capsys.readouterr().err
