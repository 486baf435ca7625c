"""Recorded windows are where agent and service meet: what the agent makes today has their keys and types.

``v1/*.json`` hold the windows of whole runs, as posted. To record them anew, after a change that docs/wire.md
allows: ``UNDERFED_RECORD_WIRE=1 pytest tests/contract/wire``. The one with GPUs is written by hand.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.agent.tuning.training_loop import FOUR, NONE, TWO, Loop, workers
from tests.fakes.datasets import Busy, Failing, Unsharded
from tests.fakes.looks import evenly
from tests.fakes.service import Service, Window, wait_until
from underfed.collector.wire import (
    Batches,
    Device,
    GpuSamples,
    HostFacts,
    HostPart,
    RunPart,
    SampleColumns,
    Stacks,
    Steps,
    Storage,
    Worker,
    as_json,
    decode_window,
    encode_window,
)
from underfed.collector.wire import Window as WireWindow
from underfed.exchange import switch, tuning
from underfed.exchange.facts import RunFacts
from underfed.exchange.parts import write_part
from underfed.exchange.picture_sizes import PictureSize
from underfed.exchange.stacks import Frame, SlowSample, StackCount, StackCounts
from underfed.exchange.switch import Switch, SwitchPlan
from underfed.trainer import control
from underfed.trainer.tuning.report import facts_of

RECORDED = Path(__file__).parent / "v1"
DOCUMENT = Path(__file__).parents[3] / "docs" / "wire.md"
IS_RECORDING = os.environ.get("UNDERFED_RECORD_WIRE") == "1"

FREE = ("not_measured", "tags", "config", "overrides")
"""Their keys are names that someone chose."""

OF_A_MACHINE = ("quota_cores", "memory_limit_bytes", "cpu_slowdown", "cpu_pressure_us", "io_pressure_us",
                "memory_slowdown", "memory_bytes_per_s",
                "throttled_us", "swap_used_bytes", "devices", "gpus", "numa_nodes", "memory_pressure_us",
                "memory_used_bytes", "storage", "disk_read_bytes", "disk_written_bytes", "network_received_bytes",
                "network_sent_bytes", "pss_bytes", "stacks")  # fmt: skip
"""There where the kernel, the container or the hardware has them, or where there was time for a close look."""

NEUTRAL = {"user": "ada", "hostname": "gpu-03", "command": ["python", "train.py"], "script": "train.py"}
"""What would identify the machine that recorded."""

NEUTRAL_PLACE = {"mount": "/data", "example": "/data/0.jpg"}

Shape = Any
"""Types in place of values: objects by key, lists by what they hold."""


def train(loader: DataLoader[Any], name: str = "train", epochs: int = 2) -> None:
    watched = underfed.watch(loader, name=name)
    for _ in range(epochs):
        for _ in watched:
            time.sleep(0.002)


def no_workers(service: Service) -> None:
    train(DataLoader(Busy(12, sleep_s=0.003), batch_size=2))


def two_workers(service: Service) -> None:
    """Before the last batch is taken, both have been sampled more than once."""

    def are_sampled() -> bool:
        samples = [each for window in list(service.windows) for each in window["worker_samples"]]
        return {each["worker"] for each in samples if each["at_us"][0] > samples[0]["at_us"][0]} == {0, 1}

    for number, _ in enumerate(underfed.watch(DataLoader(Busy(60), batch_size=2, num_workers=2), name="train")):
        if number == 28:
            wait_until(are_sampled, "both are sampled")


def broken_off(service: Service) -> None:
    for _ in zip(underfed.watch(DataLoader(Busy(9)), name="train"), range(3), strict=False):
        time.sleep(0.002)


def repeated(service: Service) -> None:
    """Both workers give the same batches."""
    train(DataLoader(Unsharded(12), batch_size=2, num_workers=2), epochs=1)


def crashed(service: Service) -> None:
    with pytest.raises(ValueError, match="broken"):
        train(DataLoader(Failing()))


def tuned(service: Service) -> None:
    """What ``--tune`` decides of a loop of known speeds: it waits for candidates, searches, and keeps one of them."""
    loop = Loop({NONE: 90, TWO: 30, FOUR: 5}, candidates=None)
    for _ in underfed.watch(DataLoader(Busy(3)), name="train"):
        pass
    recording = control._state.recording
    assert recording is not None
    for status, steps in ((tuning.WAITING, 25), (tuning.SEARCHING, 40), (tuning.KEPT, 400)):
        loop.run(steps)
        facts = facts_of(loop.conductor, SimpleNamespace(name="train"), origin_ns=0)  # type: ignore[arg-type]
        assert facts.status == status
        write_part(recording.directory / tuning.FILE, facts)
        wait_until(lambda wanted=status: wanted in statuses(service), f"{status} arrives")  # type: ignore[misc]
        loop.candidates = [{**each, "low": 1.5, "high": 2.5} for each in workers(2, 4)]


def on_several_hosts(service: Service) -> None:
    """What the leading host plans for the others, and what another one reports to it, are of one shape."""
    for _ in underfed.watch(DataLoader(Busy(3)), name="train"):
        pass
    recording = control._state.recording
    assert recording is not None
    plan = SwitchPlan(1_790_000_000_001, 140, 3_580_000_000_000, FOUR.settings(), NONE.settings())
    parts = [Switch(2), Switch(2, is_searching=True, plan=plan), Switch(2, plan.number, 98, plan.number - 1, "no room")]
    for each in parts:
        write_part(recording.directory / switch.FILE, each)
        sent = as_json(each)
        wait_until(lambda sent=sent: sent in switches(service), "it arrives")  # type: ignore[misc]


def switches(service: Service) -> list[Window]:
    return [window["switch"] for window in list(service.windows) if "switch" in window]


def statuses(service: Service) -> list[str]:
    return [each["status"] for window in list(service.windows) for each in window.get("tuning", [])]


RUNS: dict[str, Callable[[Service], None]] = {
    "no_workers": no_workers,
    "two_workers": two_workers,
    "broken_off": broken_off,
    "loader_raises": crashed,
    "unsharded": repeated,
    "tuning": tuned,
    "several_hosts": on_several_hosts,
}


def shape(value: Any) -> Shape:
    """Integers are numbers too, and what is null has no type."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        shapes: Shape = None
        for item in value:
            shapes = merged(shapes, shape(item))
        return [shapes]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    return None if value is None else type(value).__name__


