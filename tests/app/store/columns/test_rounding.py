"""Rounded durations are within the bound that their bits give, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.made_windows import RUN, made_stream
from tests.app.store.posting import KEY, post, post_split, settle
from underfed_server.measurements import RECORDED, Columns, names_of
from underfed_server.store.columns.chunks import encode
from underfed_server.store.columns.ladder import SUM
from underfed_server.store.columns.lanes import IDLE, LOAD_PARTS, REST, packed, unpacked
from underfed_server.store.columns.rounding import rounded
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.writing.compact import compact

WINDOWS = list(made_stream(40, seed=9))


def recorded(store: Store, precision_bits: int | None) -> None:
    store.set_retention_policy("vision", RetentionPolicy(precision_bits=precision_bits))
    post_split(store, WINDOWS, (20, 40))


@pytest.mark.parametrize(("bits", "most"), [(4, 0.0625), (8, 0.0040), (12, 0.00025)])
def test_durations_are_off_by_no_more_than_their_bits_allow(store: Store, bits: int, most: float) -> None:
    recorded(store, None)
    exact_steps, exact_batches = store.steps("run-1", 0, "train"), store.batches("run-1", 0, "train")
    store.set_retention_policy("vision", RetentionPolicy(precision_bits=bits))
    again = [window | {"run_id": "run-2"} for window in WINDOWS]
    post(store, again)
    store.write(lambda connection: compact(connection, KEY._replace(run_id="run-2")))
    steps, batches = store.steps("run-2", 0, "train"), store.batches("run-2", 0, "train")
    for kind, exact, found in (("steps", exact_steps, steps), ("batches", exact_batches, batches)):
        for name in RECORDED[kind]:
            true, kept = getattr(exact, name), getattr(found, name)
            if name in names_of(kind, "duration"):
                assert kept == pytest.approx(true, rel=most, nan_ok=True), name
            elif name not in ("start_us", "received_us"):
                assert np.array_equal(kept, true, equal_nan=True), name
    assert not np.array_equal(steps.step_us, exact_steps.step_us)
    assert np.abs(steps.start_us - exact_steps.start_us).max() <= most * np.median(exact_steps.step_us) + 1
    begins_off = np.abs(batches.start_us - exact_batches.start_us)
    assert begins_off.max() <= most * np.median(exact_batches.load_us) + 1
    received_off = np.abs(batches.received_us - exact_batches.received_us)
    assert (received_off <= begins_off + most * exact_batches.load_us + 1).all()


def test_overviews_are_made_of_the_exact_figures(store: Store) -> None:
    recorded(store, 4)
    totals = store.step_totals("run-1")[0]
    with store.reading() as reader:
        from_rollups = [
            rollups.figures[SUM, 0].sum()
            for track in reader.tracks("run-1", 0, "steps:train")
            if (rollups := reader.chunk_rollups(track, 0, 9, ["step_us"])) is not None
        ]
    assert sum(from_rollups) == totals.step_us


def test_a_series_says_that_its_single_figures_were_rounded(store: Store) -> None:
    recorded(store, 8)
    with store.reading() as reader:
        assert reader.kept("run-1", 0, "steps:train").precision_bits == 8
        assert reader.kept("run-1", 0, "host").precision_bits is None


def test_everything_is_exact_unless_a_project_says_otherwise(store: Store) -> None:
    store.set_retention_policy("speech", RetentionPolicy(precision_bits=4))
    recorded(store, None)
    settle(store)
    assert RUN["project"] == "vision"
    sent = [value for window in WINDOWS for value in window["steps"][0]["step_us"]]
    assert store.steps("run-1", 0, "train").step_us.tolist() == sent


def test_fewer_bits_take_fewer_bytes() -> None:
    figures = np.random.default_rng(1)
    step_us = np.round(figures.lognormal(11, 0.3, 4_096))
    columns = dict.fromkeys(RECORDED["steps"], np.full(4_096, np.nan)) | {
        "step_us": step_us,
        "data_wait_us": np.round(figures.lognormal(9.5, 0.7, 4_096)),
        "start_us": np.cumsum(step_us) - step_us,
    }
    exact, few = (len(encode(rounded("steps:t", packed("steps:t", columns), bits))) for bits in (None, 8))
    assert few < 0.75 * exact


def test_so_do_the_parts_of_a_load_and_what_they_come_to() -> None:
    figures = np.random.default_rng(1)
    parts = {name: np.round(figures.lognormal(9, 0.5, 4_096)) for name in LOAD_PARTS}
    columns = dict.fromkeys(RECORDED["batches"], np.full(4_096, np.nan)) | parts
    columns |= {"load_us": sum(parts.values(), np.zeros(4_096)), "start_us": np.zeros(4_096)}
    exact, few = (len(encode(rounded("batches:t", packed("batches:t", columns), bits))) for bits in (None, 8))
    assert few < 0.75 * exact


def batches_of_busy_workers() -> Columns:
    """Four workers; each begins a batch 150 µs after the one before."""
    figures = np.random.default_rng(2)
    columns = dict.fromkeys(RECORDED["batches"], np.full(4_096, np.nan))
    load_us, start_us, worker = np.round(figures.lognormal(11, 0.3, 4_096)), np.empty(4_096), np.arange(4_096) % 4
    for each in range(4):
        own = load_us[each::4] + 150
        start_us[each::4] = 1e9 + np.cumsum(own) - own
    return columns | {"load_us": load_us, "start_us": start_us, "received_us": start_us + load_us, "worker": worker}


def test_starts_do_not_run_away_with_what_was_rounded_before() -> None:
    columns = batches_of_busy_workers()
    held = packed("batches:t", columns)
    assert IDLE in held
    found = unpacked(rounded("batches:t", held, 8))
    off = found["start_us"] - columns["start_us"]
    assert 0 < np.abs(off).max() <= 0.004 * np.median(columns["load_us"])
    assert len(encode(rounded("batches:t", held, 8))) < 0.8 * len(encode(held))


def test_a_load_of_several_threads_is_off_by_no_more_than_its_own_bits_allow() -> None:
    figures = np.random.default_rng(3)
    load_us = np.round(figures.lognormal(9, 0.01, 4_096))
    columns = dict.fromkeys(RECORDED["batches"], np.full(4_096, np.nan))
    columns |= {"load_us": load_us, "cpu_us": 8 * load_us, "start_us": np.cumsum(load_us)}
    held = packed("batches:t", columns) | {REST: -7 * load_us}
    held.pop("load_us", None)
    assert unpacked(rounded("batches:t", held, 8))["load_us"] == pytest.approx(load_us, rel=0.004)
