"""What the terminal prints: words first, figures with their units, and a dash for what was not measured."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console, RenderableType

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from underfed_server.model import Anatomy, Evidence, Refusal, RunSummary
from underfed_server.terminal import figures
from underfed_server.terminal.rendering import render_diagnosis, render_runs

AT = "2026-11-20T10:00:00Z"


def shown(renderable: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return [line.rstrip() for line in capture.get().splitlines()]


def summary(**said: Any) -> RunSummary:
    lists: dict[str, Any] = {"tags": {}, "spark": [], "hostnames": [], "steps": 0, "world_size": 1}
    usual = {"run_id": "r1", "status": "running", "bound": "unknown", "level": "unknown"}
    usual |= dict.fromkeys(("project", "name", "job", "user"), "") | dict.fromkeys(("started_at", "last_seen_at"), AT)
    return RunSummary.model_validate(dict.fromkeys(RunSummary.model_fields) | lists | usual | said)


def test_a_starved_run_is_told_from_verdict_to_diff() -> None:
    evidence = [
        Evidence(what="Workers", value=0, unit="count"),
        Evidence(what="Disk", value=None, unit="bytes_per_s"),
    ]
    advice = made_advice().model_copy(
        update={
            "low": 1.4, "high": 1.8, "ceiling": 1.9, "risk": "More memory.", "diff": " loader(\n+    num_workers=4,",
            "anatomy": Anatomy(step_us=62_500, data_wait_us=2_500, h2d_exposed_us=None, compute_us=60_000),
        }
    )  # fmt: skip
    cause = made_cause().model_copy(update={"evidence": evidence})
    lines = shown(render_diagnosis(made_diagnosis(causes=[cause], advice=[advice], why="Because.")))
    assert lines[:3] == ["◆ Data-bound  confidence high, from 95 judged steps", "It waits.", "Because."]
    text = "\n".join(lines)
    (bar,) = [line for line in lines if line.startswith("Mean step")]
    assert (bar.count("▨"), bar.count("█"), bar.endswith("100 ms")) == (11, 17, True)
    assert "62.5 ms  × 1.60 with num_workers=4" in text
    assert "           ▨ data wait 40 ms  █ the rest 60 ms" in lines
    assert "no workers  costs 40% of a step" in text
    assert any(line.split() == ["Workers", "0"] for line in lines)
    assert any(line.split() == ["Disk", "–/s"] or line.split() == ["Disk", "–"] for line in lines)
    assert "Use workers   × 1.60   1.40 to 1.80   at most × 1.90 with no wait at all" in text
    assert "  +    num_workers=4," in lines
    assert max(map(len, lines)) <= 80


def test_a_busy_loop_gets_a_sentence_and_no_advice() -> None:
    diagnosis = made_diagnosis(bound="compute", level="healthy", causes=[], advice=[], sentence="It is busy.")
    lines = shown(render_diagnosis(diagnosis))
    assert lines[:2] == ["○ Compute-bound  confidence high, from 95 judged steps", "It is busy."]
    assert not any("Why" in line or "Would not help" in line for line in lines)


def test_a_run_without_a_verdict_says_what_is_missing() -> None:
    unknown = made_diagnosis(
        bound="unknown",
        level="unknown",
        causes=[],
        advice=[],
        anatomy=None,
        sentence="Not yet.",
        reason="12 of 25 steps",
    )
    assert shown(render_diagnosis(unknown)) == ["◌ Measuring", "Not yet.", "12 of 25 steps"]


def test_a_refusal_and_a_miss_are_said_in_words() -> None:
    refusal = Refusal(change="num_workers", title="More workers", why="All cores are busy.", evidence=[])
    entry = made_entry("run-1", 1.1).model_copy(
        update={"low": 1.4, "high": 1.8, "observed_low": 1.0, "observed_high": 1.2, "inside_interval": False}
    )
    text = "\n".join(shown(render_diagnosis(made_diagnosis(refusals=[refusal], ledger=[entry]))))
    assert "Would not help: More workers. All cores are busy." in text
    assert "run-1 carries the advice of earlier" in text
    assert "× 1.60   1.40 to 1.80" in text
    assert "× 1.10   1.00 to 1.20" in text
    assert "a miss: outside the predicted interval" in text


def test_the_runs_table_fits_its_words() -> None:
    starved = summary(
        run_id="photographs-1", status="finished", bound="data", level="bound", cause="no_workers", steps=1_234,
        data_stall_fraction=0.634, step_us=193_000,
        best_advice={"change": "num_workers", "from": 0, "to": 2, "predicted_speedup": 1.85},
    )  # fmt: skip
    head, first, second = shown(render_runs([starved, summary()]), width=120)
    assert head.split() == ["run", "status", "verdict", "cause", "data", "wait", "step", "advice", "steps"]
    assert first.split("  ")[0] == "photographs-1"
    for word in ("◆ data-bound", "no workers", "63%", "193 ms", "× 1.85", "1,234"):
        assert word in first
    assert second.split() == ["r1", "running", "◌", "measuring", "–", "–", "–", "0"]


def test_no_run_yet_is_a_sentence_and_not_an_empty_table() -> None:
    assert shown(render_runs([])) == ["No run yet: underfed.watch(loader) in a training script starts one."]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "us", "0.5 µs"), (41_200, "us", "41.2 ms"), (999_999, "us", "1 s"), (90e6, "us", "1.5 min"),
        (7.2e9, "us", "2 h"), (0.032, "fraction", "3.2%"), (0.634, "fraction", "63%"), (0, "cores", "0"),
        (212e6, "bytes", "212 MB"), (2.5e12, "bytes", "2.5 TB"), (1_200, "bytes_per_s", "1.2 kB/s"),
        (3.14159, "cores", "3.14"), (1.85, "factor", "× 1.85"), ("spawn", "setting", "spawn"), (None, "us", "–"),
        (12_345, "per_s", "12,345/s"),
    ],
)  # fmt: skip
def test_figures_have_three_digits_and_their_unit(value: float | str | None, unit: str, text: str) -> None:
    assert figures.evidence(Evidence.model_validate({"what": "x", "value": value, "unit": unit})) == text
