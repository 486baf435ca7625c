"""Evidence that several causes and changes give, so that one measure has one name and one unit."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.wait import mean_iterator_us, mean_startup_us
from underfed_server.facts.record import HostShare, RankFacts, whole_epochs
from underfed_server.measurements import Column
from underfed_server.model import Evidence, LoaderInfo, ReadRate

LITTLE_TRAFFIC = 1e6
"""Bytes a second that monitoring and remote logins may take."""


def mean_us(what: str, column: Column, series: str | None = None) -> Evidence:
    """Mean duration of what was measured."""
    return Evidence(what=what, value=measures.mean(column), unit="us", series=series)


def load(rank: RankFacts) -> Evidence:
    return mean_us("Loading one batch", rank.batches.load_us, "load_us")


def load_cpu(rank: RankFacts) -> Evidence:
    return mean_us("CPU time to load one batch", rank.batches.cpu_us, "cpu_us")


def step(rank: RankFacts) -> Evidence:
    return Evidence(what="Step", value=rank.step_us, unit="us", series="step_us")


def work(rank: RankFacts) -> Evidence:
    return Evidence(what="Step without its data wait", value=measures.work_us(rank), unit="us")


def epoch_starts(rank: RankFacts, loader: LoaderInfo | None) -> list[Evidence]:
    """Of the epochs that begin within the judged steps; the end of the epoch before, in which its workers stop, is part
    of the longer wait."""
    lengths = whole_epochs(rank.epochs)
    steps = sum(lengths) / len(lengths) if lengths else None
    return [
        Evidence(what="Longer wait for an epoch's first batch", value=mean_startup_us(rank, loader), unit="us"),
        Evidence(what="Constructing the iterator", value=mean_iterator_us(rank), unit="us"),
        Evidence(what="Steps of an epoch", value=steps, unit="count"),
    ]


def empty_queue(rank: RankFacts) -> Evidence:
    empty = measures.empty_queue_fraction(rank)
    return Evidence(what="Requests that found no batch ready", value=empty, unit="fraction", series="queue_depth")


def cores_in_use(rank: RankFacts) -> Evidence:
    return Evidence(what="Cores in use", value=measures.used_cores(rank), unit="cores", series="busy_cores")


def others_cores(cores: float | None) -> Evidence:
    """``cores``: used by other jobs."""
    return Evidence(what="Cores used by other jobs", value=cores, unit="cores")


def usable_cores(host: HostShare) -> Evidence:
    return Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores")


WAITED_FOR = "of load time that is waited for"
"""Loads that were ready in time left out; a share of all load time is another figure."""


def cpu_share(share: float | None) -> Evidence:
    return Evidence(what=f"On the CPU, {WAITED_FOR}", value=share, unit="fraction", series="cpu_us")


def runqueue_share(share: float | None) -> Evidence:
    what = f"Ready to run, no core free, {WAITED_FOR}"
    return Evidence(what=what, value=share, unit="fraction", series="runqueue_us")


def storage_reads(rank: RankFacts) -> Evidence:
    read = measures.storage_fraction(rank)
    return Evidence(what="Read from storage, of bytes asked for", value=read, unit="fraction")


def network(rank: RankFacts) -> list[Evidence]:
    """What came by network, of loads that are blocked on no storage that was seen. Nothing where nothing came."""
    received, by_host = measures.received_bytes_per_s(rank), measures.host_received_bytes_per_s(rank)
    open_at_once = [each.connections for each in rank.workers if each.connections]
    if not received and not open_at_once and (by_host or 0.0) < LITTLE_TRAFFIC:
        return []
    return [
        Evidence(what="Received through the workers' own connections", value=received or None, unit="bytes_per_s"),
        Evidence(what="Connections of a worker", value=max(open_at_once, default=None), unit="count"),
        Evidence(what="Received by the host's networks, by any process", value=by_host, unit="bytes_per_s"),
    ]


def read_elsewhere(most: ReadRate | None) -> list[Evidence]:
    """What another run read from the same storage."""
    if most is None:
        return []
    return [
        Evidence(what="Most that another run read from it", value=most.bytes_per_s, unit="bytes_per_s"),
        Evidence(what="Loads at once of that run", value=most.readers, unit="count"),
    ]


def batch_bytes(loader: LoaderInfo | None) -> Evidence:
    return Evidence(what="Size of a batch", value=loader.batch_bytes if loader else None, unit="bytes")


def batch_tensors(loader: LoaderInfo | None) -> Evidence:
    return Evidence(what="Tensors in a batch", value=loader.batch_tensors if loader else None, unit="count")


def setting(name: str, value: object) -> Evidence:
    return Evidence(what=name, value=None if value is None else str(value), unit="setting")


def load_spread(rank: RankFacts) -> list[Evidence]:
    load = rank.batches.load_us[np.isfinite(rank.batches.load_us)]
    median, slow = (float(np.percentile(load, share)) if len(load) else None for share in (50, 95))
    return [
        Evidence(what="Loading a batch, median", value=median, unit="us", series="load_us"),
        Evidence(what="Loading a batch, 95th percentile", value=slow, unit="us", series="load_us"),
    ]
