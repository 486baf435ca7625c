"""What threads were seen to execute: counts of stacks, the slowest samples, and sizes of pictures. Workers write them,
and the training process where it is profiled; the collector adds them up and sends them.

Names of functions, files and lines, and sizes of pictures only: no other value, no argument and no line of source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from underfed.exchange.picture_sizes import PictureSize, SeenPictures

Stage = Literal["getitem", "collate", "other", "step"]
"""Of loading; ``step``: what the training thread does between its batches."""

MOST_STACKS = 500
"""Of a loader's loading, and as many of the training thread, kept and sent; those that were seen least often are only
counted. 15 to 30 KB, compressed a tenth."""

MOST_HELD = 3 * MOST_STACKS
"""In memory, until the rarest are dropped."""

GROUPS = 16
"""Into which looks are counted by the burst that they were of. Those of one burst may all find the same call, so a
share is known as well as groups agree in it, whatever the number of looks."""

MOST_SLOW = 20

TEXT_LENGTH = 500
"""Most characters of a function's name and of a path."""


@dataclass(frozen=True, slots=True)
class Frame:
    function: str
    """With its class. Of a function that is not Python's: as it is called where it was seen."""
    file: str
    """Relative to the project, or to where packages are installed."""
    line: int | None
    is_own: bool = False
    """It is the project's, not Python's or an installed package's."""
    first_line: int | None = None
    last_line: int | None = None
    """Among which lines the time was spent that was found at ``line``; ``None``: in that line."""


@dataclass(frozen=True, slots=True)
class StackCount:
    stage: Stage
    frames: list[int]
    """Places in ``StackCounts.frames``, the outermost first. Empty: of all stacks that were not kept."""
    samples: list[int]
    """By group of bursts."""
    earlier: list[int] | None = None
    """Of these, seen in about the first half of the time so far; ``None``: it is not known which."""


@dataclass(frozen=True, slots=True)
class SlowSample:
    load_us: int
    index: int | None
    """In the data set; ``None``: it has none, or it is no whole number."""
    file: str | None
    """Opened while it was loaded, and still open when somebody looked."""
    file_bytes: int | None = None
    """The size of that file."""
    worker: int | None = None
    """That loaded it; ``None``: the training process did."""
    cpu_us: int | None = None
    runqueue_us: int | None = None
    """Of ``load_us``, on a CPU, and ready to run while no core was free; ``None``: not measured."""

    @property
    def own_us(self) -> int:
        """Without the wait for a core, which is no sample's own: it loads fast the next time."""
        return self.load_us - (self.runqueue_us or 0)


@dataclass(frozen=True, slots=True)
class StackCounts:
    frames: list[Frame]
    stacks: list[StackCount]
    slow_samples: list[SlowSample]
    picture_sizes: list[PictureSize] = field(default_factory=list)
    """As they are resized."""
    agent_samples: int = 0
    """Looks at the agent itself, which are in no stack."""


Looks = dict[tuple[Stage, tuple[Frame, ...]], list[int]]
"""By stage and frames, the outermost first: how often, by group of bursts."""


