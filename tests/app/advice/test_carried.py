"""Which advice a later run carries: by settings, or by what else is seen; and what keeps them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice
from tests.app.made_facts import made_place, made_run
from underfed_server.advice.proof.ledger import also_changed, carried_advice, mates_changed, may_carry
from underfed_server.advice.proof.traits import Traits, load_changed, traits_of
from underfed_server.facts.record import LoaderFacts, RunFacts
from underfed_server.model import Advice, Setting, StorageKind
from underfed_server.names import ChangeName


def advised(change: ChangeName, to: Setting = None, **settings: Setting) -> Advice:
    return made_advice().model_copy(update={"change": change, "to": to, "settings": settings})


def run(*, storage: StorageKind | None = None, **settings: Setting) -> Any:
    made = made_run(num_workers=1)
    assert made.loader is not None
    places = (made_place(storage, file_system="xfs"),) if storage else ()
    loader = made.loader.model_copy(update={"settings": {**made.loader.settings, **settings}})
    return replace(made, loader=loader, storage=places)


def seen(facts: RunFacts, *, has_straggler: bool = False, **machine: Any) -> Traits:
    return traits_of(facts, {"world_size": 1} | machine, has_straggler=has_straggler)


FOUR = advised("num_workers", 4, num_workers=4, prefetch_factor=2)


def test_a_setting_is_carried_however_it_came() -> None:
    assert carried_advice(seen(run()), seen(run(num_workers=4)), [FOUR]) is FOUR
    threads = advised("threads_per_worker", 1, num_workers=1, threads_per_worker=1)
    later = seen(run(threads_per_worker=1))
    assert carried_advice(seen(run()), later, [threads]) is threads
    assert carried_advice(later, later, [threads]) is None, "the earlier run had it already"


@pytest.mark.parametrize("settings", [{"num_workers": 3}, {"num_workers": 4, "prefetch_factor": 8}, {}])
def test_what_was_followed_in_part_is_not_carried(settings: dict[str, Any]) -> None:
    assert carried_advice(seen(run()), seen(run(**settings)), [FOUR]) is None
    assert not may_carry({"num_workers": 1, **settings}, FOUR)


def test_workers_that_go_take_their_settings_with_them() -> None:
    none = advised("num_workers", 0, num_workers=0, prefetch_factor=None)
    later = seen(run(num_workers=0, prefetch_factor=None, multiprocessing_context=None))
    assert carried_advice(seen(run(persistent_workers=True)), later, [none]) is none
    assert also_changed(seen(run(persistent_workers=True)), later, none) == []


def test_the_first_of_several_advised_changes_is_the_one_that_is_carried() -> None:
    pinned = advised("pin_memory", True)
    assert carried_advice(seen(run()), seen(run(pin_memory=True)), [FOUR, pinned]) is pinned
    assert carried_advice(seen(run()), seen(run(pin_memory=True, num_workers=4)), [FOUR, pinned]) is FOUR


def test_what_else_was_changed_is_named() -> None:
    later = seen(run(num_workers=4, pin_memory=True, batch_size=64), world_size=2, cpu_model="B")
    assert also_changed(seen(run(), cpu_model="A"), later, FOUR) == [
        "batch_size (32 → 64)", "pin_memory (False → True)", "the number of ranks (1 → 2)", "the processor (A → B)",
    ]  # fmt: skip


def on_crowded(others: float, work_ms: float, **changes: Any) -> Traits:
    known = {"usable_cores": 2.0, "busy_cores": min(2.0, others + 0.3), "process_cores": 0.2, "workers_cores": 0.1}
    return seen(made_run(wait_ms=50.0, work_ms=work_ms, num_workers=1, load_cpu_ms=20.0, **(known | changes)))


def test_runs_beside_other_loads_of_their_host_are_not_compared() -> None:
    crowded, slowed = on_crowded(1.7, 97.0), on_crowded(1.7, 233.0)
    assert load_changed(slowed, crowded) == ["the step's own work, on cores that other jobs fill (233 ms → 97 ms)"]
    assert load_changed(crowded, on_crowded(0.1, 97.0)) == [
        "the cores that other jobs use while all are busy (1.7 → 0.0)"
    ]
    assert load_changed(crowded, on_crowded(1.7, 110.0)) == []
    assert load_changed(crowded, on_crowded(1.7, 233.0, busy_cores=None)) == [], "not measured"


OWN = "the step's own work (97 ms → 233 ms)"


def test_runs_whose_step_does_other_work_are_not_compared() -> None:
    """Neither a hit nor a miss of a change of the loader: it is another model, or other numbers in it."""
    calm, other = on_crowded(0.1, 97.0), on_crowded(0.1, 233.0)
    assert load_changed(calm, other) == [OWN]
    assert load_changed(other, calm) == ["the step's own work (233 ms → 97 ms)"]
    assert load_changed(calm, on_crowded(0.1, 115.0)) == []
    assert load_changed(calm, other, alters_work=True) == [], "the change itself makes it another"
    assert load_changed(calm, on_crowded(0.1, 233.0, busy_cores=None)) == [], "not measured"


def test_more_workers_may_slow_the_step_as_far_as_busy_cores_do() -> None:
    """That is the change's own effect, and a prediction that did not see it is a miss."""
    curve, busier = ((1.0, 1.0), (2.0, 1.6)), {"workers_cores": 0.9, "busy_cores": 1.3}
    slow = {"cpu_slowdown": curve}
    calm = on_crowded(0.1, 97.0, **slow)
    assert load_changed(calm, on_crowded(0.1, 190.0, **slow, **busier)) == []
    assert load_changed(calm, on_crowded(0.1, 233.0, **slow, **busier)) == [OWN]
    assert load_changed(on_crowded(0.1, 190.0, **slow), calm) == ["the step's own work (190 ms → 97 ms)"]


