"""Every cause is named first in the diagnosis of a run that has it, and nothing in its healthy neighbour's.

The runs are recorded trainings (``tests/scenarios/record.py``), and synthetic ones where a training would need other
hardware; the trainings themselves are judged by ``make soak``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.diagnosis.invariants import contradictions
from tests.app.judged_runs import JudgedRuns, judge
from tests.scenarios.pipelines.pipeline import HOT, Strength, names, pipeline
from tests.scenarios.pipelines.running import run_name
from tests.scenarios.pipelines.synthetic.normalised_pictures import joining
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows
from tests.scenarios.record import is_right, read, recorded, recording
from underfed_server.model import Diagnosis
from underfed_server.names import CAUSES
from underfed_server.store.store import Store

Case = tuple[str, Strength]

SURE: tuple[Strength, ...] = ("none", "clear", "strong")
"""At strength ``weak`` finding nothing is no mistake."""
SYNTHETIC: list[Case] = [(name, strength) for name in names() if name.startswith("synthetic.") for strength in SURE]


class Diagnoses:
    """Each run is judged once, when it is first asked for: several processes share these tests. None shares its store,
    as an earlier run of the same job may be spoken of."""

    def __init__(self, directory: Path) -> None:
        self._runs = JudgedRuns(directory, lambda name: windows_of(*split(name)))
        self._directory = directory

    def __getitem__(self, case: Case) -> Diagnosis:
        return self._runs.diagnosis(".".join(case))

    def of(self, windows: Sequence[dict[str, Any]]) -> Diagnosis:
        store = Store(f"sqlite:///{self._directory / windows[0]['run_id']}.db")
        try:
            return judge(store, windows)
        finally:
            store.close()

    def close(self) -> None:
        self._runs.close()


def split(name: str) -> Case:
    pipeline_name, _, strength = name.rpartition(".")
    return pipeline_name, strength  # type: ignore[return-value]  # as the cases are written


@pytest.fixture(scope="module")
def diagnoses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diagnoses]:
    made = Diagnoses(tmp_path_factory.mktemp("judged"))
    yield made
    made.close()


def windows_of(name: str, strength: Strength) -> list[dict[str, Any]]:
    synthesise = pipeline(name).windows
    if synthesise is None:
        return read(recording(name, strength))
    return list(synthesise(strength, run_name(name, strength)))


def test_there_is_a_pipeline_for_every_cause() -> None:
    assert {pipeline(name).cause for name in names()} == {*CAUSES, None}


@pytest.mark.parametrize(("name", "strength"), [each for each in recorded() if not each[0].startswith(HOT)])
def test_the_cause_is_named_first(name: str, strength: Strength, diagnoses: Diagnoses) -> None:
    seen = diagnoses[name, strength]
    assert is_right(seen, name, strength), (seen.sentence, seen.causes)
    assert contradictions(seen) == []
    if name.startswith("sick.") and strength != "none":
        assert (seen.bound == "data") == (pipeline(name).cause != "memory_pressure")


def test_no_more_workers_are_advised_where_all_cores_are_busy(diagnoses: Diagnoses) -> None:
    seen = diagnoses["sick.cpu_limited", "strong"]
    assert "num_workers" not in {advice.change for advice in seen.advice}
    assert "num_workers" in {refusal.change for refusal in seen.refusals}


def test_pictures_that_were_normalised_are_advised_as_bytes_and_other_floats_refused(diagnoses: Diagnoses) -> None:
    pictures = diagnoses["synthetic.normalised_pictures", "clear"]
    volumes = diagnoses.of(list(synthetic_windows(joining("clear", fits_uint8=False), "volumes")))
    assert "smaller_dtype" in {advice.change for advice in pictures.advice}
    assert "smaller_dtype" not in {advice.change for advice in volumes.advice}
    assert "smaller_dtype" in {refusal.change for refusal in volumes.refusals}


@pytest.mark.parametrize(("name", "strength"), SYNTHETIC)
def test_synthetic_windows_of_another_machine_are_judged_likewise(
    name: str, strength: Strength, diagnoses: Diagnoses
) -> None:
    seen = diagnoses[name, strength]
    expected = None if strength == "none" else pipeline(name).cause
    assert [finding.cause for finding in seen.causes] == ([expected] if expected else [])
    assert contradictions(seen) == []
    if expected is None:
        assert seen.advice == []


def test_a_run_of_a_few_steps_has_no_verdict(diagnoses: Diagnoses) -> None:
    run = SyntheticRun(steps=10, step_us=50_000, data_wait_us=20_000, load_us=30_000)
    seen = diagnoses.of(list(synthetic_windows(run, "a-few-steps")))
    assert (seen.bound, seen.level) == ("unknown", "unknown")
    assert seen.reason is not None and seen.reason.startswith("10 of 25 steps;")
    assert seen.sentence.startswith("The run ended after 10 of the 25 steps that a verdict needs: 4")


def test_a_straggler_costs_all_ranks_what_they_wait_for_it(diagnoses: Diagnoses) -> None:
    seen = diagnoses["sick.slow_rank", "clear"]
    (slow,) = [rank for rank in seen.ranks if rank.straggler]
    assert seen.hours_lost is not None
    assert seen.hours_used and slow.data_stall_fraction
    assert seen.hours_lost / seen.hours_used == pytest.approx(slow.data_stall_fraction, abs=0.08)
    assert seen.best_advice is not None
    gain, *_ = seen.best_advice.gain_of_run
    assert gain is not None
    assert seen.hours_used * (1 - 1 / gain) < 1.05 * seen.hours_lost


def test_the_gain_of_a_validation_is_not_that_of_its_run(diagnoses: Diagnoses) -> None:
    seen = diagnoses["synthetic.slow_validation", "clear"]
    (val,) = [line for line in seen.loaders if line.loader == seen.loader]
    best = seen.best_advice
    assert best is not None
    assert (val.role, best.loader) == ("validation", "val")
    assert best.predicted_speedup and best.run_speedup and best.run_low and best.run_high
    assert 1 < best.run_low <= best.run_speedup <= best.run_high < best.predicted_speedup
    saved = 1 - 1 / best.run_speedup
    assert saved == pytest.approx(val.share_of_run_fraction * (1 - 1 / best.predicted_speedup))
    assert seen.hours_lost and seen.hours_used
    assert saved <= seen.hours_lost / seen.hours_used
