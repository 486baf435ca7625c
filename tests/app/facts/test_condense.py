"""From recorded windows to what a run is judged by: which steps, which batches, whose cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.posting import post
from underfed_server.errors import NotFoundError
from underfed_server.facts import condense as condense_module
from underfed_server.facts import hosts
from underfed_server.facts.condense import condense
from underfed_server.facts.record import RankFacts, RunFacts, epoch_starts
from underfed_server.measurements import BatchRows
from underfed_server.store.store import Store

SECOND_US = 1_000_000


def condensed(
    store: Store, run_id: str = "run-1", *, loader: str = "train", warmup_steps: int = 5, judged_steps: int = 2_000
) -> RunFacts:
    limits = {"warmup_steps": warmup_steps, "judged_steps": judged_steps}
    return condense(store, run_id, choose=lambda _loaders, _status: loader, **limits)


def rank_of(store: Store) -> RankFacts:
    (rank,) = condensed(store).ranks
    return rank


def even_window(index: int = 0, **changes: Any) -> dict[str, Any]:
    """Ten steps of 100 ms, a quarter of each spent waiting, and no batches."""
    steps = {
        "loader": "train",
        "epoch_index": 0,
        "first_step_index": 10 * index,
        "first_batch_index": 10 * index,
        "start_us": SECOND_US * index,
        "step_us": [100_000] * 10,
        "data_wait_us": [25_000] * 10,
    }
    return made_window(index, steps=[steps], **changes)


def gpu(**columns: Any) -> list[dict[str, Any]]:
    return [{"gpu_index": 0, "at_us": [0], **columns}]


BESIDE = ("batches", "workers", "host", "memory")
"""What lies behind the steps of a rank."""


@pytest.mark.sql
def test_what_lies_behind_the_steps_is_read_when_asked_for_or_at_once_where_that_is_not_possible_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in (0, 1):
        post(store, made_stream(12, rank=rank))
    read: list[int] = []
    batches_of = condense_module._batches

    def noted(hosts: Any, rank: int, *rest: Any) -> BatchRows:
        read.append(rank)
        return batches_of(hosts, rank, *rest)

    monkeypatch.setattr(condense_module, "_batches", noted)
    at_once = condensed(store)
    assert read == [0, 1]
    with store.snapshot():
        later = condensed(store)
        assert read == [0, 1]
        assert len(later.ranks[1].batches) == len(at_once.ranks[1].batches) > 0
        assert read == [0, 1, 1]
        for one, other in zip(at_once.ranks, later.ranks, strict=True):
            assert [repr(getattr(one, name)) for name in BESIDE] == [repr(getattr(other, name)) for name in BESIDE]
    assert read == [0, 1, 1, 0]


def test_the_first_steps_are_counted_and_not_judged(store: Store) -> None:
    post(store, [even_window(0), even_window(1)])
    facts = condensed(store, warmup_steps=5)
    assert (facts.steps, facts.judged_steps) == (20, 15)
    rank = facts.median_rank
    assert rank.steps.start_us[0] == 500_000
    assert (rank.step_us, rank.data_wait_us, rank.stall_fraction) == (100_000, 25_000, 0.25)
    assert (rank.total_step_us, rank.total_data_wait_us) == (2 * SECOND_US, 500_000)


def test_only_the_newest_steps_are_judged(store: Store) -> None:
    slow = even_window(0)
    slow["steps"][0]["data_wait_us"] = [90_000] * 10
    post(store, [slow, even_window(1)])
    facts = condensed(store, warmup_steps=0, judged_steps=9)
    assert facts.median_rank.stall_fraction == 0.25


def test_batches_are_those_that_were_ready_while_judged_steps_ran(store: Store) -> None:
    ready_us = [-1, 499_999, 500_000, 999_999, SECOND_US + 1]
    batches = {
        "loader": "train",
        "epoch_index": 0,
        "batch_index": list(range(5)),
        "start_us": [max(0, at_us - 100) for at_us in ready_us],
        "load_us": [at_us - max(0, at_us - 100) if at_us > 0 else 0 for at_us in ready_us],
    }
    post(store, [even_window(0, batches=[batches])])
    kept = rank_of(store).batches
    assert (kept.start_us + kept.load_us).tolist() == [500_000, 999_999]
    assert np.isnan(kept.worker).all(), "loaded in the training process"
    assert np.isnan(kept.cpu_us).all(), "what was not sent was not measured"


def test_what_an_epoch_takes_before_its_first_request_is_put_on_its_first_step(store: Store) -> None:
    later = even_window(1)
    later["steps"][0] |= {"epoch_index": 1, "first_batch_index": 0, "start_us": 1_300_000}
    begun = {"loader": "train", "epoch_index": 1, "start_us": SECOND_US, "first_step_index": 10, "startup_us": 325_000}
    post(store, [even_window(0), later | {"epochs": [begun]}])
    steps = rank_of(store).steps
    (first,) = np.flatnonzero(epoch_starts(steps))
    assert (steps.start_us[first], steps.step_us[first]) == (SECOND_US, 400_000)
    assert steps.data_wait_us[first] == 325_000, "the wait of the first request is a part of the start-up"


@pytest.mark.parametrize(("ended", "wait_us"), [("exhausted", 105_000), ("broken_off", 25_000), ("error", 25_000)])
def test_what_an_epoch_takes_after_its_last_step_counts_where_its_end_was_seen(
    store: Store, ended: str, wait_us: int
) -> None:
    epoch = {"loader": "train", "epoch_index": 0, "start_us": 0, "first_step_index": 0, "steps": 10}
    ending_us = 80_000 if ended == "exhausted" else None
    post(store, [even_window(0, epochs=[epoch | {"end_us": 1_080_000, "ending_us": ending_us, "ended": ended}])])
    (rank,) = condensed(store, warmup_steps=0).ranks
    assert rank.steps.data_wait_us.tolist() == [wait_us] + [25_000] * 9


EPOCHS, OF_EPOCH = 600, 5


def short_epochs(rank: int = 0, loader: str = "train", *, validations: int = 0) -> list[dict[str, Any]]:
    """600 epochs of five steps of 10 ms, half of it waiting; workers start in 40 ms and stop in 20."""
    windows = []
    for first in range(0, EPOCHS, 100):
        steps, epochs = [], []
        for index in range(first, first + 100):
            start_us = index * 110_000
            steps.append({
                "loader": loader, "epoch_index": index, "first_step_index": index * OF_EPOCH, "first_batch_index": 0,
                "start_us": start_us + 40_000, "step_us": [10_000] * OF_EPOCH, "data_wait_us": [5_000] * OF_EPOCH,
            })  # fmt: skip
            epochs.append({
                "loader": loader, "epoch_index": index, "first_step_index": index * OF_EPOCH, "start_us": start_us,
                "iterator_us": 40_000, "startup_us": 45_000, "steps": OF_EPOCH, "end_us": start_us + 110_000,
                "ending_us": 20_000, "ended": "exhausted",
            })  # fmt: skip
        number = first // 100
        passes = [
            {"loader": "val", "epoch_index": number, "first_step_index": 0, "start_us": first * 110_000}
        ] if number < validations else []  # fmt: skip
        end_us = (first + 100) * 110_000
        windows.append(made_window(number, rank=rank, end_us=end_us, steps=steps, epochs=[*passes, *epochs]))
    return windows


def test_what_epochs_cost_is_summed_over_the_whole_run_however_many_there_are(store: Store) -> None:
    post(store, short_epochs())
    (rank,) = condensed(store, judged_steps=200).ranks
    edges_us = EPOCHS * 60_000
    assert (rank.total_epochs, rank.total_edges_us) == (EPOCHS, edges_us)
    assert rank.total_step_us == EPOCHS * OF_EPOCH * 10_000 + edges_us
    assert rank.total_stall_us == EPOCHS * OF_EPOCH * 5_000 + edges_us
    assert condensed(store).loaders[0].epochs == EPOCHS


def test_the_epochs_of_every_rank_and_loader_are_known(store: Store) -> None:
    post(store, short_epochs(validations=2))
    post(store, short_epochs(rank=1))
    epochs = store.run("run-1").epochs
    assert [each.epoch_index for each in epochs if each.loader == "val"] == [0, 1]
    for rank in (0, 1):
        newest = [each.epoch_index for each in epochs if (each.rank, each.loader) == (rank, "train")]
        assert newest == list(range(EPOCHS - 200, EPOCHS))


def test_copies_of_the_whole_run_are_summed_by_the_roll_ups(store: Store) -> None:
    """Of the first ten steps, the five that could block were timed, and one of the five that found a batch ready."""
    early, late = even_window(0), even_window(1)
    early["steps"][0] |= {"queue_depth": [0, 2] * 5, "h2d_exposed_us": [9_000, 1_000] + [9_000, None] * 4}
    late["steps"][0] |= {"queue_depth": [0] * 10, "h2d_exposed_us": [2_000] * 10}
    post(store, [early, late])
    (rank,) = condensed(store, judged_steps=5).ranks
    assert rank.total_copy_us == pytest.approx(5 * 9_000 + 5 * 1_000 + 10 * 2_000)


@pytest.mark.parametrize("few", [600, 1])
def test_cores_are_growth_of_cpu_time_over_time_that_passed(
    store: Store, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(hosts, "FEW_SAMPLES", few)
    at_us = [0, 500_000, 700_000, 900_000]
    process = {"at_us": at_us, "process_cpu_us": [0, 40_000, 240_000, 440_000], "workers_cpu_us": [9, 7, 107_007, 7]}
    host = {"at_us": at_us, "busy_cores": [9.0, 1.0, 2.0, 3.0]}
    post(store, [even_window(0, process=process, host=host)])
    share = rank_of(store).process
    # From 500 ms, where the first judged step begins.
    assert share.process_cores == pytest.approx(1.0)
    assert share.workers_cores == pytest.approx(107_000 / 200_000), "new workers begin at 0, which is no growth"
    assert share.host_busy_cores == 2.0
    assert share.main_cores is None


@pytest.mark.parametrize(
    ("gpus", "uses_gpu"),
    [
        ([], False),
        (gpu(util_fraction=[0.4]), True),
        (gpu(util_fraction=[0.0]), False),
        (gpu(util_fraction=[0.9], own_process=[False]), False),
        (gpu(util_fraction=[0.0], own_process=[True]), True),
    ],
)
def test_a_gpu_is_used_when_it_is_ours(store: Store, gpus: list[dict[str, Any]], uses_gpu: bool) -> None:
    post(store, [even_window(0, gpus=gpus)])
    assert rank_of(store).uses_gpu is uses_gpu


def test_a_rank_whose_host_another_rank_samples_has_its_cores_memory_and_gpu(store: Store) -> None:
    host = {"at_us": [600_000, 900_000], "busy_cores": [2.0, 3.0], "memory_available_bytes": [5, 7]}
    own, none = {"util_fraction": [0.9], "own_process": [True]}, {"util_fraction": [0.9], "own_process": [False]}
    gpus = [{"gpu_index": index, "at_us": [0], **columns} for index, columns in ((0, none), (1, own))]
    # The lowest rank of the run leaves its host to another one.
    post(store, [even_window(0, rank=0, run=RUN | {"local_rank": 0})])
    post(store, [even_window(0, rank=1, run=RUN | {"local_rank": 1})])
    post(store, [even_window(0, rank=2, run=RUN | {"local_rank": 2}, host=host, gpus=gpus)])
    facts = condensed(store)
    assert facts.host.memory_available_bytes == 7
    assert [rank.process.host_busy_cores for rank in facts.ranks] == [2.5, 2.5, 2.5]
    assert [rank.uses_gpu for rank in facts.ranks] == [False, True, True]


def test_a_rank_whose_device_was_timed_computes_on_it_whatever_the_driver_lists(store: Store) -> None:
    window = even_window(0)
    window["steps"][0]["gpu_idle_us"] = [1_000] * 10
    post(store, [window])
    rank = rank_of(store)
    assert (rank.uses_gpu, rank.has_device_clock, rank.stall_fraction) == (True, True, 0.01)


def test_a_device_that_was_timed_in_every_sixteenth_ready_step_decides(store: Store) -> None:
    windows = [even_window(index) for index in range(20)]
    for window in windows:
        steps = window["steps"][0]
        steps["queue_depth"] = [0] + [3] * 9
        indices = [steps["first_step_index"] + each for each in range(10)]
        # Half of a ready batch's wait, all of that for an empty queue.
        steps["gpu_idle_us"] = [
            25_000 if depth == 0 else 12_500 if index % 16 == 0 else None
            for index, depth in zip(indices, steps["queue_depth"], strict=True)
        ]
        steps["gpu_work_us"] = [75_000 if index % 16 == 0 else None for index in indices]
    post(store, windows)
    rank = condensed(store, warmup_steps=0).median_rank
    assert rank.has_device_clock
    assert rank.stall_us == pytest.approx(0.1 * 25_000 + 0.9 * 12_500)
    assert rank.input_lost_us is not None
    assert rank.stall_us <= rank.input_lost_us <= rank.data_wait_us


def test_what_a_worker_received_is_growth_over_the_judged_span(store: Store) -> None:
    at_us = [100_000, 500_000, 900_000]
    samples = {"loader": "train", "worker": 0, "at_us": at_us, "received_bytes": [0, 2_000_000, 8_000_000]}
    post(store, [even_window(worker_samples=[samples | {"connections": [1, 3, 2]}])])
    (worker,) = condensed(store, warmup_steps=0).ranks[0].workers
    assert worker.received_bytes_per_s == pytest.approx(10e6)
    assert worker.connections == 3


def test_what_came_through_connections_that_were_gone_too_soon_is_not_0(store: Store) -> None:
    """The first samples were taken before a connection was seen."""
    samples = {"loader": "train", "worker": 0, "at_us": [500_000 + 100_000 * place for place in range(5)]}
    seen = {"received_bytes": [None, 0, 0, None, None], "connections": [None, 0, 0, 1, 1]}
    post(store, [even_window(worker_samples=[samples | seen])])
    (worker,) = rank_of(store).workers
    assert (worker.received_bytes_per_s, worker.connections) == (None, 1)


def test_the_training_process_grows_by_its_resident_memory(store: Store) -> None:
    """Which shows over minutes, though the judged steps are of the last seconds."""
    at_us = [SECOND_US * (1 + second) for second in range(310)]
    grown = {"at_us": at_us, "rss_bytes": [1_000_000_000 + each for each in at_us]}
    free = {"at_us": at_us, "memory_available_bytes": [9_000_000_000 - each for each in at_us]}
    windows = [even_window(index) for index in range(311)]
    post(store, [*windows[:-1], windows[-1] | {"process": grown, "host": free}])
    (rank,) = condensed(store, judged_steps=50).ranks
    assert rank.process.bytes_per_hour == pytest.approx(3.6e9)
    assert rank.process.is_growing
    assert rank.host is not None and rank.memory is not None
    assert len(rank.host.at_us) < 20 and len(rank.memory.at_us) > 300


def test_sampler_time_and_pinning_are_condensed(store: Store) -> None:
    window = even_window(0)
    window["steps"][0]["sampler_us"] = list(range(10))
    window["batches"] = [
        {"loader": "train", "epoch_index": 0, "batch_index": [0], "start_us": [600_000], "load_us": [5], "pin_us": [3]}
    ]
    post(store, [window])
    rank = rank_of(store)
    assert (rank.steps.sampler_us.tolist(), rank.batches.pin_us.tolist()) == ([5, 6, 7, 8, 9], [3])


def test_a_run_that_saw_no_loader_says_why(store: Store) -> None:
    why = "no loader seen: torch was never imported"
    post(store, [made_window(0, run=RUN | {"not_measured": {"loader": why}}, loaders=[])])
    assert condensed(store).no_loader == why
    post(store, [even_window(0, run_id="other", run=RUN | {"not_measured": {"loader": why}})])
    other = condensed(store, "other")
    assert other.no_loader is None, "another of its processes had one"


def test_settings_and_host_are_those_that_were_reported(store: Store) -> None:
    host = {"cpu_count": 96, "usable_cores": 2.5, "cpu_slowdown": [[1, 1.0], [2, 1.2]], "shm_free_bytes": 64}
    loader = {"loader": "train", "settings": {"num_workers": 3, "batch_size": None}, "dataset_kind": "iterable"}
    post(store, [even_window(0, run=RUN | {"host": host}, loaders=[loader])])
    facts = condensed(store)
    assert facts.loader is not None
    assert (facts.loader.num_workers, facts.loader.batch_size, facts.loader.is_iterable) == (3, None, True)
    assert (facts.host.usable_cores, facts.host.cpu_slowdown) == (2.5, [(1, 1.0), (2, 1.2)])
    assert facts.not_measured == {"gpu_util_fraction": "no NVIDIA driver"}


def test_every_rank_is_read(store: Store) -> None:
    post(store, [even_window(0, rank=rank) for rank in (1, 0)])
    facts = condensed(store)
    assert [(rank.rank, len(rank.steps)) for rank in facts.ranks] == [(0, 5), (1, 5)]


def test_a_run_without_a_step_has_facts_and_nothing_to_judge(store: Store) -> None:
    post(store, [made_window(0)])
    facts = condensed(store)
    assert (facts.judged_steps, facts.steps) == (0, 0)
    with pytest.raises(ValueError, match="no judged step"):
        _ = facts.median_rank


def test_an_unknown_run_is_not_found(store: Store) -> None:
    post(store, made_stream(1))
    with pytest.raises(NotFoundError):
        condensed(store, "nobody")


def test_the_words_that_start_a_run_again_are_kept_where_they_are_whole(store: Store) -> None:
    starts: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
        "alone": ({"command": ["python", "train.py", "--lr", "0.1"]}, ("python", "train.py", "--lr", "0.1")),
        "rank": ({"launcher": "torchrun", "world_size": 4}, ()),
        "cut": ({"command": ["python", "-c", "x" * 2_000]}, ()),
        "notebook": ({"command": ["python", "-m", "ipykernel_launcher", "-f", "kernel.json"]}, ()),
    }
    for run_id, (described, expected) in starts.items():
        post(store, [even_window(0, run_id=run_id, run=RUN | described)])
        assert condensed(store, run_id).command == expected


def test_the_cores_of_the_machine_are_distinguished_from_those_that_the_run_may_use(store: Store) -> None:
    post(store, [even_window(0, run=RUN | {"host": {"cpu_count": 96, "usable_cores": 2.5}})])
    assert (condensed(store).host.cpu_count, condensed(store).host.usable_cores) == (96, 2.5)
