"""Where a run's rings are, and what the files there are called: trainer and collector both use these names.

ROOT/underfed-UID/                 newest: the last incarnation of any run
  RUN_ID/                          lock  collector.log  spool/
    rank-RANK-INCARNATION/         run.json  end.json  status.json  drained.json  failures.log
        figures.json               what underfed.stats() says, written by the collector
        verdict-wanted             a run of a tracker ends; removed once figures.json has all that is known
        switch.json               what the host's first rank reports to the run's other hosts, where it has several
        switch-heard.json         what they reported to it
        trackers.json              where the process logs with W&B, MLflow and TensorBoard
        loader-N.json              facts of a loader
        loader-N.steps             its step ring
        loader-N.I.W.batches       the ring of worker W of the loader's Ith iterator
        loader-N.I.W.stacks        what that worker saw of its loading thread, until the collector has read it
        loader-N.training.stacks   what the training thread was seen to execute, with --profile
        loader-N.stacks            all that the collector has read of those
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from underfed.errors import RunDirectoryError
from underfed.host.files import write_atomically
from underfed.host.mounts import holding, is_remote, read_mounts
from underfed.host.signal_handlers import let_through, passing

AMPLE_BYTES = 128 << 20
"""With this much of /dev/shm free, our megabyte per rank does not matter to the DataLoader that shares it."""

ENOUGH_BYTES = 8 << 20
"""A container's /dev/shm is 64 MB by default: rings of a few ranks fit, and a disk is worse (see ``choose_root``)."""

SHARED_MEMORY = Path("/dev/shm")
RUN, END, DRAINED, FAILURES = "run.json", "end.json", "drained.json", "failures.log"
VERDICT_WANTED = "verdict-wanted"
STATUS = "status.json"
"""Exit status of the process, from a launcher that is its parent."""

LOG = "collector.log"
NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class RingRoot:
    """A directory that could hold rings."""

    path: Path
    free_bytes: int | None
    """``None``: not there, or not writable."""
    is_memory: bool


@dataclass(frozen=True, slots=True)
class RingName:
    """Which ring a file is. ``iterator`` and ``worker`` are ``None`` for a loader's step ring."""

    loader: int
    iterator: int | None = None
    worker: int | None = None


@dataclass(frozen=True, slots=True)
class StacksName:
    """Which file of stacks one is."""

    loader: int
    is_sum: bool
    """Of all that was read, kept by the collector."""


def disk_root(data_directory: Path) -> Path:
    """The directory on a disk of this host: rings are mapped, which a network's file system does not take well."""
    with passing(OSError):
        if is_remote(data_directory):
            return Path(tempfile.gettempdir())
    return data_directory / "run"


def choose_root(shared_memory: RingRoot, runtime: RingRoot | None, data_directory: Path) -> Path:
    """Memory before disk: on a disk, write-back can stall a page fault of the training thread for milliseconds."""
    if (shared_memory.free_bytes or 0) >= AMPLE_BYTES:
        return shared_memory.path
    if runtime is not None and runtime.is_memory and (runtime.free_bytes or 0) >= ENOUGH_BYTES:
        return runtime.path
    if (shared_memory.free_bytes or 0) >= ENOUGH_BYTES:
        return shared_memory.path
    return disk_root(data_directory)


def find_roots(environ: Mapping[str, str], data_directory: Path) -> list[Path]:
    """``UNDERFED_RINGS``, else ``choose_root`` for this host as it is now, and the disk for where that is not safe."""
    if named := environ.get("UNDERFED_RINGS"):
        return [Path(named).absolute()]
    runtime = environ.get("XDG_RUNTIME_DIR")
    chosen = choose_root(ring_root(SHARED_MEMORY), ring_root(Path(runtime)) if runtime else None, data_directory)
    return list(dict.fromkeys([chosen, disk_root(data_directory)]))


def all_roots(environ: Mapping[str, str], data_directory: Path) -> list[Path]:
    """All roots where a run may have left rings."""
    if named := environ.get("UNDERFED_RINGS"):
        return [Path(named).absolute()]
    runtime = environ.get("XDG_RUNTIME_DIR")
    return [SHARED_MEMORY, *([Path(runtime)] if runtime else []), disk_root(data_directory)]


def ring_root(path: Path) -> RingRoot:
    mount = holding(str(path), read_mounts())
    is_memory = mount is not None and mount.file_system == "tmpfs"
    is_writable = path.is_dir() and os.access(path, os.W_OK | os.X_OK)
    return RingRoot(path, shutil.disk_usage(path).free if is_writable else None, is_memory)


def owner_directory(root: Path) -> Path:
    return root / f"underfed-{os.getuid()}"


