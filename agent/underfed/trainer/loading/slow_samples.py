"""Which samples of a worker take longest, with their index and the file that is open meanwhile.

No sample is timed: that would cost a loader of small ones more than they do. Every so often it is looked which one is
being loaded. One that is there at several looks is slow, and how long it took is known to about the time between two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from underfed.exchange.stacks import TEXT_LENGTH, SeenStacks, SlowSample
from underfed.host.signal_handlers import let_through
from underfed.trainer.loading.frame_names import working_directory
from underfed.trainer.loading.thread_times import ThreadTimes, Times

Position = tuple[int, int, int]
"""Pass, batch, and what tells a sample from the others of its batch."""

Sample = tuple[int, "int | None"]
"""What tells it from the others of its batch, and its index."""

LEAST_NS = 20_000_000
"""A sample that was not seen for longer is not slow."""

FILES = "/proc/self/fd"
MOST_FILES = 256
LATER = 1.5
"""Times as long as it was seen at the look at open files before, from which they are looked at once more for a sample:
that takes 0.1 ms with 40 of them, and within a burst looks come every 10 ms."""

NO_DATA = ("/dev/", "/proc/", "/sys/")


@dataclass(slots=True, eq=False)
class SlowSamples:
    seen: SeenStacks
    worker: int | None = None
    """Whose samples these are; ``None``: the training process's."""
    times: ThreadTimes | None = None
    """Of the thread that loads them."""
    _here: tuple[str, ...] = field(default_factory=lambda: tuple(f"{place}/" for place in working_directory()))
    _open_before: set[str] = field(default_factory=lambda: set(open_files()))
    """Logs, archives: they are open while other samples are loaded, too."""
    _position: Position | None = None
    _index: int | None = None
    _file: str | None = None
    _file_bytes: int | None = None
    _files_from_ns: float = 0.0
    """From how long on open files are looked at for this sample."""
    _first_ns: int = 0
    _last_ns: int = 0
    _gap_ns: int = 0
    """Before it was first seen."""
    _before_times: Times | None = None
    """At the look before it was first seen: one that holds the interpreter lock is seen when it is nearly over."""
    _last_times: Times | None = None

    def look(self, position: Position | None, index: int | None, due_ns: int, now_ns: int) -> None:
        """``position`` ``None``: no sample is being loaded, or it is not known which. ``due_ns``: since when this look
        waited for the interpreter lock, which the sample held meanwhile."""
        if position is None or position != self._position:
            gap_ns = due_ns - self._last_ns
            self._end(gap_ns)
            self._position, self._index, self._files_from_ns = position, index, 0.0
            self._file = self._file_bytes = None
            self._first_ns, self._gap_ns = due_ns, gap_ns
            self._before_times = self._last_times
        elif self._file is None and now_ns - self._first_ns >= self._files_from_ns:
            self._files_from_ns = LATER * (now_ns - self._first_ns)
            opened = next((path for path in open_files() if path not in self._open_before), None)
            if opened is not None:
                shown = next((opened.removeprefix(here) for here in self._here), opened)
                self._file, self._file_bytes = shown, _size_of(opened)
        self._last_ns, self._last_times = now_ns, None if self.times is None else self.times.read()

    def _end(self, gap_ns: int) -> None:
        """It began and ended in the middle between two looks, on average."""
        seen_ns = self._last_ns - self._first_ns
        if self._position is not None and seen_ns >= LEAST_NS:
            unseen_ns = (min(self._gap_ns, seen_ns) + min(gap_ns, seen_ns)) // 2
            load_us = (seen_ns + unseen_ns) // 1000
            parts = self._parts_us(load_us)
            self.seen.add_slow(SlowSample(load_us, self._index, self._file, self._file_bytes, self.worker, *parts))

    def _parts_us(self, load_us: int) -> tuple[int | None, int | None]:
        """On a CPU and waiting for one: of all of the load as between the look before it and the last. Together they
        are never more than the load: the kernel counts a wait once it is over, so one that began earlier is counted
        here as well."""
        before, last = self._before_times, self._last_times
        if before is None or last is None:
            return None, None
        between_ns = max(1, last.at_ns - before.at_ns)
        cpu_us = round(load_us * min(1.0, (last.cpu_ns - before.cpu_ns) / between_ns))
        runqueue_us = round(load_us * (last.runqueue_ns - before.runqueue_ns) / between_ns)
        return cpu_us, min(runqueue_us, load_us - cpu_us)


def sample_of(frame: FrameType) -> Sample | None:
    """What torch's fetcher is loading.

    ``frame``: the fetcher's own, or of the comprehension within. Its variables are read, none of the program's.
    """
    names: Any = frame.f_locals
    index = names.get("idx", names.get("possibly_batched_index"))
    if type(index) is list:
        data = names.get("data")  # an iterable data set's: as many as there are so far
        return (len(data), None) if type(data) is list else None
    whole = whole_number(index)
    return id(index) if whole is None else whole, whole


def whole_number(index: Any) -> int | None:
    is_whole = type(index) is int or (type(index).__module__ == "numpy" and type(index).__name__.startswith("int"))
    return int(index) if is_whole and index >= 0 else None


def open_files() -> list[str]:
    """Files with names that this process has open, those with the highest descriptors first."""
    try:
        descriptors = sorted(map(int, os.listdir(FILES)), reverse=True)[:MOST_FILES]  # noqa: PTH208 - names alone
    except OSError as error:
        let_through(error)
        return []
    return [path for each in descriptors if (path := _path_of(each)) is not None]


def _path_of(descriptor: int) -> str | None:
    try:
        path = os.readlink(f"{FILES}/{descriptor}")  # noqa: PTH115 - a tenth of what a Path takes
    except OSError as error:
        let_through(error)
        return None
    is_data = path.startswith("/") and not path.startswith(NO_DATA) and len(path) <= TEXT_LENGTH
    return path if is_data and os.path.isfile(path) else None  # noqa: PTH113


def _size_of(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except OSError as error:
        let_through(error)
        return None
