"""All rings of one rank: found, marked, drained in the right order, and removed once nobody writes to them any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from underfed.errors import RingError
from underfed.exchange.ring import RingReader
from underfed.exchange.ring_format import Record
from underfed.exchange.run_files import RingName, ring_name
from underfed.host.files import Changes

FILLING = 8
"""A ring that is unread to an eighth is drained at once, not with the next window."""

TRIES = 8
"""Tries to open a file with a ring's name, for two seconds: it may be incomplete."""


@dataclass(frozen=True, slots=True)
class Drained:
    """What one ring held."""

    ring: RingName
    records: list[Record]
    lost: int
    """Records overwritten since the last drain."""


class RankRings:
    """Reads on from ``positions`` (file name → next record), as an earlier collector left them."""

    def __init__(self, directory: Path, positions: Mapping[str, int]) -> None:
        self._directory = directory
        self._positions = dict(positions)
        self._readers: dict[RingName, tuple[Path, RingReader]] = {}
        self._in_order: list[tuple[RingName, RingReader]] = []
        """Steps first, see ``mark``."""
        self.worker_pids: dict[RingName, int] = {}
        self._tries: dict[str, int] = {}
        """File name → failed tries to open it."""
        self._changes = Changes(directory)
        self._refused: set[str] = set()
        self.failures = 0
        """Files that have a ring's name and are no rings."""

    def mark(self) -> bool:
        """Mark every ring, and return whether one fills so fast that it should be drained soon.

        Step rings first: then every arrival in them finds its batch in a worker's ring.
        """
        if self._changes.has_changed() or self._tries:
            self._find()
        if len(self._in_order) != len(self._readers):
            self._arrange()
        for _ring, reader in self._in_order:
            reader.mark()
        return any(reader.marked > reader.capacity // FILLING for _ring, reader in self._in_order)

    def drain(self) -> list[Drained]:
        """The marked records, the workers' rings first."""
        drained = []
        for ring, reader in reversed(self._in_order):
            before = reader.lost
            drained.append(Drained(ring, reader.drain(), reader.lost - before))
        return drained

    def positions(self) -> dict[str, int]:
        """Where another collector would read on."""
        return {path.name: reader.next for path, reader in self._readers.values()}

    def loaders(self) -> set[int]:
        """Indices of loaders that have recorded anything."""
        return {ring.loader for ring in self._readers}

    def remove_abandoned(self, is_over: Callable[[RingName], bool]) -> list[RingName]:
        """Remove the drained rings of workers whose end was reported: nobody will write them again."""
        removed = []
        for ring in filter(is_over, self.worker_pids):
            path, reader = self._readers[ring]
            reader.mark()
            if not reader.marked:
                reader.close()
                del self._readers[ring]
                path.unlink(missing_ok=True)
                removed.append(ring)
        if removed:
            self._arrange()
        return removed

    def close(self) -> None:
        for _path, reader in self._readers.values():
            reader.close()
        self._readers.clear()
        self._arrange()

    def _arrange(self) -> None:
        """Once for each change: to hash and sort the names of rings costs more than to read the rings' positions."""
        self._in_order = [(ring, self._readers[ring][1]) for ring in sorted(self._readers, key=_steps_first)]
        self.worker_pids = {ring: reader.pid for ring, reader in self._in_order if ring.worker is not None}

    def _find(self) -> None:
        try:
            paths = list(self._directory.iterdir())
        except FileNotFoundError:
            return  # somebody removed the directory: rings that are mapped can still be read
        for path in paths:
            ring = ring_name(path.name)
            if ring is None or ring in self._readers or path.name in self._refused:
                continue
            try:
                self._readers[ring] = path, RingReader(path, self._positions.get(path.name, 1))
                self._tries.pop(path.name, None)
            except FileNotFoundError:
                self._tries.pop(path.name, None)  # the trainer removed it meanwhile
            except (RingError, OSError, ValueError):
                self._tries[path.name] = self._tries.get(path.name, 0) + 1
                if self._tries[path.name] >= TRIES:
                    del self._tries[path.name]
                    self._refused.add(path.name)
                    self.failures += 1


def _steps_first(ring: RingName) -> tuple[bool, int, int, int]:
    return ring.worker is not None, ring.loader, ring.iterator or 0, ring.worker or 0
