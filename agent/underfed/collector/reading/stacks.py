"""What a rank's workers were seen to execute: read from their files, added up for each loader, handed out to be sent.

The sums are kept in files as well, so that another collector goes on with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from underfed.collector.wire import Stacks
from underfed.exchange.run_files import StacksName, loader_stacks_file, stacks_name
from underfed.exchange.stacks import Looks, SeenStacks, read_stacks, write_stacks
from underfed.host.clock import now_ns
from underfed.host.files import Changes

MOST_PAUSE_NS = 10_000_000_000
"""Between two sendings as long as since the first, and at most this: all sums are sent anew, and with dozens of workers
one of them has seen something in every second."""


FURTHER, NEAREST = 1.4, 0.5
"""Times as much time as at the last one, after which it is kept again what was seen so far; and the part of all time
whose end that is to be which is sent. So it is that of 0.36 to 0.71 of the time."""


@dataclass(slots=True, eq=False)
class _Earlier:
    """What was seen of a loader by some instants, each some way further than the one before it."""

    began_ns: int
    kept: list[tuple[int, Looks]] = field(default_factory=list)
    """With the time since it began, ascending."""

    def keep(self, seen: SeenStacks, at_ns: int) -> None:
        age_ns = at_ns - self.began_ns
        if age_ns > 0 and (not self.kept or age_ns >= FURTHER * self.kept[-1][0]):
            # Those that no later time is twice of are not needed again.
            self.kept = [each for each in self.kept if each[0] >= NEAREST / FURTHER * age_ns]
            self.kept.append((age_ns, {key: list(looks) for key, looks in seen.samples.items()}))

    def by_half(self, at_ns: int) -> Looks | None:
        """By the instant that is nearest to half of the time. ``None``: there is none but now."""
        half_ns = NEAREST * (at_ns - self.began_ns)
        before = [each for each in self.kept if each[0] <= FURTHER * half_ns]
        return min(before, key=lambda each: abs(each[0] - half_ns))[1] if before else None


class RankStacks:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._changes = Changes(directory)
        self._seen: dict[int, SeenStacks] = {}
        self._earlier: dict[int, _Earlier] = {}
        self._unsent: set[int] = set()
        self._began_ns = self._due_ns = 0
        self.failures = 0
        """Files that have such a name and could not be read."""

    def read(self) -> None:
        """Read and remove what workers have written since the last call."""
        if not self._changes.has_changed():
            return
        read: set[int] = set()
        for path, name in self._files():
            if self._add(path, name.loader):
                read.add(name.loader)
                if not name.is_sum:
                    path.unlink(missing_ok=True)
        for loader in read:
            # Where memory is full, the next collector begins anew.
            with suppress(OSError):
                write_stacks(loader_stacks_file(self._directory, loader), self._seen[loader])
            self._earlier.setdefault(loader, _Earlier(now_ns())).keep(self._seen[loader], now_ns())
        self._unsent |= read

    def take(self, name: Callable[[int], str], is_last: bool = False) -> list[Stacks]:
        """The sums that have changed, unless others were taken shortly before. ``name`` gives a loader's name."""
        now = now_ns()
        if not self._unsent or (now < self._due_ns and not is_last):
            return []
        self._began_ns = self._began_ns or now
        self._due_ns = now + min(MOST_PAUSE_NS, now - self._began_ns)
        unsent, self._unsent = self._unsent, set()
        earlier = {loader: known.by_half(now) for loader, known in self._earlier.items()}
        counts = {loader: self._seen[loader].counts(earlier.get(loader)) for loader in sorted(unsent)}
        return [Stacks(name(loader), each) for loader, each in counts.items()]

    def send_again(self) -> None:
        """The service asked for everything."""
        self._unsent |= self._seen.keys()
        self._due_ns = 0

    def _files(self) -> Iterator[tuple[Path, StacksName]]:
        """What is new, and before it the sums of loaders that an earlier collector has read."""
        named = [(path, name) for path in self._directory.glob("*.stacks") if (name := stacks_name(path.name))]
        yield from ((path, name) for path, name in named if name.is_sum and name.loader not in self._seen)
        yield from ((path, name) for path, name in named if not name.is_sum)

    def _add(self, path: Path, loader: int) -> bool:
        try:
            counts = read_stacks(path)
        except FileNotFoundError:
            return False  # the trainer removed it meanwhile
        except (OSError, ValueError, KeyError, TypeError):
            self.failures += 1
            path.unlink(missing_ok=True)
            return False
        self._seen.setdefault(loader, SeenStacks()).merge(counts)
        return True