def make_private(directory: Path) -> Path:
    """Create a directory that only this user can enter, or accept it as it is when it is already so.

    Raises:
        RunDirectoryError: it belongs to someone else, is a link, or cannot be created.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        let_through(error)
        raise RunDirectoryError(f"{directory} cannot be created: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RunDirectoryError(f"{directory} is not a private directory of user {os.getuid()}")
    return directory


def make_local(directory: Path) -> Path:
    """``make_private``, where files may be mapped and locked.

    Raises:
        RunDirectoryError: not so.
    """
    try:
        is_elsewhere = is_remote(directory)
    except OSError as error:
        let_through(error)
        raise RunDirectoryError(f"{directory} cannot be looked at: {error.strerror}") from error
    if is_elsewhere:
        raise RunDirectoryError(f"{directory} is behind a network or FUSE, where nothing can be mapped safely")
    return make_private(directory)


def make_run_directory(root: Path, run_id: str) -> Path:
    return make_private(make_private(owner_directory(root)) / run_id)


def make_rank_directory(root: Path, run_id: str, rank: int, now_ms: int) -> Path:
    """Create one for this incarnation. Tried twice: a collector that ends may remove the run's directory in between.

    Raises:
        RunDirectoryError: it cannot be created, or would not be private.
    """
    incarnation = next_incarnation(make_local(owner_directory(root)), now_ms)
    for is_last in (False, True):
        directory = rank_directory(make_run_directory(root, run_id), rank, incarnation)
        try:
            directory.mkdir(mode=0o700)
        except OSError as error:
            let_through(error)
            if is_last:
                raise RunDirectoryError(f"{directory} cannot be created: {error.strerror}") from error
        else:
            return directory
    raise AssertionError("the last attempt returns or raises")


def next_incarnation(owner: Path, now_ms: int) -> int:
    """Milliseconds of the wall clock, and more than any before on this host, also when the clock was set back."""
    path, newest = owner / NEWEST, 0
    with passing(OSError, ValueError):
        newest = int(path.read_text())
    incarnation = max(now_ms, newest + 1)
    with passing(OSError):
        write_atomically(path, str(incarnation))
    return incarnation


def rank_directory(run_directory: Path, rank: int, incarnation: int) -> Path:
    return run_directory / f"rank-{rank}-{incarnation}"


def rank_directories(run_directory: Path) -> Iterator[Path]:
    """Directories of ranks that have begun to record."""
    for directory in sorted(run_directory.glob("rank-*")):
        if (directory / RUN).is_file():
            yield directory


def step_ring(directory: Path, loader: int) -> Path:
    return directory / f"loader-{loader}.steps"


def batch_rings(directory: Path, loader: int, iterator: int) -> str:
    """Beginning of the paths of all workers' rings of one iterator; a worker adds its number with ``batch_ring``."""
    return str(directory / f"loader-{loader}.{iterator}")


def batch_ring(prefix: str, worker: int) -> str:
    return f"{prefix}.{worker}.batches"


def stacks_file(prefix: str, worker: int) -> str:
    """``prefix``: of ``batch_rings``."""
    return f"{prefix}.{worker}.stacks"


def training_stacks_file(directory: Path, loader: int) -> Path:
    return directory / f"loader-{loader}.training.stacks"


def loader_stacks_file(directory: Path, loader: int) -> Path:
    return directory / f"loader-{loader}.stacks"


def stacks_name(file_name: str) -> StacksName | None:
    """The inverse of the three; ``None`` for any other file."""
    found = re.fullmatch(r"loader-(\d+)(\.\d+\.\d+|\.training)?\.stacks", file_name)
    return None if found is None else StacksName(int(found[1]), is_sum=found[2] is None)


def loader_facts_file(directory: Path, loader: int) -> Path:
    return directory / f"loader-{loader}.json"


def ring_name(file_name: str) -> RingName | None:
    """The inverse of ``step_ring`` and ``batch_ring``; ``None`` for any other file."""
    if steps := re.fullmatch(r"loader-(\d+)\.steps", file_name):
        return RingName(int(steps[1]))
    if batches := re.fullmatch(r"loader-(\d+)\.(\d+)\.(\d+)\.batches", file_name):
        return RingName(int(batches[1]), int(batches[2]), int(batches[3]))
    return None


def remove_batch_rings(directory: Path, loader: int, iterator: int) -> None:
    """Remove rings that the collector has drained long ago, so that the number of files is bounded also without one."""
    beginning = f"loader-{loader}.{iterator}."
    # ``glob()`` would compile another pattern for each iterator, which takes a third of what a pass costs.
    with passing(FileNotFoundError):
        for path in directory.iterdir():
            if path.name.startswith(beginning) and path.suffix in (".batches", ".stacks"):
                path.unlink(missing_ok=True)