def merged(one: Shape, other: Shape) -> Shape:
    """Of two values in the same place. Two types in one place are a fault, and show."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: merged(one.get(key), other.get(key)) for key in sorted({*one, *other})}
    if isinstance(one, list) and isinstance(other, list):
        return [merged(one[0], other[0])]
    return one if one == other else f"{one} or {other}"


def run_shape(windows: list[Window]) -> Shape:
    """Of all windows of a run together."""
    return without(FREE + OF_A_MACHINE, shape(windows)[0])


def without(names: tuple[str, ...], value: Shape) -> Shape:
    if isinstance(value, dict):
        return {key: without(names, item) for key, item in value.items() if key not in names}
    return [without(names, item) for item in value] if isinstance(value, list) else value


def assert_recorded(windows: list[Window], name: str) -> None:
    """All keys that this recording has, and none that no recording has: a longer run is sampled more often."""
    made = run_shape(windows)
    assert merged(made, run_shape(read(name))) == made
    known = reduce(merged, (run_shape(read(path.stem)) for path in RECORDED.glob("*.json")))
    assert merged(made, known) == known


def read(name: str) -> list[Window]:
    windows: list[Window] = json.loads((RECORDED / f"{name}.json").read_text())
    return windows


def write(name: str, windows: list[Window]) -> None:
    for window in windows:
        if "run" in window:
            window["run"] |= NEUTRAL
        for place in window.get("storage", []):
            place.update(NEUTRAL_PLACE)
    lines = ",\n".join(json.dumps(window) for window in windows)
    (RECORDED / f"{name}.json").write_text(f"[\n{lines}\n]\n")


@pytest.fixture(autouse=True)
def neutral_name(monkeypatch: pytest.MonkeyPatch, guest: None) -> None:
    """Of a script, which a process that tests beside others does not run."""
    monkeypatch.setenv("UNDERFED_NAME", "train")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "train.py", raising=False)


@pytest.mark.parametrize("name", RUNS)
def test_the_agent_makes_what_was_recorded(name: str, service: Service) -> None:
    underfed.init()
    wait_until(lambda: service.windows, "a first window, with samples, arrives")
    RUNS[name](service)
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    if IS_RECORDING:
        write(name, service.windows)
    assert_recorded(service.windows, name)


def test_a_heartbeat_is_what_was_recorded(service: Service) -> None:
    underfed.watch(DataLoader(Busy(1)), name="train")
    wait_until(lambda: len(service.windows) >= 2, "a heartbeat arrives")
    if IS_RECORDING:
        write("heartbeat", service.windows[1:2])
    assert_recorded(service.windows[1:2], "heartbeat")


def test_devices_their_samples_and_stacks_are_written_as_by_hand() -> None:
    by_hand = read("gpus")
    facts = {**by_hand[0]["run"], "host": None, "devices": None}
    run = RunFacts(**{key: value for key, value in facts.items() if key not in ("host", "devices")}, node_rank=None)
    device = Device(0, "GPU-0", "NVIDIA H200", 150_754_820_096)
    columns: SampleColumns = {
        "at_us": [1],
        "util_fraction": [0.5],
        "memory_used_bytes": [1],
        "power_w": [1.5],
        "own_process": [True],
    }
    window = WireWindow(
        run_id="train-7f3a9c2e",
        rank=0,
        incarnation=1,
        window_index=0,
        previous_window_index=None,
        started_at="2026-11-21T05:56:13.757498Z",
        start_us=0,
        end_us=1,
        run=RunPart(run, HostPart(HostFacts(cpu_count=2), [device], {})),
        gpus=[GpuSamples(0, columns)],
        stacks=[
            Stacks(
                "train",
                StackCounts(
                    [Frame("Image.resize", "PIL/Image.py", 2440)],
                    [StackCount("getitem", [0], evenly(62), evenly(31)), StackCount("collate", [], evenly(3))],
                    [SlowSample(2_104_000, 18_233, "scans/0481.dcm", 109_051_904, 3)],
                    [PictureSize(4000, 3000, 224, 224, 41)],
                    2,
                ),
            )
        ],
    )
    made = decode_window(encode_window(window))
    assert shape(made["gpus"]) == shape(by_hand[0]["gpus"])
    assert shape(made["stacks"]) == shape(by_hand[0]["stacks"])
    assert shape(made["run"]["devices"]) == shape(by_hand[0]["run"]["devices"])


@pytest.mark.parametrize(
    ("kind", "key"), [(Steps, "steps"), (Batches, "batches"), (Storage, "storage"), (Worker, "workers")]
)
def test_what_this_machine_may_not_have_is_written_as_by_hand(kind: type[Any], key: str) -> None:
    """A timed device, pinned batches, disks, a killed worker: the keys are those of the agent's own records."""
    (by_hand,) = read("gpus")
    for part in by_hand[key]:
        unsaid = {each.name for each in fields(kind) if each.default is MISSING} - part.keys()
        assert as_json(kind(**dict.fromkeys(unsaid), **part)) == part


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for name, item in value.items() if name not in FREE for key in keys(item))}
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    return set()


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_key_is_documented(path: Path) -> None:
    documented = set(re.findall(r"`([a-z0-9_]+)`", DOCUMENT.read_text()))
    assert keys(json.loads(path.read_text())) - documented == set()


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_columns_have_one_length_and_loads_add_up(path: Path) -> None:
    for window in json.loads(path.read_text()):
        for part in [*window.get("steps", []), *window.get("batches", []), *window.get("gpus", [])]:
            assert len({len(value) for value in part.values() if isinstance(value, list)}) == 1
        for batches in window.get("batches", []):
            parts = zip(batches["cpu_us"], batches["runqueue_us"], batches["blocked_us"], strict=True)
            assert [sum(part) for part in parts] == batches["load_us"]


def test_nothing_recorded_identifies_a_machine() -> None:
    text = "".join(path.read_text() for path in RECORDED.glob("*.json"))
    assert not re.search(r"/home/|/root|/tmp|pytest", text)
