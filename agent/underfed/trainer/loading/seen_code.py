"""What a thread was seen to execute, counted where it is seen and named later: a look must be short."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from underfed.exchange.picture_sizes import Resized
from underfed.exchange.stacks import Frame, SeenStacks, Stage, write_stacks
from underfed.host.signal_handlers import passing
from underfed.trainer.loading.frame_names import FrameNames, is_beginning
from underfed.trainer.loading.own_frames import Places, is_own_cost

MOST_FRAMES = 64
"""Of a stack; of a deeper one, half of them at either end."""

Stack = tuple[int, ...]
"""By turns a code's identity and a place in it, the innermost first."""


@dataclass(slots=True, eq=False)
class SeenCode:
    """Of one loader."""

    path: Path
    """For the collector, which removes it once it is read."""
    seen: SeenStacks = field(default_factory=SeenStacks)
    _looks: dict[tuple[Stage, Stack, int, bool], int] = field(default_factory=dict)
    """With the group of bursts, and whether the thread was executing what it was found at."""
    _codes: dict[int, CodeType] = field(default_factory=dict)
    """Those in ``_looks``, by their identity."""

    def add(
        self,
        stage: Stage,
        places: Places,
        looks: int,
        group: int,
        resized: Resized | None = None,
        *,
        is_there: bool = True,
    ) -> None:
        """``group``: of bursts. ``resized``: the picture that was being resized there. ``is_there``: it was executing
        what it was found at.
        """
        if is_own_cost(places):
            self.seen.agent_samples += looks
            return
        if resized is not None:
            self.seen.pictures.add(resized, looks)
        stack: list[int] = []
        for code, at in places:
            self._codes[id(code)] = code
            stack += (id(code), at)
        key = stage, tuple(stack), group, is_there
        self._looks[key] = self._looks.get(key, 0) + looks

    def keep(self, names: FrameNames) -> None:
        """Name what was seen, and write it; where the collector has not read the last yet, with the next."""
        looks, self._looks = self._looks, {}
        codes, self._codes = self._codes, {}
        for (stage, stack, group, is_there), count in looks.items():
            places = [(codes[place], at) for place, at in zip(stack[::2], stack[1::2], strict=True)]
            self.seen.add(stage, named(places, names, is_there=is_there), count, group)
        if self.seen and not self.path.exists():
            with passing(OSError):  # memory is full: later, if there is room again
                write_stacks(self.path, self.seen)
                self.seen.clear()


def named(places: Places, names: FrameNames, *, is_there: bool = True) -> tuple[Frame, ...]:
    """The outermost first, and last what the innermost calls."""
    has_begun = not (places and is_beginning(*places[0]))
    if not has_begun:
        places = places[1:]
    frames = [names.frame(*place) for place in reversed(places[1:])]
    frames += [names.frame(*place, is_there=is_there) for place in places[:1]]
    called = names.called(*places[0], is_there=is_there) if places and has_begun else None
    if called is not None:
        frames.append(called)
    if len(frames) > MOST_FRAMES:
        frames = [*frames[: MOST_FRAMES // 2], *frames[-MOST_FRAMES // 2 :]]
    return tuple(frames)