@dataclass(slots=True, eq=False)
class SeenStacks:
    """What was seen so far, of one worker or of a whole loader. Bounded."""

    samples: Looks = field(default_factory=dict)
    slow: dict[tuple[int | None, str | None], SlowSample] = field(default_factory=dict)
    pictures: SeenPictures = field(default_factory=SeenPictures)
    agent_samples: int = 0

    def __bool__(self) -> bool:
        return bool(self.samples or self.slow or self.pictures or self.agent_samples)

    def clear(self) -> None:
        self.samples.clear()
        self.slow.clear()
        self.pictures.clear()
        self.agent_samples = 0

    def add(self, stage: Stage, frames: tuple[Frame, ...], samples: int, group: int) -> None:
        """``group``: of bursts."""
        self._add_all(stage, frames, [samples * (each == group) for each in range(GROUPS)])

    def _add_all(self, stage: Stage, frames: tuple[Frame, ...], samples: list[int]) -> None:
        known = self.samples.get((stage, frames), [0] * GROUPS)
        self.samples[stage, frames] = [one + other for one, other in zip(known, samples, strict=True)]
        if len(self.samples) > MOST_HELD:
            self._drop_rare()

    def add_slow(self, sample: SlowSample) -> None:
        """Its longest load counts, without the wait for a core."""
        key = sample.index, sample.file
        known = self.slow.get(key)
        if known is None or known.own_us < sample.own_us:
            self.slow[key] = sample
        if len(self.slow) > MOST_SLOW:
            del self.slow[min(self.slow, key=lambda each: self.slow[each].own_us)]

    def merge(self, counts: StackCounts) -> None:
        for each in counts.stacks:
            self._add_all(each.stage, tuple(counts.frames[place] for place in each.frames), each.samples)
        for sample in counts.slow_samples:
            self.add_slow(sample)
        for size in counts.picture_sizes:
            resized = size.decoded_width, size.decoded_height, size.used_width, size.used_height
            self.pictures.add(resized, size.count)
        self.agent_samples += counts.agent_samples

    def counts(self, earlier: Looks | None = None) -> StackCounts:
        """Those seen most often first, and the slowest first. ``earlier``: ``samples`` as they were before."""
        self._drop_rare()
        places: dict[Frame, int] = {}
        parts = None if earlier is None else self._kept_of(earlier)
        stacks = [
            StackCount(
                stage,
                [places.setdefault(frame, len(places)) for frame in frames],
                samples,
                None if parts is None else parts[stage, frames],
            )
            for (stage, frames), samples in self._most_first()
        ]
        slowest = sorted(self.slow.values(), key=lambda each: -each.own_us)
        return StackCounts(list(places), stacks, slowest, self.pictures.sizes(), self.agent_samples)

    def _kept_of(self, earlier: Looks) -> Looks:
        """What of each stack that is kept was seen by then; those that were dropped since are among all others."""
        parts: Looks = {key: [0] * GROUPS for key in self.samples}
        for key, looks in earlier.items():
            kept = key if key in parts else (key[0], ())
            if kept in parts:
                together = zip(parts[kept], looks, self.samples[kept], strict=True)
                parts[kept] = [min(one + other, most) for one, other, most in together]
        return parts

    def _drop_rare(self) -> None:
        """A stack that is dropped, and comes again, is counted anew."""
        often = self._most_first()
        self.samples = {}
        left = {False: MOST_STACKS, True: MOST_STACKS}  # by whether it is of the training thread
        for (stage, frames), samples in often:
            is_kept = left[stage == "step"] > 0
            left[stage == "step"] -= 1
            self._add_all(stage, frames if is_kept else (), samples)

    def _most_first(self) -> list[tuple[tuple[Stage, tuple[Frame, ...]], list[int]]]:
        return sorted(self.samples.items(), key=lambda item: -sum(item[1]))


def write_stacks(path: Path, seen: SeenStacks) -> None:
    """
    Raises:
        OSError: it cannot be written.
    """
    from underfed.exchange.parts import write_part  # its JSON is not in every worker, before its first batch

    write_part(path, seen.counts())


def read_stacks(path: Path) -> StackCounts:
    """
    Raises:
        OSError, ValueError, KeyError, TypeError: it cannot be read.
    """
    import json

    content: dict[str, Any] = json.loads(path.read_text())
    return StackCounts(
        _parts(Frame, content["frames"]), _parts(StackCount, content["stacks"]),
        _parts(SlowSample, content["slow_samples"]), _parts(PictureSize, content["picture_sizes"]),
        int(content["agent_samples"]),
    )  # fmt: skip


def _parts(kind: Any, parts: Iterable[dict[str, Any]]) -> list[Any]:
    return [kind(**part) for part in parts]
