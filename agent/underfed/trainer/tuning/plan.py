"""At which step the ranks of one host switch, and to what: one of them writes it, all read it before each of their
steps.

A small mapped file of the run's directory. To read that nothing is new takes a fraction of a microsecond.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from underfed.trainer.tuning.loader_setting import LoaderSetting

FILE = "tuning.plan"
SIZE = 128
NUMBER = struct.Struct("<q")
ORDER = struct.Struct("<12q")
"""Step, whether the program ends there, the setting, and the one that it is compared with."""

PLANNED = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "threads_per_worker")
NONE = -1

AHEAD = 3
"""Steps from the decision to the switch: ranks that train together are at most one step apart."""


@dataclass(frozen=True, slots=True)
class Planned:
    step: int
    setting: LoaderSetting
    keep: LoaderSetting
    """The one that it is compared with."""
    is_end: bool = False
    """The program ends at this step."""


class Plan:
    """Of one run on one host. ``open_plan`` gives the same file to all."""

    def __init__(self, path: Path) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_size < SIZE:
                os.ftruncate(file, SIZE)
            self._memory = mmap.mmap(file, SIZE)
        finally:
            os.close(file)
        self._seen = 0

    def write(self, planned: Planned) -> None:
        """The number last: a reader that sees it sees all."""
        numbers = planned.step, int(planned.is_end), *_packed(planned.setting), *_packed(planned.keep)
        ORDER.pack_into(self._memory, NUMBER.size, *numbers)
        (number,) = NUMBER.unpack_from(self._memory)
        NUMBER.pack_into(self._memory, 0, number + 1)

    def read(self, present: LoaderSetting) -> Planned | None:
        """What was written since the last call; ``None``: nothing. ``present``: what no plan changes is as in it."""
        (number,) = NUMBER.unpack_from(self._memory)
        if number == self._seen:
            return None
        self._seen = number
        step, is_end, *settings = ORDER.unpack_from(self._memory, NUMBER.size)
        return Planned(step, _unpacked(present, settings[:5]), _unpacked(present, settings[5:]), bool(is_end))


def _packed(setting: LoaderSetting) -> tuple[int, ...]:
    values = (getattr(setting, name) for name in PLANNED)
    return tuple(NONE if value is None else int(value) for value in values)


def _unpacked(present: LoaderSetting, packed: Sequence[int]) -> LoaderSetting:
    values: dict[str, Any] = {
        name: None if value == NONE else value for name, value in zip(PLANNED, packed, strict=True)
    }
    switches = {name: bool(values[name]) for name in ("pin_memory", "persistent_workers")}
    return replace(present, **values | switches)
