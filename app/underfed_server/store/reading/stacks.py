"""What loading threads and the training thread were seen to execute, of all ranks and incarnations together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from underfed_server.ingest.wire import GROUPS, Frame, Stacks
from underfed_server.model import PictureSize, SlowSample, Stage
from underfed_server.store.columns.packed import unpacked_stacks
from underfed_server.store.databases import tables
from underfed_server.store.reading.details import read_reasons

MOST_SLOW = 20

LEAST_SLOW_US = 100_000
"""It is looked ten times a second which sample is being loaded: of shorter ones it is chance which are found."""

Place = tuple[str, str, int | None]
"""Function, file and line."""

Stack = tuple[Stage, tuple[Place, ...]]
"""Places, the outermost first. None: of stacks that were not kept."""

Looks = NDArray[np.int64]
"""How often something was seen, by group of bursts."""

Samples = Mapping[Stack, Looks]

Lines = tuple[int, int]
"""The first and the last."""

MOSTLY_THERE = 0.8
"""Of the looks at a place, found while that line was executed, from which it is that line. Own choice: the rest, found
there though it may have been spent in lines before, is within most margins."""

RANK_SHIFT = 3
"""Groups from one rank to the next: where there were few bursts, those of several ranks are in different ones."""

_stacks, _loader = tables.stacks.c, tables.loader.c
_OF_LOADER = (
    select(_stacks.rank, _stacks.body)
    .where(_stacks.run_id == bindparam("run_id"), _stacks.loader == bindparam("loader"))
    .order_by(_stacks.rank, _stacks.incarnation)
)
_VERSION = (
    select(_stacks.rank, _stacks.incarnation, _stacks.window_index)
    .where(_stacks.run_id == bindparam("run_id"), _stacks.loader == bindparam("loader"))
    .order_by(_stacks.rank, _stacks.incarnation)
)
_WORKERS = select(_loader.num_workers).where(
    _loader.run_id == bindparam("run_id"), _loader.loader == bindparam("loader")
)


@dataclass(frozen=True, slots=True)
class LoaderStacks:
    loading: Samples
    step: Samples
    """Of the training thread between batches, all of that stage."""
    slow_samples: tuple[SlowSample, ...]
    """The slowest first."""
    num_workers: int | None
    reason: str | None
    """Why nothing is sampled, where the agent said so."""
    own_files: frozenset[str] = frozenset()
    """Those of the project among the files of ``samples``."""
    picture_sizes: tuple[PictureSize, ...] = ()
    """Those seen most often first."""
    agent_samples: int = 0
    """Looks at the agent itself, which are in no stack."""
    lines: Mapping[Place, Lines] = field(default_factory=dict)
    """Of places whose time may have been spent in other lines of their function: among which."""
    earlier: Samples = field(default_factory=dict)
    later: Samples = field(default_factory=dict)
    """All stacks of about the first and the second half of the time, of ranks that distinguish them."""


Version = tuple[tuple[int, int, int], ...]
"""What was sent last of a loader's stacks: by rank and incarnation, the window that it came with."""


def none_seen() -> Looks:
    return np.zeros(GROUPS, dtype=np.int64)


def read_version(connection: Connection, run_id: str, loader: str, rank: int | None = None) -> Version:
    """Without unpacking anything. ``rank`` ``None``: of all."""
    wanted = _VERSION if rank is None else _VERSION.where(_stacks.rank == rank)
    rows = connection.execute(wanted, {"run_id": run_id, "loader": loader})
    return tuple((row.rank, row.incarnation, row.window_index) for row in rows)


