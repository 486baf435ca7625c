"""Whether each call of a loader's sampler is timed: in short steps of which it takes next to nothing, only a part."""

from __future__ import annotations

from dataclasses import dataclass

SHORT_STEP_NS = 250_000
"""Timing costs 0.6 to 1.2 µs a step: in longer ones less than half a percent."""

SMALL_SHARE = 1 / 16
"""Of the time of short steps: a sampler that takes less is not timed in each of them."""

timing: set[int] = set()
"""Identities of the sessions whose samplers are timed now. In most short steps there is none, and then no iterator is
asked for its session."""

TIMED, FEWEST = 5, 61
"""One block of steps in so many is timed then, and stands for the others: what a sampler does now and then is in them
as often. A block has so many steps, or more."""


@dataclass(slots=True, eq=False)
class SamplerTiming:
    """Of one loader. The first call in a pass is always timed: it may choose an order for all of them."""

    is_on: bool = True
    usual_ns: int = 0
    """What is recorded for a step in which it is not timed."""
    total_ns: int = 0
    """What it took in this block, where it is timed."""
    _known_ns: int = 0
    """What it took a step in the last block that was timed."""
    _untimed_left: int = 0
    """Blocks, with this one."""
    _first_step: int | None = None
    _began_ns: int = 0
    """Of this block."""

    def begin_pass(self) -> None:
        self._switch(is_on=True)
        self._first_step = None

    def look(self, steps: int, now_ns: int) -> None:
        """Between two steps. ``steps``: how many the loader has given."""
        if self._first_step is not None:
            if steps - self._first_step < FEWEST:
                return
            self._judge(steps - self._first_step, now_ns - self._began_ns)
        self._switch(is_on=not self._untimed_left)
        self._first_step, self._began_ns = steps, now_ns

    def _judge(self, steps: int, passed_ns: int) -> None:
        if self._untimed_left:
            self._untimed_left -= 1
        elif passed_ns < SHORT_STEP_NS * steps and self.total_ns < SMALL_SHARE * passed_ns:
            self._known_ns, self._untimed_left = self.total_ns // steps, TIMED - 1

    def _switch(self, *, is_on: bool) -> None:
        self.is_on, self.total_ns = is_on, 0
        self.usual_ns = 0 if is_on else self._known_ns
