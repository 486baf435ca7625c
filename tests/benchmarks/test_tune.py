"""The benchmark of tuning: what it is asked for, and what its closing lines say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.prediction import pipelines
from benchmarks.tune import main
from benchmarks.tune.measure import DEFAULT, Static, Tuned
from benchmarks.tune.table import show

ONE = Tuned("sleeping", DEFAULT, False, Static(2, 2), (0.010, 0.0104), 0.03, 0.0102, 12.0, 1000, 0, None)


def test_an_unknown_pipeline_is_an_error_that_lists_those_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "photograph_files", lambda _directory: [])  # to make them takes seconds
    with pytest.raises(SystemExit):
        main(["--only", "no_such_pipeline"])
    said = capsys.readouterr().err
    assert "there is no no_such_pipeline; there are " in said
    assert said.count(", ") >= 3


def test_the_noise_of_repeats_stands_below_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    show([ONE, replace(ONE, after_step_s=0.0120)])
    noise = capsys.readouterr().out.splitlines()[-1]
    assert "differed by 3.9% (median), at most 3.9%" in noise
    assert noise.endswith("repeats of a training by at most 0.15 of speed ÷ best.")
    show([ONE])
    assert "repeats" not in capsys.readouterr().out.splitlines()[-1]