def full(work_ms: float, *, main: float = 0.2, process: float = 0.2, queued: float = 0.0) -> Traits:
    """Workers of the run fill both cores."""
    made = made_run(
        wait_ms=50.0, work_ms=work_ms, num_workers=2, load_cpu_ms=20.0, usable_cores=2.0, busy_cores=2.0,
        workers_cores=2.0 - process, process_cores=process,
    )  # fmt: skip
    (rank,) = made.ranks
    share = replace(rank.process, main_cores=main, main_runqueue_fraction=queued)
    return seen(replace(made, ranks=(replace(rank, process=share),)))


def test_on_full_cores_work_is_compared_without_its_waits_for_a_core() -> None:
    """As one thread waits for them; of several that compute in CPU time, else not at all."""
    assert load_changed(full(97.0), full(233.0)) == [OWN]
    waits = (233.0 - 97.0) / (233.0 + 50.0)
    assert load_changed(full(97.0), full(233.0, queued=waits)) == [], "it did the same, and waited in between"
    (computed,) = load_changed(full(100.0, main=0.5, process=1.6), full(233.0, main=0.5, process=1.6))
    assert computed.startswith("the step's own work, in CPU time (240 ms → ")
    assert load_changed(full(97.0, main=0.1, process=0.2), full(233.0, main=0.1, process=0.2)) == []


def test_on_the_devices_clock_its_work_is_compared_whatever_the_cores_do() -> None:
    def on_device(work_ms: float, busy_cores: float | None) -> Traits:
        return seen(made_run(
            wait_ms=50.0, work_ms=100.0, num_workers=1, load_cpu_ms=20.0, uses_gpu=True, queue_depth=0,
            gpu_idle_ms=40.0, gpu_work_ms=work_ms, busy_cores=busy_cores, process_cores=0.2,
        ))  # fmt: skip

    assert load_changed(on_device(80.0, None), on_device(40.0, 8.0)) == [
        "the step's own work on its device (80 ms → 40 ms)"
    ]
    assert load_changed(on_device(80.0, 1.0), on_device(85.0, 8.0)) == []


