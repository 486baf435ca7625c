"""What a run has tried of its own settings is not advised to it again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.advice.made_case import altered, changes, made_case, made_verdict, of, refused
from tests.app.made_facts import made_run
from underfed_server.advice.advise import Recommendation, recommend
from underfed_server.facts.record import RunFacts
from underfed_server.model import Trial, Tuning
from underfed_server.store.reading.tunings import Tuned


def settings(number: int, prefetch: int | None = 2) -> dict[str, Any]:
    return {"num_workers": number, "prefetch_factor": prefetch if number else None}


def trial(tried: dict[str, Any], pace: float | None, *, search: int = 0, number: int = 1, kept: bool = False) -> Trial:
    ends = {"low": pace and pace * 0.97, "high": pace and pace * 1.03}
    known = {"rank": 0, "search": search, "number": number, "settings": tried, "steps": 30, "steps_per_s": pace}
    nothing = dict.fromkeys(("predicted_speedup", "predicted_low", "predicted_high", "speedup", "reason"))
    return Trial.model_validate({**nothing, **known, **ends, "kept": kept, "blocks": []})


def tuned(*trials: Trial, kept: int | None = 2) -> RunFacts:
    """A run of two workers, which the loop waits for."""
    nothing = dict.fromkeys(Tuning.model_fields)
    search = {"loader": "train", "rank": 0, "status": "kept", "began_with": settings(0), "kept": settings(kept or 0)}
    counts = {"trial_steps": 90, "trial_us": 1, "lost_us": 0, "searches": 1, "lines": []}
    tuning = Tuning.model_validate({**nothing, **search, **counts, "status_label": ""})
    facts = made_run(
        wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, busy_cores=2.2, process_cores=0.2,
        workers_cores=2.0, queue_depth=0,
    )  # fmt: skip
    return altered(facts, tuned=Tuned(tuning, trials, None))


def advised(facts: RunFacts, best: int = 4) -> Recommendation:
    """Where the simulation has so many workers for the fastest; 2: nothing else gains."""
    case = made_case(facts, made_verdict(too_few_workers=0.6), lambda one: 1.5 if one.num_workers >= best > 2 else 1.0)
    return recommend(case)


NONE, TWO = trial(settings(0), 5.0, number=0), trial(settings(2), 20.0, kept=True)


def test_what_was_not_tried_is_advised() -> None:
    assert of("num_workers", advised(tuned(NONE, TWO))).to == 4


def test_what_was_tried_is_said_with_what_was_measured_instead() -> None:
    found = advised(tuned(NONE, TWO, trial(settings(4), 20.4, number=2)))
    assert "num_workers" not in changes(found)
    refusal = refused("num_workers", found)
    assert refusal.title == "Raise num_workers from 2 (kept by --tune) to 4"
    assert refusal.why == "Tried by --tune, against what is in use: num_workers=4: × 1.02 (0.98–1.06)."


def test_no_workers_are_advised_as_little_where_they_were_tried() -> None:
    case = made_case(tuned(NONE, TWO), made_verdict(ipc_copy=0.6), lambda one: 1.0 if one.num_workers else 1.5)
    refusal = refused("num_workers", recommend(case))
    assert refusal.why == "Tried by --tune, against what is in use: num_workers=0: × 0.25 (0.24–0.26)."


@pytest.mark.parametrize(
    "other",
    [trial(settings(4), None, number=2), trial(settings(4, 8), 20.4, number=2), trial(settings(4), 9.0, search=1)],
    ids=["not measured", "with another queue", "in a search that ended otherwise"],
)
def test_what_is_not_known_of_a_setting_does_not_speak_against_it(other: Trial) -> None:
    assert of("num_workers", advised(tuned(NONE, TWO, other))).to == 4


def test_a_search_that_ended_with_another_setting_than_the_one_in_use_shows_nothing() -> None:
    three = trial(settings(3), 20.0, kept=True)
    assert of("num_workers", advised(tuned(NONE, three, trial(settings(4), 20.4, number=2), kept=3))).to == 4


def test_a_refusal_says_what_was_tried_and_names_what_was_kept() -> None:
    refusal = refused("num_workers", advised(tuned(NONE, TWO, trial(settings(3), 10.0, number=2)), best=2))
    assert refusal.title == "More workers than the 2 that --tune kept"
    trials = "Tried by --tune, against what is in use: num_workers=3: × 0.50 (0.48–0.52). "
    assert refusal.why.startswith(trials), "that fewer were slower says nothing of more"
    assert refusal.why.endswith("no other number of workers gains 5% or more.")
