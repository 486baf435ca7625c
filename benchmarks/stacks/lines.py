"""How far lines are from the truth in three loops: those of which a line calls, and its neighbours do the work.

``python -m benchmarks.stacks.lines``, half a minute. What the work of each line takes is timed beside, in turns.
"""

from __future__ import annotations

import _thread
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from underfed.exchange.guard import Guard
from underfed.exchange.stacks import GROUPS
from underfed.host.clock import now_ns
from underfed.trainer.loading.bursts import BURST_NS, Bursts
from underfed.trainer.loading.caught_stack import Caught
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.stack_sampler import StackSampler

SECONDS = 8.0
Timed = Callable[[], Any]


def whole_numbers(large: int, values: list[int]) -> None:
    for _ in range(200):
        product = large * large
        rest = product % 1_000_003
        values.append(rest)
        abs(rest)


def characters(text: str, found: list[str]) -> None:
    for _ in range(200):
        joined = text + text
        tail = joined[5:]
        found[0] = tail
        len(tail)
        str.upper("a")


def arrays(pixels: Any, scale: Any) -> None:
    for _ in range(200):
        shifted = pixels - scale
        squared = shifted * shifted
        clipped = squared > 2
        float(clipped[0])


def whole_numbers_timed() -> dict[int, Timed]:
    """By line, counted from the function's first: the work of that line alone."""
    large = 7**2_000
    product = large * large
    return {2: lambda: large * large, 3: lambda: product % 1_000_003, 5: lambda: abs(12)}


def characters_timed() -> dict[int, Timed]:
    text = "a" * 30_000
    joined = text + text
    return {2: lambda: text + text, 3: lambda: joined[5:], 6: lambda: str.upper("a")}


def arrays_timed() -> dict[int, Timed]:
    pixels, scale = np.ones(400), np.ones(400)
    return {2: lambda: pixels - scale, 3: lambda: pixels * pixels, 4: lambda: pixels > 2, 5: lambda: float(pixels[0])}


LOOPS: tuple[tuple[Callable[..., None], tuple[Any, ...], Callable[[], dict[int, Timed]]], ...] = (
    (whole_numbers, (7**2_000, []), whole_numbers_timed),
    (characters, ("a" * 30_000, [""]), characters_timed),
    (arrays, (np.ones(400), np.ones(400)), arrays_timed),
)


class Thread:
    """The one that creates it."""

    def __init__(self, path: Path) -> None:
        self.code = SeenCode(path)
        self.since_ns = now_ns()
        self.ident = _thread.get_ident()
        self.state: Callable[[], Any] = bool  # nothing but the stack is needed

    def look(self, due_ns: int, looked_ns: int, stack: Caught, _state: Any, bursts: Bursts) -> None:
        count = bursts.looks(due_ns, looked_ns)
        if count:
            places = [place for _frame, place in stack]
            self.code.add("getitem", places, count, self._group(looked_ns), is_there=bursts.found_lock_free)

    def _group(self, looked_ns: int) -> int:
        """In quarters of a second, each as long as a burst."""
        return (looked_ns - self.since_ns) // BURST_NS % GROUPS

    def keep(self) -> None:
        self.code.keep(FrameNames())


def found_in(loop: Callable[..., None], given: tuple[Any, ...]) -> tuple[Counter[int], Counter[int], int]:
    """Looks by line as it was found; looks that report each line, sure or among others; and how many there were."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "stacks"
        path.touch()  # what is seen is kept here
        thread = Thread(path)
        sampler = StackSampler(thread, Bursts(time.monotonic_ns(), is_always=True), Guard(directory))
        sampler.start()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            loop(*given)
            given[1].clear() if loop is whole_numbers else None
        sampler.close()
    exact, among, looks = Counter[int](), Counter[int](), 0
    first = loop.__code__.co_firstlineno
    for (_, frames), samples in thread.code.seen.samples.items():
        own = [frame for frame in frames if frame.function == loop.__name__]
        if own and own[-1].line is not None:
            frame, count = own[-1], sum(samples)
            looks += count
            exact[own[-1].line - first] += count
            lines = range(frame.first_line or own[-1].line, (frame.last_line or own[-1].line) + 1)
            among.update({line - first: count for line in lines})
    return exact, among, looks


def timed(parts: dict[int, Timed]) -> dict[int, float]:
    took = dict.fromkeys(parts, 0.0)
    for _ in range(3_000):
        for line, part in parts.items():
            began = time.perf_counter()
            part()
            took[line] += time.perf_counter() - began
    return {line: each / sum(took.values()) for line, each in took.items()}


def main() -> None:
    for loop, given, parts in LOOPS:
        truth = timed(parts())
        exact, among, looks = found_in(loop, given)
        wrong = max(abs(truth.get(line, 0.0) - exact[line] / looks) for line in {*truth, *exact})
        held = sum(share for line, share in truth.items() if among[line] >= share * looks * 0.8)
        print(f"{loop.__name__}: {looks} looks; a line's share wrong by up to {100 * wrong:.0f} points as found; "
              f"{held:.0%} of the time is in lines that are reported")  # fmt: skip
        for line in sorted({*truth, *exact}):
            print(f"  line {line}: {truth.get(line, 0.0):4.0%} true, {exact[line] / looks:4.0%} found there, "
                  f"{among[line] / looks:4.0%} reported of it or of lines with it")  # fmt: skip


if __name__ == "__main__":
    main()