def read_stacks(connection: Connection, run_id: str, loader: str, rank: int | None = None) -> LoaderStacks:
    """``rank`` ``None``: of all."""
    place = {"run_id": run_id, "loader": loader}
    loading: dict[Stack, Looks] = defaultdict(none_seen)
    step: dict[Stack, Looks] = defaultdict(none_seen)
    earlier: dict[Stack, Looks] = defaultdict(none_seen)
    later: dict[Stack, Looks] = defaultdict(none_seen)
    slow: list[SlowSample] = []
    own_files: set[str] = set()
    sizes: Counter[tuple[int, int, int, int]] = Counter()
    agent_samples = 0
    among = _Among()
    wanted = _OF_LOADER if rank is None else _OF_LOADER.where(_stacks.rank == rank)
    for of, body in connection.execute(wanted, place):
        sent = unpacked_stacks(body)
        places = [_place(frame) for frame in sent.frames]
        own_files |= {frame.file for frame in sent.frames if frame.is_own}
        counts = np.array([stack.samples for stack in sent.stacks], dtype=np.int64).reshape(-1, GROUPS)
        for stack, looks in zip(sent.stacks, np.roll(counts, of * RANK_SHIFT, axis=1), strict=True):
            samples = step if stack.stage == "step" else loading
            key = stack.stage, tuple(places[frame] for frame in stack.frames)
            samples[key] += looks
            if stack.earlier is not None:
                before = np.minimum(looks, np.roll(np.array(stack.earlier, dtype=np.int64), of * RANK_SHIFT))
                earlier[key] += before
                later[key] += looks - before
        among.add(sent)
        for size in sent.picture_sizes:
            sizes[size.decoded_width, size.decoded_height, size.used_width, size.used_height] += size.count
        agent_samples += sent.agent_samples
        slow += (SlowSample(rank=of, **asdict(each)) for each in sent.slow_samples)
    reasons = read_reasons(connection, run_id, loader)
    return LoaderStacks(
        loading,
        step,
        _slowest(slow),
        num_workers=connection.execute(_WORKERS, place).scalar(),
        reason=reasons.get("hotspots", reasons.get("load_us")),
        own_files=frozenset(own_files),
        picture_sizes=tuple(_picture_size(kind, count) for kind, count in sizes.most_common()),
        agent_samples=agent_samples,
        lines=among.lines(),
        earlier=earlier,
        later=later,
    )


class _Among:
    """Counts, of each place, how often the thread was found at it without having been there for sure."""

    def __init__(self) -> None:
        self._found: Counter[Place] = Counter()
        self._unsure: Counter[Place] = Counter()
        self._lines: dict[Place, Lines] = {}

    def add(self, sent: Stacks) -> None:
        for stack in sent.stacks:
            looks = sum(stack.samples)
            # A function that is not Python's stands last, at the place of its call.
            for frame in (sent.frames[index] for index in stack.frames[-2:]):
                self._add(frame, looks)

    def _add(self, frame: Frame, looks: int) -> None:
        place = _place(frame)
        self._found[place] += looks
        if frame.first_line is None or frame.last_line is None:
            return
        self._unsure[place] += looks
        first, last = self._lines.get(place, (frame.first_line, frame.last_line))
        self._lines[place] = min(first, frame.first_line), max(last, frame.last_line)

    def lines(self) -> dict[Place, Lines]:
        return {
            place: self._lines[place]
            for place, unsure in self._unsure.items()
            if unsure > (1 - MOSTLY_THERE) * self._found[place]
        }


def _slowest(samples: list[SlowSample]) -> tuple[SlowSample, ...]:
    """Each once: another rank or incarnation may have loaded it too, whose file is not always seen. What waited
    for a core is not slow by itself."""
    ordered = sorted((each for each in samples if each.own_us >= LEAST_SLOW_US), key=lambda each: -each.own_us)
    files: dict[int | None, SlowSample] = {
        each.index: each for each in reversed(ordered) if each.index is not None and each.file is not None
    }
    named = [_with_file(each, files.get(each.index)) for each in ordered]
    first = {(each.index, each.file): each for each in reversed(named)}
    return tuple([each for each in named if first[each.index, each.file] is each][:MOST_SLOW])


def _with_file(sample: SlowSample, known: SlowSample | None) -> SlowSample:
    """``known``: the slowest load of the same index at which a file was seen."""
    if sample.file is not None or known is None:
        return sample
    return sample.model_copy(update={"file": known.file, "file_bytes": known.file_bytes})


def _picture_size(kind: tuple[int, int, int, int], count: int) -> PictureSize:
    width, height, used_width, used_height = kind
    return PictureSize(
        decoded_width=width, decoded_height=height, used_width=used_width, used_height=used_height, count=count
    )


def _place(frame: Frame) -> Place:
    return frame.function, frame.file, frame.line
