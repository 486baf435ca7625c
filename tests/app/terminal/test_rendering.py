"""What the terminal prints: words first, figures with their units, and a dash for what was not measured."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console, RenderableType

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry, made_trials, made_tuning
from underfed_server import figures
from underfed_server.advice.to_write import to_write
from underfed_server.model import (
    Advice,
    Anatomy,
    BestAdvice,
    CauseFinding,
    Diagnosis,
    EpochInfo,
    Evidence,
    HotLine,
    HoursSaved,
    LoaderLine,
    Losses,
    MeasuredReplay,
    RankDiagnosis,
    Refusal,
    Run,
    RunsPage,
    RunSummary,
    SharedCause,
    SlowSample,
    StatusCounts,
    Week,
    WorkerInfo,
    WorkersPage,
)
from underfed_server.terminal.rendering import render_diagnosis, render_runs
from underfed_server.terminal.surroundings import render_run

AT = "2026-11-20T10:00:00Z"


def shown(renderable: RenderableType, width: int = 80) -> list[str]:
    console = Console(width=width, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return [line.rstrip() for line in capture.get().splitlines()]


def summary(**said: Any) -> RunSummary:
    lists: dict[str, Any] = {"tags": {}, "spark": [], "hostnames": [], "steps": 0, "world_size": 1}
    usual = {"run_id": "r1", "status": "running", "bound": "unknown", "level": "unknown", "is_final": False}
    usual |= dict.fromkeys(("project", "name", "job", "user"), "") | dict.fromkeys(("started_at", "last_seen_at"), AT)
    return RunSummary.model_validate(
        dict.fromkeys(RunSummary.model_fields) | {"is_final": False} | lists | usual | said
    )


def line(loader: str, **said: Any) -> LoaderLine:
    usual = {"role": "train", "bound": "compute", "level": "healthy", "data_stall_fraction": 0.02}
    usual |= {"hours_lost": 0.01, "steps": 180}
    return LoaderLine.model_validate({"loader": loader, "share_of_run_fraction": 0.6, **usual, **said})


def page(*listed: RunSummary, all_runs: int | None = None) -> RunsPage:
    count = len(listed) if all_runs is None else all_runs
    counts = StatusCounts(all=count, running=count, finished=0, crashed=0, lost=0)
    hours = dict.fromkeys(("hours_lost", "hours_used", "previous_hours_lost", "previous_hours_used"), 0.0)
    week = Week(**hours, on_gpu=False, by_cause=[], days=[])
    return RunsPage(runs=list(listed), next_cursor=None, counts=counts, week=week)


def test_a_starved_run_is_printed_from_verdict_to_diff() -> None:
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
    assert lines[:3] == ["◆ Data-bound  confidence high, from the last 95 steps, host clock", "It waits.", "Because."]
    text = "\n".join(lines)
    (bar,) = [line for line in lines if line.startswith("Mean step")]
    assert (bar.count("▨"), bar.count("█"), bar.endswith("100 ms")) == (11, 17, True)
    assert "62.5 ms  × 1.40–1.80 with num_workers=4" in text
    assert "           ▨ data wait 40 ms  █ compute 60 ms" in lines
    assert "no workers  costs 40% of a step" in text
    assert any(line.split() == ["Workers", "0"] for line in lines)
    assert any(line.split() == ["Disk", "–/s"] or line.split() == ["Disk", "–"] for line in lines)
    assert "Use workers   × 1.40–1.80   about × 1.90 with instant data" in text
    assert "  +    num_workers=4," in lines
    assert max(map(len, lines)) <= 80


def test_a_busy_loop_gets_a_sentence_and_no_advice() -> None:
    diagnosis = made_diagnosis(
        bound="compute", level="healthy", causes=[], advice=[], sentence="It is busy.", clock="gpu", judged_steps=2_000,
        anatomy=Anatomy(
            step_us=100_000, data_wait_us=4_000, h2d_exposed_us=None, compute_us=96_000, gpu_idle_us=300, sampler_us=40
        ),
    )  # fmt: skip
    lines = shown(render_diagnosis(diagnosis))
    assert lines[:2] == ["○ Healthy  confidence high, from the last 2,000 steps, device clock", "It is busy."]
    assert "             of the wait 300 µs with the GPU idle" in lines, "the sampler takes too little of it to be said"
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
    ended = unknown.model_copy(update={"status": "finished"})
    assert shown(render_diagnosis(ended))[0] == "◌ No verdict"


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
    assert "✗ outside the predicted interval" in text


def test_a_gain_that_was_not_computed_says_why_and_the_line_to_try_stands_below() -> None:
    advice = made_advice(None).model_copy(
        update={
            "assumption": "no batch was seen with workers", "command": "underfed run --set in_order=false -- ./t",
            "changes_batch_order": True, "diff": "",
        }
    )  # fmt: skip
    lines = shown(render_diagnosis(made_diagnosis(advice=[advice])))
    at = lines.index("Use workers   try it   gain not computed")
    assert lines[at + 1 :] == [
        "  So.",
        "  Changes the order of batches for the same seed.",
        "  Not computed: no batch was seen with workers",
        "  Try it: underfed run --set in_order=false -- ./t",
    ]


def gaining(speedup: float | None, low: float, high: float, **said: Any) -> Advice:
    figures = {"predicted_speedup": speedup, "low": low, "high": high}
    return Advice.model_validate(dict(made_advice()) | figures | said)


OF_VAL = {"loader": "val", "run_speedup": 1.19, "run_low": 1.15, "run_high": 1.22}


def test_the_gain_of_one_loop_is_said_beside_that_of_the_run() -> None:
    lines = shown(render_diagnosis(made_diagnosis(advice=[gaining(1.67, 1.5, 1.8, **OF_VAL)])), width=120)
    assert "Use workers   × 1.15–1.22 for the run, × 1.50–1.80 between its pauses" in lines


def test_what_a_run_lost_is_said_with_what_it_used() -> None:
    lost = made_diagnosis(hours_lost=48 / 3600, hours_used=115 / 3600)
    assert "48 s lost to waiting for data, of 1.92 min in the training loop, over all 100 steps: 42%." in " ".join(
        shown(render_diagnosis(lost))
    )
    on_gpus = made_diagnosis(hours_lost=48 / 3600, gpu_hours_lost=48 / 3600, hours_used=115 / 3600)
    assert "48 s of GPU time lost to waiting for data, of 1.92 min in the training loop" in "\n".join(
        shown(render_diagnosis(on_gpus))
    )
    at_start = made_diagnosis(is_lost_at_start=True)
    assert "all 100 steps, most of it in the first 5, before those judged." in " ".join(
        shown(render_diagnosis(at_start))
    )


def saving(**said: Any) -> str:
    known: dict[str, Any] = {"status": "finished", "hours_saved": HoursSaved(low=1 / 6, high=1 / 3)}
    return "\n".join(shown(render_diagnosis(made_diagnosis(**known | said)), width=120))


def test_what_the_first_fix_would_have_saved_is_said_of_an_ended_run() -> None:
    assert "10 min to 20 min saved over the same steps if you use workers." in saving()
    assert "saved" not in saving(hours_saved=None)
    assert "saved" not in saving(status="running"), "its page says what is ahead"


def test_what_to_do_beside_the_loader_is_said_where_no_change_of_it_helps() -> None:
    lines = shown(render_diagnosis(made_diagnosis(advice=[], beside_loader="Move the other jobs.")))
    assert "Outside the loader: Move the other jobs. (gain not known)" in lines


def test_an_advice_whose_interval_holds_1_is_one_to_try_and_shortens_no_step() -> None:
    anatomy = Anatomy(step_us=62_500, data_wait_us=2_500, h2d_exposed_us=None, compute_us=60_000)
    to_try = gaining(1.3, 0.94, 1.6, anatomy=anatomy)
    text = "\n".join(shown(render_diagnosis(made_diagnosis(advice=[to_try]))))
    assert "Use workers   try it   may be × 0.94–1.60" in text
    assert "Predicted" not in text


def test_the_step_is_shown_as_it_is_with_the_first_fix() -> None:
    anatomy = Anatomy(step_us=62_500, data_wait_us=2_500, h2d_exposed_us=None, compute_us=60_000)
    promised = gaining(1.5, 1.3, 1.6, change="prefetch_factor", anatomy=anatomy)
    text = "\n".join(shown(render_diagnosis(made_diagnosis(advice=[promised, made_advice(None)])), width=100))
    assert "× 1.30–1.60 with prefetch_factor=4" in text


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (gaining(1.6, 1.4, 1.8), "× 1.40–1.80 number of workers"),
        (gaining(1.2, 0.9, 1.4), "try it number of workers"),
        (made_advice(None), "try it number of workers"),
        (gaining(1.67, 1.5, 1.8, **OF_VAL), "× 1.15–1.22 number of workers of val, its loop × 1.50–1.80"),
    ],
)
def test_the_runs_table_says_what_the_run_gains_and_by_which_change(advice: Advice, said: str) -> None:
    best = {name: getattr(advice, name) for name in BestAdvice.model_fields}
    assert shown(render_runs(page(summary(best_advice=best)), ""), width=160)[1].endswith(said)


def test_runs_that_share_the_cause_are_named() -> None:
    shared = SharedCause.model_validate(
        {
            "cause": "storage_wait", "kind": "mount", "place": "nas:/x", "hours_lost": 4.0,
            "sentence": "2 runs wait for storage at nas:/x at one time.",
            "runs": [{"run_id": run_id, "name": "", "hours_lost": 2.0} for run_id in ("run-1", "run-2")],
            "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T12:00:00Z",
        }
    )  # fmt: skip
    text = " ".join(shown(render_diagnosis(made_diagnosis(shared=[shared]))))
    assert "Shared: 2 runs wait for storage at nas:/x at one time.  Together with" in text
    assert "with run-2" in text


def test_the_computed_speed_of_instant_data_stands_beside_the_measured_one() -> None:
    replay = MeasuredReplay(run_id="run-2", batches=20, real_steps_per_s=10.1, instant_steps_per_s=16.2)
    lines = shown(render_diagnosis(made_diagnosis(replay=replay)))
    assert lines[lines.index("Why") - 3 : lines.index("Why") - 1] == [
        "With instant data: computed 16.7, measured by replay 16.2 steps/s  (20 batches;",
        "10.1 as they were loaded)",
    ]


@pytest.mark.parametrize(
    ("changes", "reading"),
    [
        ({"inside_interval": True}, "✓ inside the predicted interval"),
        ({"inside_interval": True, "is_narrow": False}, "inside the predicted interval, which was too wide"),
        ({"inside_interval": None}, "No gain was predicted"),
        ({"observed_speedup": None, "why_not": "not comparable, changed as well: batch_size (32 → 64)"}, "not comp"),
        ({"observed_speedup": None}, "not enough steps yet"),
    ],
)
def test_the_ledger_says_why_there_is_no_observed_gain(changes: dict[str, Any], reading: str) -> None:
    entry = made_entry("run-1", 1.1).model_copy(update=changes)
    lines = shown(render_diagnosis(made_diagnosis(ledger=[entry])))
    assert any(line.strip().startswith(reading) for line in lines)


def test_the_runs_table_fits_its_words() -> None:
    starved = summary(
        run_id="photographs-1", status="finished", bound="data", level="bound", cause="no_workers", steps=1_234,
        data_stall_fraction=0.634, step_us=193_000,
        best_advice={"change": "num_workers", "from": 0, "to": 2, "predicted_speedup": 1.85, "low": None, "high": None},
    )  # fmt: skip
    head, first, second = shown(render_runs(page(starved, summary()), ""), width=120)
    assert head.split() == ["run", "status", "verdict", "cause", "wait/step", "step", "steps", "fix", "gains"]
    assert first.split("  ")[0] == "photographs-1"
    for word in ("◆ data-bound", "no workers", "63%", "193 ms", "1,234", "× 1.85 number of workers"):
        assert word in first
    assert second.split() == ["r1", "running", "◌", "measuring", "–", "–", "0", "–"]
    for status, why, word in (
        ("finished", None, "no verdict"),
        ("finished", "no loader seen: a shell script", "no loader"),
    ):
        row = shown(render_runs(page(summary(status=status, no_loader=why)), ""), width=120)[1]
        assert row.split()[:5] == ["r1", status, "◌", *word.split()]


def test_80_columns_have_room_for_the_status_of_a_run_that_copies_hold_up() -> None:
    advised = {"change": "pin_memory", "from": False, "to": True, "predicted_speedup": 1.2, "low": 1.1, "high": 1.3}
    copying = summary(
        run_id="recorded-crowded-pictures-by-two", status="finished", bound="transfer", level="healthy",
        copy_fraction=0.22, data_stall_fraction=0.002, step_us=271_000, best_advice=advised,
    )  # fmt: skip
    lines = shown(render_runs(page(copying), ""), width=80)
    assert all(cell in lines[1] for cell in ("finished", "◆ transfer-bound", "22% copies", "× 1.10–1.30"))


@pytest.mark.parametrize(
    ("width", "left_out"), [(110, ["1,234"]), (80, ["1,234", "193 ms", "number of workers", "no workers"])]
)
def test_a_narrow_terminal_leaves_columns_out_and_cuts_none(width: int, left_out: list[str]) -> None:
    starved = summary(
        run_id="photographs-of-a-long-week-1", status="finished", bound="data", level="bound", cause="no_workers",
        steps=1_234, data_stall_fraction=0.634, step_us=193_000,
        best_advice={"change": "num_workers", "from": 0, "to": 2, "predicted_speedup": 1.85, "low": 1.5, "high": 2.1},
    )  # fmt: skip
    lines = shown(render_runs(page(starved), ""), width=width)
    cells = ["◆ data-bound", "no workers", "63%", "193 ms", "1,234", "× 1.50–2.10", "number of workers"]
    assert [each for each in cells if each not in lines[1]] == sorted(left_out, key=cells.index)
    assert "…" not in "".join(lines)
    assert "".join(line.split("  ")[0].strip() for line in lines[1:]) == "photographs-of-a-long-week-1"


def test_of_a_run_that_copies_hold_up_the_table_has_their_share() -> None:
    copying = summary(bound="transfer", level="healthy", data_stall_fraction=0.002, copy_fraction=0.22)
    assert "◆ transfer-bound" in (row := shown(render_runs(page(copying), ""), width=120)[1])
    assert "22% copies" in row and "0.2%" not in row
    unknown = summary(bound="transfer", level="healthy", data_stall_fraction=0.002)
    assert "  copies" in shown(render_runs(page(unknown), ""), width=120)[1]


def test_no_run_yet_is_a_sentence_and_not_an_empty_table() -> None:
    assert shown(render_runs(page(), ""), width=100) == [
        "No run yet. To record one: underfed run -- python train.py; to see one: underfed demo"
    ]
    assert shown(render_runs(page(), "bound:data")) == ["No run matches bound:data"]


def test_runs_beyond_the_limit_are_counted() -> None:
    assert shown(render_runs(page(summary(), all_runs=1_201), ""), width=120)[-1] == (
        "1,200 more; --limit shows more of them"
    )


def worker(number: int, **said: Any) -> WorkerInfo:
    usual = {"worker": number, "batches": 10, "lives": [], "died": 0, "raised": 0, "is_growing": False, "threads": 5}
    return WorkerInfo.model_validate(dict.fromkeys(WorkerInfo.model_fields) | usual | said)


def workers_page(*workers: WorkerInfo, pin_us: int | None = None) -> WorkersPage:
    said = {"run_id": "r1", "rank": 0, "loader": "train", "workers": workers, "pin_us_p50": pin_us}
    return WorkersPage.model_validate(dict.fromkeys(WorkersPage.model_fields) | said)


def run(**said: Any) -> Run:
    listed = (
        *("command", "ranks", "pods", "loaders", "hosts", "devices", "epochs", "storage"),
        *("died_workers", "trackers"),
    )
    lists: dict[str, list[Any]] = {name: [] for name in listed}
    usual: dict[str, Any] = {"config": {}, "overrides": {}, "not_measured": {}, "notes": ""}
    usual["losses"] = dict.fromkeys(Losses.model_fields, 0)
    return Run.model_validate(dict.fromkeys(Run.model_fields) | dict(summary()) | lists | usual | said)


@pytest.mark.parametrize(("paused", "is_said"), [(0.3, True), (0.02, False), (None, False)])
def test_what_pauses_took_is_said_beside_what_was_lost(paused: float | None, is_said: bool) -> None:
    hours: dict[str, Any] = {"hours_lost": 7 / 3600, "hours_used": 50 / 3600, "data_stall_fraction": 0.2}
    text = " ".join(shown(render_diagnosis(made_diagnosis(paused_fraction=paused, **hours))))
    assert ("lost to waiting for data, of 35 s between pauses in the" in text) == is_said
    assert ("; pauses took 15 s, 30% of 50 s." in text) == is_said


def test_what_was_lost_is_said_with_its_share_where_the_headline_has_another() -> None:
    hours: dict[str, Any] = {"hours_lost": 2.04 / 3600, "hours_used": 6.84 / 3600}
    alike, other = (made_diagnosis(data_stall_fraction=share, **hours) for share in (0.298, 0.26))
    assert "2.04 s lost to waiting for data, of 6.84 s in the training loop, over all 100 steps." in lost_of(alike)
    assert "2.04 s lost to waiting for data, of 6.84 s in the training loop, over all 100 steps: 30%." in lost_of(other)


def test_what_ranks_lose_is_said_of_each_unless_they_are_gpus() -> None:
    ranks = [RankDiagnosis(rank=rank, data_stall_fraction=0.4, straggler=False) for rank in range(8)]
    hours: dict[str, Any] = {"hours_lost": 48 / 3600, "hours_used": 115.4 / 3600, "ranks": ranks}
    text = lost_of(made_diagnosis(**hours))
    assert "6 s on each rank (48 s on all 8) lost to waiting for data, of 14.4 s in the training loop" in text
    on_gpus = lost_of(made_diagnosis(gpu_hours_lost=48 / 3600, **hours))
    assert "48 s of GPU time lost to waiting for data, of 1.92 min in the training loop, summed over 8 ranks" in on_gpus


def lost_of(found: Diagnosis) -> str:
    return " ".join(shown(render_diagnosis(found), width=200))


SPEEDS = {"steps_per_s": 10.0, "samples_per_s": 320.0, "instant_data_steps_per_s": 18.0}


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({"instant_data_high_steps_per_s": 18.0}, "; 533 if no step waited for data"),
        ({"instant_data_high_steps_per_s": 16.8, "instant_data_steps_per_s": 16.7}, "; 533 if no step waited for data"),
        ({"paused_fraction": 0.5}, "320 between pauses, where it would be 533 if no step waited for data"),
        ({"instant_data_steps_per_s": None}, "320 samples/s as it ran"),
    ],
)  # fmt: skip
def test_how_fast_a_loop_is_has_its_pauses_and_what_it_would_be_without_waits(
    changes: dict[str, Any], ending: str
) -> None:
    step = Anatomy(step_us=100_000, data_wait_us=40_000, h2d_exposed_us=None, compute_us=60_000)
    said = figures.speed(made_diagnosis(**{"status": "finished", "anatomy": step, **SPEEDS, **changes})) or ""
    assert ending in said
    assert said.endswith(ending)


def test_what_a_run_ran_on_is_said_in_a_few_lines_of_80_columns() -> None:
    place = {
        "hostname": "node-1", "loader": "train", "mount": "/mnt/imagenet", "file_system": "ext4", "device": "nvme0n1p2",
        "kind": "nvme", "files_seen": 1_204, "example": None,
    }  # fmt: skip
    epoch = {"rank": 0, "loader": "train", "epoch_index": 0, "start_us": 0, "first_step_index": 0, "sampler_us": 3_200}
    described = run(
        storage=[
            place,
            place | {"mount": "/nfs", "file_system": None, "device": None, "kind": "unknown", "files_seen": 1},
        ],
        epochs=[dict.fromkeys(EpochInfo.model_fields) | epoch],
        launcher="torchrun",
        restart_count=2,
        slurm_job_id="4711",
        queue="gpu",
        pods=["llama-0", "llama-1"],
    )
    page = workers_page(
        worker(0, rss_bytes=1.2e9, pss_bytes=0.4e9),
        worker(1, rss_bytes=1.9e9, pss_bytes=0.5e9, is_growing=True, rss_bytes_per_hour=9e5, pss_bytes_per_hour=1.1e9),
        pin_us=1_400,
    )
    lines = shown(render_run(made_diagnosis(), described, page))
    at = lines.index("What it ran on")
    assert lines[at + 1 :] == [
        "  Each worker       1.12 GiB to 1.77 GiB resident, 381 MiB to 477 MiB of it not",
        "                    shared, 5 threads",
        "  Worker 1          grows by 1.02 GiB an hour",
        "  Sampler           3.2 ms when the newest epoch began",
        "  Pinning a batch   1.4 ms, in a thread of the training process",
        "  Data of train     /mnt/imagenet (ext4, NVMe on nvme0n1p2), 1,204 files seen",
        "  Data of train     /nfs, 1 file seen",
        "  Launched          by torchrun, restarted 2 times",
        "  Scheduled         as SLURM job 4711, 2 pods from llama-0 on, queue gpu",
    ]
    assert max(map(len, lines)) <= 80


def test_a_worker_that_died_is_printed_before_the_verdict() -> None:
    died = {
        "rank": 0, "loader": "train", "worker": 2, "iterator_index": 1, "epoch_index": 1, "pid": 4711, "start_us": 0,
        "end_us": 192_000_000, "ended": "died",
    }  # fmt: skip
    lines = shown(render_run(made_diagnosis(), run(died_workers=[died]), workers_page()))
    assert lines[:3] == [
        "✗ Worker 2 of train died (process 4711) 3.2 min into the run, in epoch 1.",
        "",
        "◆ Data-bound  confidence high, from the last 95 steps, host clock",
    ]


def test_a_run_of_which_nothing_more_is_known_ends_with_its_diagnosis() -> None:
    assert shown(render_run(made_diagnosis(), run(), workers_page())) == shown(render_diagnosis(made_diagnosis()))


def hot_line(fraction: float, called: str) -> HotLine:
    sentence = f"{called} at data.py:41, in Photos.__getitem__"
    place = {"function": "Photos.__getitem__", "file": "data.py", "line": 41, "called": called}
    return HotLine.model_validate({**place, "fraction": fraction, "sentence": sentence})


def test_the_five_lines_that_loading_is_in_most_are_printed() -> None:
    loading = [hot_line(0.4 / number, f"part_{number}") for number in range(1, 8)]
    lines = shown(render_diagnosis(made_diagnosis(hot_lines=loading, step_lines=[hot_line(0.31, "torch.save")])))
    at = lines.index("Where loading spends its time")
    assert lines[at + 1] == "   40%  part_1 at data.py:41, in Photos.__getitem__"
    assert [line.split()[1] for line in lines[at + 1 : at + 6]] == [f"part_{number}" for number in range(1, 6)]
    assert lines[at + 6] == ""
    at = lines.index("Where the program spends its time between batches")
    assert lines[at + 1] == "  31%  torch.save at data.py:41, in Photos.__getitem__"
    bare = shown(render_diagnosis(made_diagnosis()))
    assert not any("spends its time" in line for line in bare)


def test_a_share_is_printed_with_how_well_it_is_known() -> None:
    margins = {"resize": 0.093, "decode": 0.0041, "pad": None}
    loading = [hot_line(0.3, name).model_copy(update={"margin_fraction": off}) for name, off in margins.items()]
    lines = shown(render_diagnosis(made_diagnosis(hot_lines=loading)))
    at = lines.index("Where loading spends its time")
    assert [line.split(" at ")[0].split() for line in lines[at + 1 : at + 4]] == [
        ["30%", "±", "9", "resize"],
        ["30%", "±", "0.4", "decode"],
        ["30%", "pad"],
    ]


def test_of_a_run_that_waits_for_nothing_the_costliest_line_alone_is_printed() -> None:
    loading = [hot_line(0.4 / number, f"part_{number}") for number in (1, 2)]
    well: dict[str, Any] = {"bound": "compute", "level": "healthy", "causes": [], "advice": []}
    lines = shown(render_diagnosis(made_diagnosis(hot_lines=loading, **well)))
    (where,) = [line for line in lines if "part_" in line]
    assert where == "Where loading spends its time: 40% part_1 at data.py:41, in Photos.__getitem__"
    few = shown(render_diagnosis(made_diagnosis(looks=14, needed_looks=100, **well)))
    assert not any("spends its time" in line for line in few)


def test_a_line_that_several_places_call_is_printed_with_its_callers() -> None:
    callers = [
        {"function": name, "file": "data.py", "line": at, "fraction": share, "sentence": f"{name} at data.py:{at}"}
        for name, at, share in (("decode", 15, 0.6), ("augment", 20, 0.38))
    ]
    line = HotLine.model_validate({**hot_line(0.98, "time.sleep").model_dump(), "callers": callers})
    lines = shown(render_diagnosis(made_diagnosis(hot_lines=[line])))
    at = lines.index("Where loading spends its time")
    assert lines[at + 1 : at + 4] == [
        "  98%  time.sleep at data.py:41, in Photos.__getitem__",
        "  60%    through decode at data.py:15",
        "  38%    through augment at data.py:20",
    ]


def test_the_agents_own_share_is_said_where_it_is_a_hundredth() -> None:
    def said(fraction: float) -> bool:
        found = made_diagnosis(hot_lines=[hot_line(0.4, "decode")], agent_fraction=fraction)
        return "  1.7% of all looks found Underfed itself: in no share here" in shown(render_diagnosis(found))

    assert said(0.017)
    assert not said(0.009)


def test_where_a_run_waits_for_data_its_slowest_samples_are_named() -> None:
    def slowest(
        *, causes: list[CauseFinding] | None = None, load_us: int = 2_100_000, runqueue_us: int = 0, **changes: Any
    ) -> list[str]:
        sample = {"index": 18_233, "file": "scans/0481.dcm", "load_us": load_us, "runqueue_us": runqueue_us, "rank": 0}
        changes |= {"slow_samples": [SlowSample.model_validate(sample)]}
        lines = shown(render_diagnosis(made_diagnosis(causes=causes or [made_cause()], **changes)))
        return lines[lines.index("Slowest samples") + 1 :][:1] if "Slowest samples" in lines else []

    assert [line.split() for line in slowest()] == [["index", "18,233,", "scans/0481.dcm", "2.1", "s"]]
    assert slowest(load_us=9_000_000, runqueue_us=6_300_000)[0].endswith(" 9 s, 2.7 s of it without waiting for a core")
    assert not slowest(load_us=300_000), "a batch of many such is no longer for one of them"
    assert not slowest(bound="compute", level="healthy")
    assert not slowest(causes=[made_cause("slow_samples")]), "its evidence names them"


def test_that_another_line_takes_the_time_by_now_is_said_below_the_lines() -> None:
    line = HotLine(
        function="f", file="data.py", line=1, called=None, fraction=0.5, sentence="f at data.py:1", callers=[]
    )
    shown_lines = shown(render_diagnosis(made_diagnosis(hot_lines=[line], hot_change="That changed on the way: f.")))
    at = shown_lines.index("Where loading spends its time")
    assert shown_lines[at + 2] == "  That changed on the way: f."


def test_of_too_few_looks_it_is_said_how_many_there_were() -> None:
    for bound, of in (("compute", "looks"), ("data", "step_looks"), ("host", "looks")):
        few: dict[str, Any] = {"bound": bound, of: 41, "needed_looks": 100}
        of_other = shown(render_diagnosis(made_diagnosis(**few)))
        assert not any("spends its time" in line for line in of_other), bound
    lines = shown(render_diagnosis(made_diagnosis(looks=41, step_looks=7, needed_looks=100)))
    at = lines.index("Where loading spends its time")
    assert lines[at + 1] == "  not known: 41 looks at it are too few, 100 are needed"
    assert sum("spends its time" in line for line in lines) == 1


def test_the_loaders_of_a_run_with_several_are_listed() -> None:
    val = line(
        "val",
        role="validation",
        bound="data",
        level="bound",
        data_stall_fraction=0.9,
        hours_lost=1.5,
        share_of_run_fraction=0.4,
    )
    lines = shown(render_diagnosis(made_diagnosis(loader="val", loaders=[line("train"), val])))
    first = lines.index("Loaders  shares of the time in the loops") + 1
    assert [each.split() for each in lines[first : first + 3]] == [
        ["loader", "for", "verdict", "waiting", "lost", "its", "loop", "steps"],
        ["train", "training", "○", "healthy", "0.2%", "36", "s", "60%", "180"],
        ["val", "validation", "◆", "data-bound", "30%", "1.5", "h", "40%", "180"],
    ]
    assert max(map(len, lines)) <= 80
    assert "Loaders" not in "".join(shown(render_diagnosis(made_diagnosis(loaders=[line("train")]))))


def test_a_copy_that_is_not_hidden_is_a_part_of_the_step() -> None:
    copying = Anatomy(step_us=100_000, data_wait_us=10_000, h2d_exposed_us=30_000, compute_us=60_000)
    lines = shown(render_diagnosis(made_diagnosis(anatomy=copying)))
    (bar,) = [line for line in lines if line.startswith("Mean step")]
    assert [bar.count(sign) for sign in "▨▤█"] == [3, 8, 17], "a bar of 28"
    assert "           ▨ data wait 10 ms  ▤ copy 30 ms  █ compute 60 ms" in lines


def test_the_wait_for_other_loaders_is_a_part_of_the_step() -> None:
    anatomy = Anatomy(
        step_us=100_000, data_wait_us=50_000, h2d_exposed_us=None, compute_us=30_000, others_wait_us=20_000
    )
    lines = shown(render_diagnosis(made_diagnosis(anatomy=anatomy, advice=[])))
    (bar,) = [each for each in lines if each.startswith("Mean step")]
    assert (bar.count("▨"), bar.count("▧"), bar.count("█")) == (14, 6, 8)
    assert "           ▨ data wait 50 ms  ▧ for other loaders 20 ms  █ compute 30 ms" in lines


@pytest.mark.parametrize(
    ("own", "origin"),
    [
        ({"diff_file": "data.py:12"}, "data.py:12"),
        ({"diff_file": "data.py:12", "diff": '+Data("…", num_workers=4)'}, "data.py:12, without what is in quotes"),
        (
            {"diff_file": "data.py:12", "diff": '+Data("…", num_workers=4)  # …'},
            "data.py:12, without what is in quotes and in comments",
        ),
        ({"diff_file": "data.py:12", "sketch": "n is args.n here"}, "A sketch of data.py:12: n is args.n here."),
        ({"sketch": "the call was not read"}, "A sketch: the call was not read."),
    ],
)
def test_lines_are_the_programs_own_or_called_a_sketch(own: dict[str, str], origin: str) -> None:
    advice = made_advice().model_copy(update={"diff": "+num_workers=4", **own})
    lines = shown(render_diagnosis(made_diagnosis(advice=[advice])))
    assert lines[lines.index(f"  {advice.diff}") - 1] == f"  {origin}"


def test_what_a_run_tried_is_a_table_under_what_it_kept() -> None:
    kept = made_tuning()
    tuned = made_diagnosis(trials=made_trials(), tuning=kept, to_write=to_write(kept), advice=[], causes=[])
    lines = shown(render_diagnosis(tuned))
    begin = lines.index("Tuning  kept a faster setting")
    text = " ".join(line.strip() for line in lines[begin + 1 : begin + 3])
    assert text.startswith(
        "num_workers 0 → 3, prefetch_factor None → 2: × 2.10 as fast, measured in turns (2.00–2.20); "
    )
    assert text.endswith("; 41 s of trials, 3 min (2 min–4 min) gained since")
    table = [line.split() for line in lines[begin + 3 : begin + 6]]
    assert table[0] == ["num_workers", "prefetch_factor", "steps", "steps/s", "gain", "predicted"]
    assert table[1] == ["before", "0", "None", "30", "5", "(4.9–5.1)"]
    assert table[2] == ["kept", "3", "2", "30", "10.5", "(10.1–10.9)", "×", "2.10", "×", "1.90"]
    assert "  num_workers=0, prefetch_factor=None: it is slower" in lines
    first = lines.index("Write num_workers=3 into the program   × 2.10 measured")
    assert "  num_workers=3" in lines[first:], "the line to write into the program"


def test_why_a_run_is_not_tuned_is_said() -> None:
    refused = made_tuning(status="refused", kept=None, reason="an iterable data set is switched between epochs")
    lines = shown(render_diagnosis(made_diagnosis(tuning=refused)))
    assert lines[lines.index("Tuning  not tuned") + 1] == "  an iterable data set is switched between epochs"


def test_a_run_that_tuned_itself_carries_its_own_proof() -> None:
    entry = made_entry("run-1", 1.6).model_copy(update={"advice_of": "run-1"})
    assert "  run-1 tuned itself" in shown(render_diagnosis(made_diagnosis(ledger=[entry])))
    trials = made_diagnosis(ledger=[entry], tuning=made_tuning())
    assert "  run-1 tuned itself" not in shown(render_diagnosis(trials)), (
        "its trials show the one gain that was measured"
    )
