"""The collector process of one run, started with the run's directory by ``trainer.collector_process``."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

from underfed.collector.collector import LINGER_S, Collector
from underfed.collector.leftovers import LOGS, sweep
from underfed.collector.ranks import RankStreams
from underfed.collector.sampling.gpu import open_gpus
from underfed.collector.sampling.host_and_gpus import HostAndGpus
from underfed.collector.spool.all_spools import AllSpools
from underfed.collector.spool.sender import Sender
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.spool_directory import SPOOL, claimed, leave, spool_directory
from underfed.collector.spool.transport import HttpTransport
from underfed.errors import SpoolLockedError
from underfed.exchange import run_files
from underfed.exchange.config import read_spool_limits
from underfed.exchange.facts import Origin, read_facts
from underfed.exchange.run_files import rank_directories
from underfed.host.lock import locked

NICE = 10
LOCK_PATIENCE_S = 0.5
"""Other processes take the lock for an instant, to check whether the run is served."""

SPOOL_PATIENCE_S = 60.0
"""An ``underfed push`` may be sending windows of an earlier part of this run."""


def main(run_directory: str) -> int:
    """Serve the run until it has ended; go on for a rank that started while this collector was ending."""
    os.nice(NICE)
    directory = Path(run_directory)
    served: set[Path] = set()
    is_done = False
    with suppress(SpoolLockedError):  # another collector serves it, or has removed it
        while not is_done:
            with locked(directory, LOCK_PATIENCE_S, creates=False):
                served |= serve(directory)
            is_done = not set(rank_directories(directory)) - served
    return 0


def serve(directory: Path) -> set[Path]:
    """Returns the ranks that were found, all ended or abandoned now."""
    first = next(rank_directories(directory), None)
    if first is None:
        # Another collector served them all, and could not remove the directory in which this one had begun.
        (directory / run_files.LOG).unlink(missing_ok=True)
        leave(directory)
        return set()
    origin = read_facts(first / run_files.RUN, Origin)
    data_directory = Path(origin.data_directory)
    wanted = spool_directory(data_directory, origin.run_id, origin.hostname)
    with claimed(wanted, SPOOL_PATIENCE_S):
        limits = read_spool_limits(os.environ)
        others = AllSpools(data_directory, limits)
        spool = Spool(wanted, fallback=directory / SPOOL, others=others)
        ranks = RankStreams(directory, spool, HostAndGpus(open_gpus))
        sender = Sender(spool, HttpTransport(origin.url, os.environ.get("UNDERFED_TOKEN")))
        sweeping = partial(sweep, os.environ, data_directory, others, limits.age_s, directory)
        collector = Collector(ranks, spool, sender, sweeping)
        signal.signal(signal.SIGTERM, lambda *_: collector.stop_later())
        try:
            collector.run(linger_s())
        finally:
            spool.close(is_over=ranks.have_ended())
        leave(wanted)
    keep_log(directory / run_files.LOG, data_directory / LOGS / f"{origin.run_id}.log")
    leave(directory)
    return ranks.seen


def keep_log(log: Path, kept: Path) -> None:
    """Keep the log for reading after the run, unless it is empty, as most are."""
    with suppress(OSError):
        if log.stat().st_size:
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, kept)
        log.unlink()


def linger_s() -> float:
    """``UNDERFED_LINGER_S``, else ``LINGER_S``."""
    with suppress(KeyError, ValueError):
        return max(0.0, float(os.environ["UNDERFED_LINGER_S"]))
    return LINGER_S
