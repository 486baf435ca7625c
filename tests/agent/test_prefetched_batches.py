"""What the prefetcher hands out: batches of every shape, in memory that nobody else is given meanwhile."""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest
import torch

from tests.fakes.machine import Machine
from tests.fakes.streams import ns
from tests.fakes.tensors import SimulatedTensor
from underfed.trainer import batch as batches
from underfed.trainer.prefetcher.copy_stream import Transfer


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("underfed.trainer.prefetcher.copy_stream._free_streams", {})
    return Machine()


Pair = namedtuple("Pair", ["x", "y"])


@dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    label: str = "cat"


@dataclass
class Counted:
    x: Any
    made: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.made += 1


class Sized(OrderedDict[str, Any]):
    size = 0


class InPlace(UserDict[str, Any]):
    """As Hugging Face's ``BatchEncoding``: moves itself."""

    def to(self, device: Any, *, non_blocking: bool = False) -> InPlace:
        assert non_blocking
        self.data = {key: value.to(device, non_blocking=True) for key, value in self.data.items()}
        return self


class Graph:
    """As a PyG batch: an object that does everything itself."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def pin_memory(self) -> Graph:
        return Graph(self.x.pin_memory())

    def to(self, device: Any) -> Graph:
        return Graph(self.x.to(device))

    def record_stream(self, stream: Any) -> None:
        self.x.record_stream(stream)


class Opaque:
    """Has ``to()``, and nothing that shows its tensors."""

    def __init__(self, x: Any) -> None:
        self._x = [x]

    @property
    def x(self) -> Any:
        return self._x[0]

    def to(self, device: Any) -> Opaque:
        return Opaque(self._x[0].to(device))


class Framed(SimulatedTensor):
    """Loses its class when it is pinned, as torchvision's tv_tensors do."""


def sized(tensor: Any) -> Sized:
    made = Sized(x=tensor)
    made.size = 7
    return made


def framed(tensor: SimulatedTensor) -> Framed:
    made = torch.tensor(int(tensor)).as_subclass(Framed)
    made.memory, made.place, made.block = tensor.memory, tensor.place, tensor.block
    return made


SHAPES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tensor": (lambda x: x, lambda batch: batch),
    "list": (lambda x: [x, "a", None], lambda batch: batch[0]),
    "tuple": (lambda x: (x, b"a", 1.5), lambda batch: batch[0]),
    "named tuple": (lambda x: Pair(1, x), lambda batch: batch.y),
    "dict": (lambda x: {"x": [x], 3: 4}, lambda batch: batch["x"][0]),
    "mapping that can be written": (sized, lambda batch: batch["x"]),
    "mapping that cannot": (lambda x: MappingProxyType({"x": x}), lambda batch: batch["x"]),
    "mapping that moves itself": (lambda x: InPlace(x=x), lambda batch: batch["x"]),
    "frozen dataclass": (Frozen, lambda batch: batch.x),
    "dataclass that counts": (lambda x: Counted((x,)), lambda batch: batch.x[0]),
    "object of its own kind": (Graph, lambda batch: batch.x),
    "object that hides its tensors": (lambda x: {"o": Opaque(x)}, lambda batch: batch["o"].x),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_of_any_shape_arrives_in_that_shape(machine: Machine, shape: str) -> None:
    wrap, look = SHAPES[shape]
    given = [wrap(machine.memory.tensor(number)) for number in range(12)]
    kinds = [type(batch) for batch in given]
    seen = []
    for batch in machine.prefetch(given):
        tensor = look(batch)
        assert tensor.device.type == "cuda"
        machine.device.work(3.0, reads=(tensor,))
        seen.append(int(tensor))
        assert type(batch) is kinds[0]
        del tensor, batch
    assert seen == list(range(12))
    assert machine.torn_reads() == 0


def test_what_a_shape_holds_besides_is_kept(machine: Machine) -> None:
    ordered, frozen, counted = machine.prefetch(
        [sized(machine.memory.tensor(1)), Frozen(machine.memory.tensor(2)), Counted(machine.memory.tensor(3))]
    )
    assert (ordered.size, frozen.label, counted.made) == (7, "cat", 1)


def test_the_users_own_objects_are_not_changed(machine: Machine) -> None:
    given: list[Any] = [[machine.memory.tensor(0)], {"x": machine.memory.tensor(1)}, Frozen(machine.memory.tensor(2))]
    kept = copy.copy(given)
    list(machine.prefetch(given))
    assert given[0] is kept[0] and given[0][0].device.type == "cpu"
    assert given[1]["x"].device.type == given[2].x.device.type == "cpu"


