"""``underfed push``: reads rings left by ended runs, and sends what their spools hold."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from underfed.collector.leftovers import collect, own_runs
from underfed.collector.spool.all_spools import TOO_MUCH, TOO_OLD, is_stale, take_removed
from underfed.collector.spool.sender import Outcome, Sender
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.spool_directory import SPOOL, claimed, host_of, leave, spool_directory
from underfed.collector.spool.transport import HttpTransport
from underfed.errors import ConfigError, SpoolLockedError
from underfed.exchange import config, run_files
from underfed.exchange.rank import slug
from underfed.host.lock import locked
from underfed.host.mounts import is_remote

WHY = {
    TOO_MUCH: "more than UNDERFED_SPOOL_MB were kept, and these were the oldest",
    TOO_OLD: "they were older than UNDERFED_SPOOL_DAYS, or of a job that is gone",
}


def push_all(environ: Mapping[str, str], directory: Path | None) -> int:
    """Send everything to ``UNDERFED_URL``. Returns 0: all was sent; 1: something is left; 2: the address is wrong."""
    data_directory = directory.absolute() if directory is not None else config.data_directory(environ)
    try:
        url = config.read_url(environ)
    except ConfigError as error:
        print(f"underfed push: {error}", file=sys.stderr)
        return 2
    for run_directory in own_runs(environ, data_directory):
        if any(run_files.rank_directories(run_directory)) and not collect(run_directory, data_directory):
            print(f"{run_directory.name}: still runs, so its own collector reads its rings")
    for removed in take_removed(data_directory):
        print(f"{removed.run.partition('@')[0]}: {removed.windows} windows were removed unsent: {WHY[removed.reason]}")
    spools = [each for each in unsent_spools(environ, data_directory) if not is_written_elsewhere(each[0])]
    if not spools:
        print(f"There is nothing to send in {data_directory}.")
    return max((push_spool(*each, url, environ) for each in spools), default=0)


def unsent_spools(environ: Mapping[str, str], data_directory: Path) -> Iterator[tuple[Path, Path | None]]:
    """Spools with unsent windows, each with its run's directory if that still exists."""
    runs = {
        spool_directory(data_directory, run.name, platform.node()): run for run in own_runs(environ, data_directory)
    }
    for directory in sorted({*(data_directory / SPOOL).glob("*"), *runs}):
        run = runs.get(directory)
        if any(directory.glob("*.segment")) or (run is not None and any((run / SPOOL).glob("*.segment"))):
            yield directory, run


def is_written_elsewhere(directory: Path) -> bool:
    """Whether the spool may be in use on another host, whose lock does not show here. Prints so."""
    host = host_of(directory)
    if not directory.exists() or not is_remote(directory) or host == slug(platform.node()) or is_stale(directory):
        return False
    print(f"{directory.name.partition('@')[0]}: {host} wrote it within a day; push it from there")
    return True


def push_spool(directory: Path, run_directory: Path | None, url: str, environ: Mapping[str, str]) -> int:
    """Send one spool. Returns 1 when something is left of it."""
    run_id = directory.name.partition("@")[0]
    fallback = run_directory / SPOOL if run_directory is not None else None
    try:
        with ExitStack() as stack:
            if run_directory is not None:
                stack.enter_context(locked(run_directory, creates=False))
            stack.enter_context(claimed(directory))
            spool = Spool(directory, fallback=fallback)
            transport = HttpTransport(url, environ.get("UNDERFED_TOKEN"))
            sender, sent = Sender(spool, transport), spool.unsent
            while (outcome := sender.send_one()) is Outcome.SENT:
                continue
            left = spool.unsent
            # While the training goes on, the next collector needs the run's progress.
            spool.close(is_over=run_directory is None or not any(run_files.rank_directories(run_directory)))
            transport.close()
            leave(directory)
            if run_directory is not None:
                leave(run_directory)
    except SpoolLockedError:
        print(f"{run_id}: its own collector is sending it")
        return 0
    print(f"{run_id}: {sent - left} windows sent to {url}")
    if outcome is Outcome.LATER:
        print(f"underfed push: {left} windows of {run_id} are left: {url}: {sender.reason}", file=sys.stderr)
        return 1
    return 0
