"""What is not a window of version 1 is refused, and the error names the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_windows import made_stream, made_window, posted
from underfed.exchange.ring_format import LATER_COLUMNS
from underfed_server.errors import InvalidError, MalformedError, UnknownVersionError
from underfed_server.ingest.decode import decode
from underfed_server.ingest.wire import MOST_BATCHES, MOST_STEPS

RECORDED = Path(__file__).parents[2] / "contract" / "wire" / "v1"
STRANGE: tuple[Any, ...] = (None, -1, 2**64, 1e308, "", "x", [], {}, [None], [[1]], {"a": {}}, True)


def steps(**changes: Any) -> dict[str, Any]:
    return {
        "loader": "train",
        "epoch_index": 0,
        "first_step_index": 0,
        "first_batch_index": 0,
        "start_us": 0,
        "step_us": [10, 20, 30],
        "data_wait_us": [1, 2, 3],
    } | changes


def batches(count: int) -> dict[str, Any]:
    return {
        "loader": "train",
        "epoch_index": 0,
        "batch_index": [0] * count,
        "start_us": [0] * count,
        "load_us": [1] * count,
    }


def refused(**changes: Any) -> str | None:
    with pytest.raises(InvalidError) as raised:
        decode(posted(made_window(**changes)))
    assert raised.value.field is None or raised.value.field in raised.value.message
    return raised.value.field


def test_a_complete_window_is_decoded_with_every_figure() -> None:
    sent = next(made_stream(1))
    window = decode(posted(sent))
    assert window.steps[0].step_us == sent["steps"][0]["step_us"]
    assert window.steps[0].gpu_idle_us == sent["steps"][0]["gpu_idle_us"]
    assert window.batches[0].read_bytes == sent["batches"][0]["read_bytes"]
    assert window.run is not None
    assert window.run.tags == {"team": "vision"}


def test_unknown_keys_are_ignored_so_that_version_1_can_grow() -> None:
    assert decode(posted(made_window(steps=[steps(later=1)], later={"deep": [1]}))).steps[0].step_us == [10, 20, 30]


def test_not_measured_and_zero_are_two_things() -> None:
    window = decode(posted(made_window(steps=[steps(gpu_idle_us=[0, None, 5])])))
    assert window.steps[0].gpu_idle_us == [0, None, 5]
    assert window.steps[0].queue_depth is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rank": -1}, "rank"),
        ({"rank": 1.5}, "rank"),
        ({"rank": True}, "rank"),
        ({"incarnation": 0}, "incarnation"),
        ({"window_index": 2**53 + 1}, "window_index"),
        ({"window_index": 3, "previous_window_index": 3}, "previous_window_index"),
        ({"run_id": "../etc"}, "run_id"),
        ({"run_id": "a" * 65}, "run_id"),
        ({"run_id": "a\n"}, "run_id"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"started_at": "2026-11-20T10:00:00"}, "started_at"),
        ({"started_at": "0001-01-01T00:00:00+23:59"}, "started_at"),
        ({"start_us": 5, "end_us": 4}, "end_us"),
        ({"overhead_us": -1.0}, "overhead_us"),
        ({"end": {"status": "lost"}}, "end.status"),
        ({"end": {"status": "crashed", "exit_reason": "x" * 2_001}}, "end.exit_reason"),
        ({"run": {"tags": {"team": 1}}}, "run.tags"),
        ({"run": {"config": {"layers": [1, 2]}}}, "run.config"),
        ({"run": {"config": {"seed": 2**60}}}, "run.config"),
        ({"run": {"name": "x" * 501}}, "run.name"),
        ({"run": {"world_size": 0}}, "run.world_size"),
        ({"loaders": [{"settings": {}}]}, "loaders[0].loader"),
        ({"loaders": [{"loader": ""}]}, "loaders[0].loader"),
        ({"epochs": [{"loader": "a", "epoch_index": 0, "start_us": 0, "first_step_index": 0, "ended": "?"}]},
         "epochs[0].ended"),
        ({"process": {"at_us": [1, 2], "threads": [1]}}, "process.threads"),
        ({"process": {"at_us": [1, 2], "open_files": [1]}}, "process.open_files"),
        ({"host": {"at_us": [1], "memory_pressure_us": [-1]}}, "host.memory_pressure_us[0]"),
        ({"run": {"restart_count": -1}}, "run.restart_count"),
        ({"run": {"host": {"numa_nodes": "2"}}}, "run.host.numa_nodes"),
        ({"workers": [{"loader": "a", "worker": 0, "start_us": 1}]}, "workers[0].iterator_index"),
        ({"workers": [{"loader": "a", "iterator_index": 0, "worker": 0, "start_us": 1, "ended": "lost"}]},
         "workers[0].ended"),
        ({"worker_samples": [{"loader": "a", "worker": 0, "at_us": [1, 2], "rss_bytes": [1]}]},
         "worker_samples[0].rss_bytes"),
        ({"worker_samples": [{"loader": "a", "worker": None, "at_us": []}]}, "worker_samples[0].worker"),
        ({"storage": [{"loader": "a", "mount": "/data", "kind": "tape"}]}, "storage[0].kind"),
        ({"storage": [{"loader": "a", "kind": "ssd"}]}, "storage[0].mount"),
        ({"gpus": [{"gpu_index": 0, "at_us": [1], "util_fraction": [1.01]}]}, "gpus[0].util_fraction[0]"),
        ({"gpus": [{"gpu_index": 0, "at_us": [1, 2], "power_w": [1.0]}]}, "gpus[0].power_w"),
    ],
)  # fmt: skip
def test_a_field_out_of_its_range_is_named(changes: dict[str, Any], field: str) -> None:
    assert refused(**changes) == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"step_us": [1, 2, 2**32 - 1]}, "steps[0].step_us[2]"),
        ({"step_us": [1, None, 3]}, "steps[0].step_us[1]"),
        ({"data_wait_us": [1, 2]}, "steps[0].data_wait_us"),
        ({"data_wait_us": [1, 2, None]}, "steps[0].data_wait_us[2]"),
        ({"queue_depth": [1]}, "steps[0].queue_depth"),
        ({"sampler_us": [1, 2, 2**32 - 1]}, "steps[0].sampler_us[2]"),
        ({"gpu_work_us": [None, None]}, "steps[0].gpu_work_us"),
        ({"batch_index": [1, 2, 3, 4]}, "steps[0].batch_index"),
        ({"start_us": "0"}, "steps[0].start_us"),
    ],
)
def test_a_column_that_does_not_fit_is_named(changes: dict[str, Any], field: str) -> None:
    assert refused(steps=[steps(**changes)]) == field


def test_what_is_sampled_may_be_null_in_any_row() -> None:
    sampled = {name: [None, 5, None] for names in LATER_COLUMNS.values() for name in names}
    (decoded,) = decode(posted(made_window(steps=[steps(**sampled)]))).steps
    assert {name: getattr(decoded, name) for name in sampled} == sampled


def test_workers_their_samples_and_where_data_lie_are_decoded() -> None:
    life = {"loader": "train", "iterator_index": 3, "worker": 1, "pid": 7, "start_us": 5, "end_us": None}
    samples = {"loader": "train", "worker": 1, "at_us": [5, 9], "rss_bytes": [1, 2], "pss_bytes": [None, 1]}
    place = {"loader": "train", "mount": "/data", "file_system": "ext4", "kind": "nvme", "files_seen": 3}
    window = decode(posted(made_window(workers=[life], worker_samples=[samples], storage=[place])))
    assert (window.workers[0].pid, window.workers[0].ended, window.workers[0].epoch_index) == (7, None, None)
    assert (window.worker_samples[0].pss_bytes, window.worker_samples[0].threads) == ([None, 1], None)
    assert (window.storage[0].kind, window.storage[0].device) == ("nvme", None)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_what_agents_sent_is_decoded_whole(path: Path) -> None:
    """Column by column: a key that was misspelt on either side would be ignored without a word."""
    for sent in json.loads(path.read_text()):
        window = decode(json.dumps(sent).encode())
        for kind in ("steps", "batches", "epochs", "workers", "worker_samples", "storage"):
            for part, expected in zip(getattr(window, kind), sent.get(kind, []), strict=True):
                assert {name: getattr(part, name) for name in expected} == expected
        for kind in ("process", "host"):
            for name, column in sent.get(kind, {}).items():
                assert getattr(getattr(window, kind), name) == column


def test_a_stack_names_only_frames_that_are_there() -> None:
    frames = [{"function": name, "file": "a.py"} for name in ("load", "decode")]

    def stacks(*named: int) -> list[dict[str, Any]]:
        stack = {"stage": "getitem", "frames": list(named), "samples": [1] * 16}
        return [{"loader": "train", "frames": frames, "stacks": [stack]}]

    assert refused(stacks=stacks(0, 2)) == "stacks[0].stacks[0].frames"
    assert decode(json.dumps(made_window(0, stacks=stacks(1, 0))).encode()).stacks
    assert decode(json.dumps(made_window(0, stacks=stacks())).encode()).stacks


def test_the_last_step_may_be_open() -> None:
    assert decode(posted(made_window(steps=[steps(step_us=[1, 2, None])]))).steps[0].step_us == [1, 2, None]


def test_a_missing_field_is_named() -> None:
    window = made_window()
    del window["incarnation"]
    with pytest.raises(InvalidError) as raised:
        decode(posted(window))
    assert raised.value.field == "incarnation"


def test_more_steps_or_batches_than_the_limit_are_refused() -> None:
    half = steps(step_us=[1] * MOST_STEPS, data_wait_us=[0] * MOST_STEPS)
    assert len(decode(posted(made_window(steps=[half]))).steps[0].step_us) == MOST_STEPS
    assert refused(steps=[half, steps()]) == "steps"
    assert refused(batches=[batches(MOST_BATCHES), batches(1)]) == "batches"


def test_another_version_is_refused_as_such_whatever_else_it_has() -> None:
    with pytest.raises(UnknownVersionError, match="version 2 is not known"):
        decode(posted(made_window(version=2, steps="in another shape")))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        posted(made_window()) + b" {}",
        b'\xef\xbb\xbf{"version": 1}',
        b'{"run_id": "\xff"}',
        b'{"run_id": "\\ud800"}',
        b'{"version": 1, "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        posted(made_window()).replace(b'"rank": 0', b'"rank": NaN'),
        posted(made_window()).replace(b'"rank": 0', b'"rank": Infinity'),
    ],
)
def test_what_is_not_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError):
        decode(body)


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"1" + b"0" * 5_000])
def test_a_number_beyond_all_bounds_is_invalid(number: bytes) -> None:
    for name in (b"overhead_us", b"rank"):
        body = posted(made_window(rank=7, overhead_us=7)).replace(b'"%s": 7' % name, b'"%s": %s' % (name, number))
        with pytest.raises(InvalidError, match=name.decode()):
            decode(body)


@pytest.mark.parametrize("body", [b"null", b"[]", b"3", b'"window"'])
def test_json_that_is_no_object_is_invalid(body: bytes) -> None:
    with pytest.raises(InvalidError, match="Expected `object`"):
        decode(body)


def test_a_window_survives_any_one_value_being_something_else() -> None:
    """Whatever stands in a field's place, it is decoded or refused: nothing else happens."""
    window = next(made_stream(1, steps=2))
    for strange in STRANGE:
        for name in window:
            body = json.dumps(window | {name: strange}).encode()
            try:
                decode(body)
            except (InvalidError, UnknownVersionError) as error:
                assert error.message