def test_another_length_of_the_data_set_keeps_the_runs_apart() -> None:
    later = dict(seen(run(num_workers=4))) | {"dataset_length": 5}
    assert also_changed(dict(seen(run())) | {"dataset_length": 7}, later, FOUR) == [
        "the length of the data set (7 → 5)"
    ]


def test_what_is_not_known_of_one_run_is_no_difference() -> None:
    later = seen(run(num_workers=4, sharing_strategy="file_descriptor", storage="ssd"), cpu_model="B", gpu_name="H200")
    assert also_changed(seen(run()), later, FOUR) == []


def in_turn(**workers: int) -> RunFacts:
    """A loop that asks several loaders, the first of which is judged."""
    made: RunFacts = run()
    assert made.loader is not None
    lines = tuple(
        LoaderFacts(name, made.loader.model_copy(update={"loader": name, "settings": {"num_workers": number}}),
                    "train", 0, made.ranks)
        for name, number in workers.items()
    )  # fmt: skip
    return replace(made, loader=lines[0].info, loaders=lines)


def test_another_loader_of_the_loop_that_changed_keeps_the_runs_apart() -> None:
    before = in_turn(photos=1, labels=0)
    assert mates_changed(before, in_turn(photos=4, labels=0)) == []
    assert mates_changed(before, in_turn(photos=4, labels=4)) == ["num_workers of labels (0 → 4)"]
    assert mates_changed(before, in_turn(photos=4)) == ["other loaders of the loop (labels → none)"]


def test_a_loader_of_another_loop_may_change() -> None:
    """It waits while this one runs."""
    before = in_turn(photos=1, val=0)
    apart = replace(before, loaders=(before.loaders[0], replace(before.loaders[1], loop=1)))
    assert mates_changed(apart, apart) == [] and apart.loop_mates == []


def test_data_that_moved_to_memory_carries_tmpfs_and_nothing_else_does() -> None:
    tmpfs = advised("tmpfs", "/mnt/ram")
    disk, memory = seen(run(storage="nvme")), seen(run(storage="memory"))
    assert carried_advice(disk, memory, [tmpfs]) is tmpfs
    assert also_changed(disk, memory, tmpfs) == []
    for earlier, later in ((memory, memory), (disk, disk), (seen(run()), memory), (disk, seen(run()))):
        assert carried_advice(earlier, later, [tmpfs]) is None
    assert also_changed(disk, seen(run(storage="memory", num_workers=4)), FOUR) == [
        "where the data lies (nvme → memory)"
    ]


@pytest.mark.parametrize(
    ("change", "name", "before", "enough", "too_little"),
    [
        ("fewer_tensors", "batch_tensors", 400, 2, 300),
        ("vectorize_collate", "collate_us", 40_000.0, 4_000.0, 30_000.0),
        ("faster_sampler", "sampler_us", 9_000.0, 100.0, 8_000.0),
        ("shm_size", "shm_total_bytes", 64 << 20, 8 << 30, 64 << 20),
        ("cpu_allocation", "usable_cores", 2.0, 8.0, 2.0),
        ("shard_iterable", "repeated_batches", 60, 0, 60),
        ("fix_rank", "has_straggler", True, False, True),
        ("sharing_strategy", "sharing_strategy", "file_descriptor", "file_system", "file_descriptor"),
    ],
)
def test_a_change_of_code_is_recognised_by_its_sign(
    change: ChangeName, name: str, before: Setting, enough: Setting, too_little: Setting
) -> None:
    advice = advised(change, "file_system" if change == "sharing_strategy" else None)
    earlier = {**seen(run()), name: before}
    assert carried_advice(earlier, {**earlier, name: enough}, [advice]) is advice
    assert carried_advice(earlier, {**earlier, name: too_little}, [advice]) is None
    assert carried_advice(earlier, {**earlier, name: None}, [advice]) is None, "not measured is no sign"
    assert also_changed(earlier, {**earlier, name: enough}, advice) == []


def test_a_change_without_a_sign_is_never_said_to_be_carried() -> None:
    assert carried_advice(seen(run()), seen(run(num_workers=4)), [advised("gpu_decode")]) is None
