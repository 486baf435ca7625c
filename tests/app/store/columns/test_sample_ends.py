"""What is left of a window's samples says as much of what is used now as all of them would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.app.made_windows import made_window, posted_window
from underfed_server.ingest.wire import Window
from underfed_server.store.columns.sample_ends import GpuNow, sample_ends
from underfed_server.store.reading.current_usage import RankNow, RankWindows
from underfed_server.store.store import utc_now

S = 1_000_000
MB = 1_000_000


def window(index: int, at_s: Sequence[float], **columns: Sequence[float | None]) -> Window:
    """Samples of the process and of its host at these seconds; a column that is not given was not measured."""
    at_us = [round(each * S) for each in at_s]
    kinds: dict[str, dict[str, Any]] = {"process": {"at_us": at_us}, "host": {"at_us": at_us}}
    for name, column in columns.items():
        kinds["process" if name.endswith("_cpu_us") else "host"][name] = list(column)
    return posted_window(made_window(index, **kinds)).window


def now(*windows: Window) -> RankNow:
    """As the newest of these, and if need be those before, show it."""
    return RankWindows(utc_now(), (1, len(windows)), [sample_ends(each) for each in windows]).now


def read_mb_per_s(*windows: Window) -> float | None:
    rate = now(*windows).rates.get("disk_read_bytes_per_s")
    return None if rate is None else rate / MB


def test_a_counter_grows_from_its_first_known_value_to_its_last() -> None:
    values = [None, 10 * MB, None, 70 * MB, None]
    assert read_mb_per_s(window(0, [0, 1, 2, 3, 4], disk_read_bytes=values)) == 30.0


def test_where_a_window_has_one_sample_those_before_are_looked_at_too() -> None:
    parts = [window(index, [index], disk_read_bytes=[index * 5 * MB]) for index in range(4)]
    assert read_mb_per_s(*parts) == 5.0
    assert read_mb_per_s(parts[-1]) is None
    unknown = window(4, [4], disk_read_bytes=[None])
    assert read_mb_per_s(*parts[1:], unknown) == 5.0


def test_a_counter_that_was_reset_or_never_known_has_no_rate() -> None:
    assert read_mb_per_s(window(0, [0, 1], disk_read_bytes=[9 * MB, 4 * MB])) is None
    assert read_mb_per_s(window(0, [0, 1], disk_read_bytes=[None, None])) is None
    assert read_mb_per_s(window(0, [0, 1])) is None


def test_cores_are_of_the_process_and_its_workers_where_both_were_seen() -> None:
    own, workers = [0, S, 3 * S], [0, None, S]
    assert now(window(0, [0, 1, 2], process_cpu_us=own, workers_cpu_us=workers)).own_cores == 2.0
    assert now(window(0, [0, 1, 2], process_cpu_us=own)).own_cores is None


def test_what_a_host_holds_is_its_newest_known_value() -> None:
    found = now(window(0, [0, 1, 2], busy_cores=[1.0, 2.0, None], memory_used_bytes=[None, None, None]))
    assert (found.busy_cores, found.memory_used_bytes, found.is_sampling) == (2.0, None, True)


def test_a_gpu_shows_the_newest_known_value_of_each_column() -> None:
    def sampled(index: int, **columns: Sequence[Any]) -> Window:
        gpu = {"gpu_index": 0, "at_us": [index * S], **columns}
        one = {"at_us": [index * S], "process_cpu_us": [0], "workers_cpu_us": [0]}
        return posted_window(made_window(index, process=one, gpus=[gpu])).window

    earlier = sampled(0, util_fraction=[0.5], memory_used_bytes=[7])
    assert now(earlier, sampled(1, util_fraction=[0.9], own_process=[True])).gpus == {0: GpuNow(0.9, 7, True)}
    assert now(earlier, sampled(1, util_fraction=[None])).gpus == {0: GpuNow(0.5, 7, None)}
