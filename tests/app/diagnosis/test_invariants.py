"""No figure of a diagnosis contradicts another one, whatever was measured: of made runs of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests.app.diagnosis.altered import with_loader
from tests.app.diagnosis.invariants import INVARIANTS, contradictions
from tests.app.diagnosis.loop import Played
from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis
from tests.app.made_facts import made_epoch, made_run
from underfed_server.advice.advise import Recommendation, advise
from underfed_server.diagnose import diagnosis_of
from underfed_server.diagnosis.chosen_loader import of_run
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.overview import overview_of
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts, WorkerFacts
from underfed_server.model import Anatomy, BesideAction, Diagnosis, Evidence, HoursSaved, LoaderLine, Role, Signal

STEPS = 48
MILLISECONDS = st.sampled_from([0.0, 0.3, 5.0, 40.0, 90.0, 400.0])
SOME = st.lists(MILLISECONDS, min_size=1, max_size=3)
ROLES: list[Role] = ["train", "validation", "other"]
WORK = st.lists(st.sampled_from([1.0, 20.0, 50.0, 200.0]), min_size=1, max_size=3)


def diagnosed(facts: RunFacts, *, with_advice: bool = True) -> Diagnosis:
    overview = overview_of(facts)
    verdict = judge(facts, overview=overview)
    recommendation = advise(facts, verdict, overview) if with_advice else Recommendation()
    return diagnosis_of(facts, overview, of_run(verdict, facts), recommendation)


def diagnosed_later(facts: RunFacts, earlier: Recommendation) -> Diagnosis:
    overview = overview_of(facts)
    return diagnosis_of(facts, overview, of_run(judge(facts, overview=overview), facts), earlier)


def with_copies(rank: RankFacts, exposed_ms: Sequence[float | None]) -> RankFacts:
    known = [np.nan if each is None else each * 1e3 for each in exposed_ms]
    exposed = np.resize(np.asarray(known, dtype=np.float64), len(rank.steps))
    rest = np.maximum(0.0, rank.steps.step_us - rank.steps.data_wait_us)
    exposed = np.where(np.isfinite(exposed), np.minimum(exposed, rest), np.nan)
    return replace(
        rank,
        steps=replace(rank.steps, h2d_us=exposed * 1.2, h2d_exposed_us=exposed),
        total_copy_us=float(np.nansum(exposed)) if np.isfinite(exposed).any() else None,
    )


@st.composite
def single_runs(draw: st.DrawFn) -> RunFacts:
    """Of one loader on one rank, the parts of which need not fit together: clocks and samples stray."""
    workers, uses_gpu = draw(st.sampled_from([0, 1, 2, 8])), draw(st.booleans())
    waits = draw(SOME)
    has_clock = uses_gpu and draw(st.booleans())
    made: dict[str, Any] = {
        "wait_ms": waits,
        "work_ms": draw(WORK),
        "steps": STEPS,
        "num_workers": workers,
        "load_cpu_ms": draw(MILLISECONDS),
        "load_blocked_ms": draw(MILLISECONDS),
        "load_runqueue_ms": draw(st.sampled_from([0.0, 0.0, 30.0])),
        "read_bytes": draw(st.sampled_from([0.0, 1e6])),
        "usable_cores": draw(st.sampled_from([None, 1.0, 2.0, 8.0])),
        "busy_cores": draw(st.sampled_from([None, 0.5, 2.0, 7.9])),
        "process_cores": draw(st.sampled_from([None, 0.2, 1.0])),
        "workers_cores": draw(st.sampled_from([None, 1.0])),
        "uses_gpu": uses_gpu,
        "sampler_ms": draw(st.sampled_from([None, 0.1, 60.0])),
        "pin_ms": draw(st.sampled_from([None, 30.0])),
        "queue_depth": draw(st.sampled_from([None, 0.0, 3.0])) if workers else None,
        "cpu_slowdown": draw(st.sampled_from([None, ((1.0, 1.0), (8.0, 1.6))])),
        "status": draw(st.sampled_from(["running", "finished"])),
        "batch_bytes": draw(st.sampled_from([None, 1_000_000, 600_000_000])),
    }
    if has_clock:
        made["gpu_idle_ms"] = [draw(st.sampled_from([0.0, 0.5, 1.0])) * wait for wait in waits]
        made["gpu_work_ms"] = draw(st.sampled_from([None, 1.0, 45.0]))
    facts = made_run(**made)
    facts = with_loader(facts, {"pin_memory": draw(st.sampled_from([None, False, True]))})
    (rank,) = facts.ranks
    if uses_gpu:
        rank = with_copies(rank, draw(st.lists(st.one_of(st.none(), MILLISECONDS), min_size=1, max_size=3)))
        rank = replace(rank, gpu_util=draw(st.sampled_from([None, 0.1, 1.0])))
    if draw(st.booleans()):
        epoch = made_epoch(0, iterator_us=draw(st.sampled_from([None, 50_000])), grad_enabled=True, in_background=True)
        rank = replace(rank, epochs=(epoch,)) if draw(st.booleans()) else rank
    if workers and draw(st.booleans()):
        threads = draw(st.sampled_from([None, 3, 20]))
        rank = replace(rank, workers=tuple(WorkerFacts(worker=place, threads=threads) for place in range(workers)))
    loader = LoaderFacts("train", facts.loader, "train", 0, (rank,))
    return replace(facts, ranks=(rank,), loaders=(loader,))


@st.composite
def played_runs(draw: st.DrawFn) -> RunFacts:
    """Of a loop that was played through, so that waits come from what loads."""
    loads: list[Sequence[float]] = [[5.0], [40.0], [120.0], [10.0, 10.0, 10.0, 300.0]]
    played = Played(
        load_ms=draw(st.sampled_from(loads)),
        work_ms=draw(st.sampled_from([2.0, 50.0])),
        num_workers=draw(st.sampled_from([0, 1, 2, 4])),
        delivery_ms=draw(st.sampled_from([0.2, 12.0])),
        pin_ms=draw(st.sampled_from([None, 30.0])),
        sampler_ms=draw(st.sampled_from([0.0, 20.0])),
        startup_ms=draw(st.sampled_from([0.0, 400.0])),
        epoch_steps=draw(st.sampled_from([12, 60])),
        epochs=draw(st.sampled_from([1, 5])),
    )
    facts = played.facts(usable_cores=draw(st.sampled_from([1.0, 4.0])), busy_cores=draw(st.sampled_from([0.9, 3.9])))
    return replace(facts, loaders=(LoaderFacts("train", facts.loader, "train", 0, facts.ranks),))


@st.composite
def runs_of_many(draw: st.DrawFn) -> RunFacts:
    """Of several ranks, each with several loaders, of which some are asked in the same loop."""
    count, work = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([20.0, 100.0]))
    workers, is_gpu = draw(st.sampled_from([0, 2])), draw(st.booleans())
    others = draw(st.lists(st.tuples(SOME, st.sampled_from(ROLES), st.booleans()), max_size=2))
    own = []
    for rank in range(count):
        waits = draw(SOME)
        facts = made_run(
            wait_ms=waits,
            work_ms=work,
            steps=STEPS,
            num_workers=workers,
            load_cpu_ms=60.0,
            usable_cores=4.0,
            uses_gpu=is_gpu,
        )
        own.append(replace(facts.ranks[0], rank=rank, hostname=f"node-{rank // 2}"))
    other_loaders, beside = [], np.zeros(STEPS)
    for place, (waits, role, is_mate) in enumerate(others, 1):
        made = made_run(wait_ms=waits, work_ms=work, steps=STEPS, uses_gpu=is_gpu)
        name, info = f"{role}-{place}", made.loader
        assert info is not None
        ranks = tuple(replace(made.ranks[0], rank=rank, hostname=f"node-{rank // 2}") for rank in range(count))
        if is_mate:
            beside = beside + made.ranks[0].steps.data_wait_us
        loop = 0 if is_mate else place
        other_loaders.append(LoaderFacts(name, info.model_copy(update={"loader": name}), role, loop, ranks))
    if beside.any():
        own = [_beside(rank, beside) for rank in own]
        # Loaders of one loop have its time.
        longest = max(rank.total_step_us for rank in own)
        other_loaders = [replace(each, ranks=tuple(replace(rank, total_step_us=longest) for rank in each.ranks))
                         if each.loop == 0 else each for each in other_loaders]  # fmt: skip
    loaders = (LoaderFacts("train", facts.loader, "train", 0, tuple(own)), *other_loaders)
    return replace(facts, ranks=tuple(own), loaders=loaders)


def _beside(rank: RankFacts, others_us: np.ndarray[Any, Any]) -> RankFacts:
    step = rank.steps.step_us + others_us
    return replace(
        rank,
        steps=replace(rank.steps, step_us=step, start_us=np.cumsum(step) - step),
        total_step_us=rank.total_step_us + float(np.sum(others_us)),
        others_wait_us=others_us,
        others_stall_us=float(np.mean(others_us)),
    )


# Simulating advice takes a tenth of a second. What is found is said as it is found: facts are too long to be shrunk.
EXAMPLES = settings.default.max_examples if settings.default else 100
FOUND = settings(phases=[Phase.explicit, Phase.generate])


@settings(FOUND, max_examples=EXAMPLES)
@given(single_runs())
def test_figures_of_a_verdict_do_not_contradict_each_other(facts: RunFacts) -> None:
    assert contradictions(diagnosed(facts, with_advice=False)) == []


@settings(FOUND, max_examples=EXAMPLES // 5)
@given(single_runs())
def test_figures_of_a_run_do_not_contradict_each_other(facts: RunFacts) -> None:
    assert contradictions(diagnosed(facts)) == []


@settings(FOUND, max_examples=EXAMPLES // 20)
@given(played_runs())
def test_figures_of_a_loop_that_was_played_do_not_contradict_each_other(facts: RunFacts) -> None:
    assert contradictions(diagnosed(facts)) == []


@settings(FOUND, max_examples=EXAMPLES // 5)
@given(runs_of_many())
def test_figures_of_several_loaders_and_ranks_do_not_contradict_each_other(facts: RunFacts) -> None:
    assert contradictions(diagnosed(facts)) == []


@settings(FOUND, max_examples=EXAMPLES // 5)
@given(single_runs(), single_runs())
def test_figures_of_advice_that_was_kept_do_not_contradict_a_later_verdict(then: RunFacts, now: RunFacts) -> None:
    earlier = judge(then)
    assume(earlier.bound == judge(now).bound)  # else it is computed again
    found = diagnosed_later(now, advise(then, earlier))
    # What it was computed from stays its evidence.
    assert [each for check in INVARIANTS if "evidence" not in check.__name__ for each in check(found)] == []


@settings(FOUND, max_examples=EXAMPLES // 2)
@given(single_runs())
def test_the_cpu_costs_no_more_than_loading_computed_and_was_ready_to(facts: RunFacts) -> None:
    """By itself, and for handing over also what the training thread was ready to."""
    rank = facts.ranks[0]
    parts = [getattr(rank.batches, f"{name}_us") for name in ("cpu", "runqueue")]
    ready = sum(float(np.nansum(part)) for part in parts) / len(rank.batches) / rank.step_us
    costs = [each.cost_fraction for each in judge(facts).causes if each.cause == "cpu_limited"]
    if (facts.loader.num_workers if facts.loader else 0) and not rank.has_device_clock:
        assert sum(costs) <= 3 * ready + (rank.process.main_runqueue_fraction or 0.0) + 1e-9


# --- each invariant is one that can be broken -----------------------------------------------------

STEP = Anatomy(step_us=100_000, data_wait_us=40_000, h2d_exposed_us=None, compute_us=60_000)
LINE = LoaderLine(loader="train", role="train", bound="data", level="bound", data_stall_fraction=0.4, hours_lost=2.0,
                  share_of_run_fraction=1.0, steps=100)  # fmt: skip
SOUND = made_diagnosis(
    sentence="The training loop waits for data 40% of every step.",
    why="So. The loop gets 320 samples/s and would get 534 if no step waited for data.",
    causes=[made_cause()],
    advice=[made_advice().model_copy(update={"title": "Raise num_workers from 0 to 4", "diff": "+num_workers=4"})],
    signals=[Signal(signal="Worker processes", measured=Evidence(what="num_workers", value="0", unit="setting"),
                    healthy="1 or more", reading="cause", says="no workers")],
    loaders=[LINE],
)  # fmt: skip


def advised(**changes: object) -> Diagnosis:
    return SOUND.model_copy(update={"advice": [SOUND.advice[0].model_copy(update=changes)]})


def said(**changes: object) -> Diagnosis:
    return SOUND.model_copy(update=changes)


def caused(cause: str, sentence: str, figures: dict[str, float]) -> Diagnosis:
    """A cause of its figures."""
    rows = [Evidence(what=what, value=value, unit="fraction") for what, value in figures.items()]
    known = {"cause": cause, "sentence": sentence, "evidence": rows}
    return said(causes=[SOUND.causes[0].model_copy(update=known)])


BROKEN: dict[str, Diagnosis] = {
    "parts_add_up": said(anatomy=STEP.model_copy(update={"compute_us": 50_000})),
    "shares_are_shares": said(data_stall_fraction=1.4),
    "causes_cost_no_more_than_is_lost": said(causes=[made_cause().model_copy(update={"cost_fraction": 0.5})]),
    "level_is_of_the_loss": said(level="healthy"),
    "lost_hours_are_used_hours": said(hours_lost=6.0),
    "hours_of_loaders_add_up": said(loaders=[LINE.model_copy(update={"hours_lost": 1.0})]),
    "ranges_are_ordered": advised(low=1.7, high=1.8),
    "no_fix_saves_more_than_its_part": advised(predicted_speedup=1.9),
    "nothing_is_above_instant_data": advised(assumption="If it cost nothing: about × 1.87."),
    "what_instant_data_may_turn_out_to_be_is_no_less": said(instant_data_high_steps_per_s=16.0),
    "a_fix_of_its_causes_alone_gains_no_more_than_they_cost": said(
        advice=[made_advice().model_copy(update={"change": "sharing_strategy"})],
        causes=[made_cause("ipc_copy").model_copy(update={"cost_fraction": 0.1})]),
    "no_interval_ends_above_what_the_evidence_lets_be_saved": advised(high=1.65, evidence=[
        Evidence(what="Cost of no workers at most, of step time", value=0.2, unit="fraction")]),
    "no_ceiling_is_above_what_the_evidence_lets_be_saved": advised(change="faster_sampler", ceiling=1.65, evidence=[
        Evidence(what="Cost of slow sampler at most, of step time", value=0.2, unit="fraction")]),
    "an_interval_says_something": advised(predicted_speedup=None, low=0.7, high=2.4, assumption="It was not seen."),
    "more_workers_are_not_advised_against_full_cores": said(causes=[made_cause("cpu_limited")],
        advice=[SOUND.advice[0].model_copy(update={"low": 0.9, "high": 1.9})]),
    "what_is_applied_is_the_first_fix": said(advice=[*SOUND.advice, made_advice().model_copy(
        update={"change": "in_order", "command": "underfed run --apply run-1 -- python train.py"})]),
    "there_is_one_first_fix": said(hours_saved=HoursSaved(low=1.0, high=2.0), advice=[
        SOUND.advice[0].model_copy(update={"is_promised": False}), *SOUND.advice]),
    "no_ceiling_lies_within_an_interval": advised(low=1.4, high=1.65, ceiling=1.62),
    "there_is_one_could_be": advised(ceiling=1.2),
    "a_predicted_step_is_the_gain": advised(anatomy=STEP),
    "a_run_gains_no_more_than_its_loop": advised(run_speedup=1.7),
    "a_change_is_offered_or_refused_once": said(advice=[*SOUND.advice, *SOUND.advice]),
    "settings_are_those_of_the_title": advised(to=8),
    "what_is_marked_is_a_cause_or_explained": said(causes=[]),
    "a_cause_is_not_ruled_out": said(signals=[]),
    "nothing_unexplained_is_called_ruled_out": said(why="the signals below were ruled out."),
    "one_name_for_one_thing": said(causes=[SOUND.causes[0].model_copy(update={"cause_label": "none"})]),
    "evidence_of_one_name_has_one_value": said(causes=[SOUND.causes[0].model_copy(update={"evidence": [
        Evidence(what="Load", value=1, unit="us"), Evidence(what="Load", value=2, unit="us")]})]),
    "the_sentence_has_the_figure_of_its_field": said(sentence="The training loop waits for data 41% of every step."),
    "who_divides_the_hours_finds_a_share_that_is_said": said(hours_lost=1.5, loaders=[]),
    "causes_are_named_with_their_part_of_the_wait": said(why="So (90% of the wait). The loop gets 320 samples/s."),
    "causes_stand_in_the_order_of_what_is_done_about_them": said(
        why="So. Slow.", causes=[made_cause(), made_cause("slow_sampler").model_copy(update={"sentence": "Slow."})],
        advice=[made_advice().model_copy(update={"change": "faster_sampler"}), *SOUND.advice]),
    "what_is_saved_is_what_the_gain_takes_off": said(hours_saved=HoursSaved(low=1.0, high=1.2)),
    "what_others_give_back_has_one_gain": said(
        beside_loader="Move the other jobs.", beside_speedup=2.0, hours_used=2.0, is_beside_first=False,
        beside=[BesideAction(title="Move the other jobs", detail="", speedup=2.0, hours_saved=1.5)]),
    "the_speed_is_that_of_the_step": said(instant_data_steps_per_s=40.0, instant_data_high_steps_per_s=30.0),
    "every_gain_has_its_ceiling_and_is_below_it": advised(ceiling=1.2, high=1.6),
    "costs_add_up_to_the_wait_or_the_rest_is_said": said(data_stall_fraction=0.5),
    "what_comes_first_is_one_answer": said(is_beside_first=True),
    "a_leading_cause_is_what_the_sentence_is_about": said(why="The loop gets 320 samples/s."),
    "restarts_that_took_more_than_waiting_are_named_first": said(hours_restarting=1.0),
    "a_larger_loss_than_waiting_is_named_first": said(paused_fraction=0.5),
    "what_is_advised_follows_from_a_cause_that_is_named": said(
        why="The loop gets 320 samples/s and would get 534 if no step waited for data."),
    "what_others_take_is_for_them_to_give_back": said(beside_loader="Move the other jobs."),
    "whether_workers_keep_up_can_be_reckoned": advised(why="4 workers load: a batch takes 40 ms to load, so that of 4 "
        "workers one is ready every 10 ms, and the loop takes one every 60 ms, so that it still waits.", evidence=[
        Evidence(what="Loading one batch", value=40_000, unit="us"),
        Evidence(what="Step without its data wait", value=60_000, unit="us")]),
    "what_the_loop_takes_is_one_figure": said(causes=[SOUND.causes[0].model_copy(update={"evidence": [
        Evidence(what="Step without its data wait", value=58_000, unit="us")]})]),
    "shares_of_the_run_are_those_of_the_hours": said(
        sentence="41% of the time in the loops goes to waiting for the loader."),
    "sizes_have_one_unit": advised(why="Each batch has 200 MB."),
    "a_healthy_run_is_left_alone": said(bound="compute", causes=[]),
    "what_is_busy_does_not_wait": said(
        bound="compute", level="watch", data_stall_fraction=0.07,
        sentence="The training loop is kept busy: 7.0% of a step is spent waiting for data."),
    "an_event_is_no_cause": said(why="2 of 300 steps account for most of the 12% of step time spent waiting."),
    "waiting_for_storage_and_for_a_core_are_two_things": caused("storage_wait", "Loading waits for a disk.", {
        "Reading from storage, of load time that is waited for": 0.7,
        "Ready to run, no core free, of load time that is waited for": 0.6}),
    "what_is_said_of_joining_is_its_figure": caused("slow_collate", "Joining samples takes 70% of a load.", {
        "Joining samples, of load time without waits for a core": 0.4}),
    "what_others_use_is_said_first_and_as_measured": caused("cpu_limited", "Other jobs use 1.8 of the 2 cores.", {
        "Cores used by other jobs": 0.7, "Cores this run may use": 2.0}),
    "what_is_predicted_was_seen_for_five_minutes": caused("memory_pressure", "In 2 hours memory is used up: this run "
        "takes 8 GiB more an hour, as it did for 4.2 minutes.", {}),
}  # fmt: skip


def test_a_sound_diagnosis_contradicts_nothing() -> None:
    assert contradictions(SOUND) == []


OF_VAL = LINE.model_copy(update={"loader": "val", "loop": 1, "hours_lost": 0.0})


@pytest.mark.parametrize("of", [{"clock": "gpu"}, {"loaders": [LINE, OF_VAL]}], ids=["a device's clock", "two loaders"])
def test_what_is_saved_is_checked_of_runs_of_all_kinds(of: dict[str, object]) -> None:
    broken = said(hours_saved=HoursSaved(low=1.0, high=1.2), **of)
    assert any("are saved by" in each for each in contradictions(broken))


@pytest.mark.parametrize("check", INVARIANTS, ids=lambda check: check.__name__)
def test_what_contradicts_is_found(check: Any) -> None:
    assert list(check(BROKEN[check.__name__]))