def test_a_tensor_that_pinning_would_make_another_type_stays_what_it_is() -> None:
    machine = Machine()
    tensor = framed(machine.memory.tensor(5))
    assert batches.pinned(tensor) is tensor
    pinned = machine.memory.tensor(6, "pinned")
    assert batches.pinned(pinned) is pinned, "what is pinned is not copied"
    assert batches.pinned({"x": machine.memory.tensor(7)})["x"].is_pinned()


def test_what_cannot_be_pinned_is_copied_from_where_it_is() -> None:
    expanded = torch.zeros(1).expand(4)
    assert batches.pinned(expanded) is expanded


def test_batches_that_are_on_the_device_already_are_waited_for_by_a_transform(machine: Machine) -> None:
    def loader() -> Iterator[Any]:
        for number in range(10):
            tensor = machine.memory.tensor(number, "device")
            tensor.block.write(*machine.device.current.run(ns(4.0)))
            yield tensor

    def transform(tensor: SimulatedTensor) -> SimulatedTensor:
        machine.device.work(1.0, reads=(tensor,))
        return tensor

    assert machine.train(machine.prefetch(loader(), transform), 3.0) == list(range(10))
    assert machine.torn_reads() == 0


def test_what_a_transform_reads_on_the_device_is_not_given_away_meanwhile(machine: Machine) -> None:
    def loader() -> Iterator[Any]:
        for number in range(20):
            tensor = machine.memory.tensor(number, "device")
            tensor.block.write(*machine.device.current.run(ns(0.1)))
            yield tensor

    def transform(tensor: SimulatedTensor) -> Any:
        machine.device.work(5.0, reads=(tensor,))
        return int(tensor)

    assert list(machine.prefetch(loader(), transform)) == list(range(20))
    assert machine.torn_reads() == 0


# Memory


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("place", ["pageable", "pinned"])
@pytest.mark.parametrize("work_ms", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("call_ns", [0, 70_000, 900_000])
def test_no_memory_is_used_again_before_the_device_is_done_with_it(
    machine: Machine, call_ns: int, work_ms: float, place: str, sync: bool
) -> None:
    machine.device.call_ns = call_ns
    loader = machine.plain(60, 0.1, place)
    assert machine.train(machine.prefetch(loader), work_ms, sync) == list(range(60))
    assert machine.torn_reads() == 0


def test_without_telling_the_allocator_memory_would_be_torn(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "hand_over", lambda *_, **__: True)
    machine.train(machine.prefetch(machine.plain(60, 0.1)), 20.0)
    assert machine.torn_reads() > 0, "the simulation sees what the tests above rely on"


def test_without_holding_the_source_memory_would_be_torn(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transfer, "source", property(lambda _: None, lambda *_: None))
    machine.memory.copy_ms = 30.0
    machine.train(machine.prefetch(machine.plain(60, 0.1)), 1.0)
    assert machine.torn_reads() > 0


def test_a_transform_runs_beside_the_work_and_what_it_makes_is_safe(machine: Machine) -> None:
    @dataclass
    class Made:
        x: Any

    class Hidden:
        def __init__(self, x: Any) -> None:
            self.x = x

    def transform(batch: SimulatedTensor) -> Any:
        assert machine.device.current is machine.streams.side_streams[0]
        block = machine.memory.device_block(machine.device.current)
        block.write(*machine.device.current.run(ns(1.0)))
        made = machine.memory._made(int(batch) * 2, "device", block, machine.device.current)
        return Hidden(made) if int(batch) % 2 else Made(made)

    seen = []
    for batch in machine.prefetch(machine.plain(40, 0.1), transform):
        machine.device.work(10.0, reads=(batch.x,))
        seen.append(int(batch.x))
        del batch
    assert seen == list(range(0, 80, 2))
    assert machine.torn_reads() == 0


def test_a_batch_fetched_ahead_is_released_when_its_step_ends(machine: Machine) -> None:
    tensors = [machine.memory.tensor(number) for number in range(20)]
    given = [weakref.ref(tensor) for tensor in tensors]
    prefetched = machine.prefetch(tensors.pop(0) for _ in range(20))
    for number in range(20):
        batch = next(prefetched)
        machine.device.work(1.0, reads=(batch,))
        machine.device.synchronize()
        del batch
        assert sum(each() is not None for each in given[: number + 1]) == 0
    prefetched.close()
