"""Where the files of each loader's data lie: seen from the processes that read them, and from what data sets name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from underfed.collector.sampling.data_files import data_files
from underfed.collector.wire import Storage
from underfed.host.mounts import Location, Mount, holding, locate, read_mounts

FIRST_PAUSE_US = 1_000_000
LONGEST_PAUSE_US = 60_000_000
"""A loader's files are read after 1, 2, 4 … seconds: where they lie is known early, and seldom changes."""

FILES = 1024
"""Most different files that are counted of one loader."""

MOUNTS = 32
"""Most mounts that are reported for one loader."""

HIDDEN = "its processes may not be inspected"


@dataclass(slots=True)
class Found:
    """Files found on one mount."""

    location: Location
    example: str
    files: set[int] = field(default_factory=set)
    """Hashes of paths."""


@dataclass(slots=True)
class LoaderStorage:
    due_us: int = 0
    pause_us: int = FIRST_PAUSE_US
    turn: int = 0
    """Index of its process that is read next."""
    paths: Sequence[str] = ()
    """Paths named by the data set that were located."""
    found: dict[str, Found] = field(default_factory=dict)
    unsent: set[str] = field(default_factory=set)
    reason: str | None = None


class RankStorage:
    """Of one rank's loaders, by their index."""

    def __init__(self) -> None:
        self._loaders: dict[int, LoaderStorage] = {}

    def sample_costly(
        self, at_us: int, readers: Mapping[int, Sequence[int]], paths: Mapping[int, Sequence[str]]
    ) -> bool:
        """Look at one process of one loader that is due. ``readers``: by loader, pids of its reading processes."""
        for index, pids in readers.items():
            loader = self._loaders.setdefault(index, LoaderStorage())
            if at_us >= loader.due_us and (pids or loader.paths != paths.get(index, ())):
                self._sample(loader, pids, paths.get(index, ()))
                loader.due_us = at_us + loader.pause_us
                loader.pause_us = min(2 * loader.pause_us, LONGEST_PAUSE_US)
                return True
        return False

    def take(self, name: Callable[[int], str]) -> list[Storage]:
        """What is new or changed. ``name`` gives a loader's name."""
        taken = []
        for index, loader in self._loaders.items():
            for found in (loader.found[point] for point in sorted(loader.unsent)):
                where = asdict(found.location)
                taken.append(Storage(name(index), **where, files_seen=len(found.files), example=found.example))
            loader.unsent.clear()
        return taken

    def send_again(self) -> None:
        """The service asked for everything."""
        for loader in self._loaders.values():
            loader.unsent.update(loader.found)

    def reason(self, index: int) -> str | None:
        """Why nothing is known of a loader's storage."""
        loader = self._loaders.get(index)
        return loader.reason if loader is not None and not loader.found else None

    def _sample(self, loader: LoaderStorage, pids: Sequence[int], paths: Sequence[str]) -> None:
        if paths != loader.paths:
            loader.paths = paths
            _add_files(loader, [str(Path(path).resolve()) for path in paths], read_mounts())
        if pids:
            pid = pids[loader.turn % len(pids)]
            loader.turn += 1
            try:
                _add_files(loader, data_files(pid), read_mounts(pid))
                loader.reason = None
            except PermissionError:
                loader.reason = HIDDEN
            except (FileNotFoundError, ProcessLookupError):
                return  # the process is gone: another one will show them


def _add_files(loader: LoaderStorage, files: Iterable[str], mounts: Sequence[Mount]) -> None:
    for path in sorted(files):
        mount = holding(path, mounts)
        if mount is None or (mount.point not in loader.found and len(loader.found) >= MOUNTS):
            continue
        if mount.point not in loader.found:
            loader.found[mount.point] = Found(locate(mount, mounts), path)
        found = loader.found[mount.point]
        is_room = not found.files or sum(len(each.files) for each in loader.found.values()) < FILES
        if is_room and hash(path) not in found.files:
            found.files.add(hash(path))
            loader.unsent.add(mount.point)
