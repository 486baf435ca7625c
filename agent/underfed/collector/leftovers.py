"""What processes of this user left behind on this host: rings of dead jobs, unfinished files, old logs.

Swept whenever a collector starts.
Whether a job is dead its pid says together with its start time, where both are of our pid namespace. The processes of
another one (a container that shares /dev/shm) cannot be seen from here: its jobs count as dead where the machine was
started anew, or where no collector holds their lock and no file of theirs was written for a day.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

from underfed.collector.rank_stream import RankStream
from underfed.collector.ranks import RankStreams
from underfed.collector.sampling.gpu import open_gpus
from underfed.collector.sampling.host_and_gpus import HostAndGpus
from underfed.collector.spool.all_spools import AllSpools, changed_at, is_stale
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.spool_directory import SPOOL, claimed, leave, segments_in, spool_directory
from underfed.errors import SpoolLockedError
from underfed.exchange import run_files
from underfed.exchange.facts import Origin, read_facts
from underfed.host import procfs
from underfed.host.lock import held, locked

LOGS = "log"
UNFINISHED = re.compile(r"\.(.+\.\d+|launch-\d+-\d+)|.+\.moving")
"""As ``write_atomically``, the launcher and a spool name what they have not finished."""

UNFINISHED_S = 3600.0
"""Such a file is complete within a second, and so is a run's directory after it was created."""

RUNS = 16
"""Dead jobs whose rings one start reads: it must not keep a new run waiting."""


def sweep(
    environ: Mapping[str, str], data_directory: Path, spools: AllSpools, age_s: float, served: Path | None = None
) -> None:
    """Raises nothing for a file that cannot be read or removed.

    ``age_s``: after which logs are removed. ``served``: directory of the caller's own run, which may end meanwhile."""
    read = 0
    for run_directory in own_runs(environ, data_directory):
        if run_directory == served:
            continue
        # Another collector may remove it at any moment, and its ranks before it.
        with suppress(OSError, ValueError, LookupError, TypeError):
            if not any(run_files.rank_directories(run_directory)):
                _remove_empty(run_directory)
            elif read < RUNS and is_dead(run_directory):
                read += 1
                _take(run_directory, data_directory, spools)
    for root in run_files.all_roots(environ, data_directory):
        _remove_unfinished(run_files.owner_directory(root))
    _remove_unfinished(data_directory / SPOOL)
    for log in (data_directory / LOGS).glob("*.log"):
        _remove_older(log, age_s)
    spools.remove_old()


def own_runs(environ: Mapping[str, str], data_directory: Path) -> Iterator[Path]:
    """Directories of this user's runs on this host, where rings and fallbacks lie."""
    for root in run_files.all_roots(environ, data_directory):
        own = run_files.owner_directory(root)
        if own.is_dir() and not own.is_symlink() and own.stat().st_uid == os.getuid():
            yield from (path for path in sorted(own.iterdir()) if path.is_dir())


def is_dead(run_directory: Path) -> bool:
    """Whether none of its ranks runs any more.

    Raises:
        OSError, ValueError, KeyError: that is not known.
    """
    return all(_is_gone(path) for path in run_files.rank_directories(run_directory))


def is_another_hosts(origin: Origin) -> bool:
    """Its host shares this directory with ours."""
    return origin.hostname != platform.node() and origin.boot_id != procfs.boot_id()


def collect(run_directory: Path, data_directory: Path, others: AllSpools | None = None) -> bool:
    """Read the rings of an ended run into its spool. Runs that are served or are another host's are skipped. Returns
    whether it has ended."""
    try:
        origins = [read_facts(path / run_files.RUN, Origin) for path in run_files.rank_directories(run_directory)]
    except FileNotFoundError:
        return True  # its own collector removes it at this moment
    if not origins or any(map(is_another_hosts, origins)):
        return True
    directory = spool_directory(data_directory, origins[0].run_id, origins[0].hostname)
    try:
        with locked(run_directory, creates=False), claimed(directory):
            spool = Spool(directory, fallback=run_directory / SPOOL, others=others)
            streams = [RankStream(path, spool) for path in run_files.rank_directories(run_directory)]
            have_ended = all(stream.seen_end() is not None for stream in streams)
            for stream in streams:
                stream.close()
            if have_ended:
                ranks = RankStreams(run_directory, spool, HostAndGpus(open_gpus))
                ranks.tick()
                for stream in ranks.ended:
                    ranks.remove(stream)
            spool.close()
            leave(directory)
            if have_ended:
                (run_directory / run_files.LOG).unlink(missing_ok=True)
            leave(run_directory)
    except SpoolLockedError:
        return True
    return have_ended


def _is_gone(directory: Path) -> bool:
    origin = read_facts(directory / run_files.RUN, Origin)
    if is_another_hosts(origin):
        return False
    if origin.boot_id != procfs.boot_id():
        return True
    if origin.pid_namespace == procfs.pid_namespace():
        return not procfs.is_running(origin.pid, origin.start_ticks)
    return is_stale(directory)


def _take(run_directory: Path, data_directory: Path, spools: AllSpools) -> None:
    """Into its spool, where its end can be seen."""
    if collect(run_directory, data_directory, spools):
        return
    with held(run_directory) as is_ours:
        if is_ours:
            spools.note_removed(run_directory.name, segments_in(run_directory / SPOOL))
            rmtree(run_directory, ignore_errors=True)


def _remove_empty(run_directory: Path) -> None:
    """Its ranks never began, or were removed: nothing but a lock is in it, or what a killed process began."""
    if run_directory.name.startswith("launch-") or time.time() - changed_at(run_directory) < UNFINISHED_S:
        return
    with held(run_directory) as is_ours:
        if is_ours and not segments_in(run_directory / SPOOL):
            rmtree(run_directory, ignore_errors=True)


def _remove_unfinished(directory: Path) -> None:
    with suppress(OSError):
        for path in [*directory.glob("*"), *directory.glob("*/*")]:
            if UNFINISHED.fullmatch(path.name):
                _remove_older(path, UNFINISHED_S)


def _remove_older(path: Path, age_s: float) -> None:
    with suppress(OSError):
        if time.time() - path.lstat().st_mtime > age_s:
            rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
