"""Each host with what its runs use of it now, and which of them compete for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from underfed_server.ingest.permission import is_among
from underfed_server.measurements import RATES
from underfed_server.model import Host, HostCores, HostFacts, HostFlow, HostGpu, HostRun, HostsPage
from underfed_server.names import Projects
from underfed_server.store.reading.current_usage import RankNow, RankOfRun
from underfed_server.store.reading.details import host_facts
from underfed_server.store.runs.status import LOST_AFTER
from underfed_server.store.store import Store
from underfed_server.store.team.runs_on_hosts import RankOnHost, RunOnHost, read_ranks_on_hosts, read_runs_on_hosts
from underfed_server.store.writing.peaks import Peaks, read_peaks
from underfed_server.team.competing import competing_for
from underfed_server.team.shared_causes import shared_causes, that_are_shared

T = TypeVar("T")

LISTED_FOR = timedelta(days=7)
NOBODY = "no run reports from it now"


@dataclass(frozen=True)
class HostState:
    """All that is known of one host."""

    hostname: str
    runs: Sequence[RunOnHost]
    """Runs of the last days, the newest first."""
    ranks: Sequence[RankOnHost]
    """Ranks of the running runs; where none runs, of the newest run."""
    now: Mapping[RankOfRun, RankNow]
    peaks: Peaks

    @cached_property
    def places(self) -> Mapping[str, Sequence[RankOfRun]]:
        """Of the ranks, by their runs."""
        found: dict[str, list[RankOfRun]] = defaultdict(list)
        for rank in self.ranks:
            found[rank.run_id].append((rank.run_id, rank.rank))
        return found

    @cached_property
    def running(self) -> list[RunOnHost]:
        return [run for run in self.runs if run.is_running]

    @cached_property
    def views(self) -> list[tuple[RankOnHost, RankNow]]:
        """Ranks that sample the host; those that may use most of its CPUs come first."""
        found = [(rank, now) for rank in self.ranks if (now := self.now.get((rank.run_id, rank.rank)))]
        sampling = [(rank, now) for rank, now in found if now.is_sampling]
        return sorted(sampling, key=lambda each: -cpus_seen(each[0]))


def read_hosts(store: Store, projects: Projects = None, hostname: str | None = None) -> HostsPage:
    """Hosts seen in the last days, or only ``hostname``; ``projects``: only as their runs show them."""
    now = store.now()
    with store.reading() as reader:
        placed = read_runs_on_hosts(reader.connection, now - LISTED_FOR, now, hostname=hostname, projects=projects)
        by_host: dict[str, list[RunOnHost]] = defaultdict(list)
        for run in placed:
            by_host[run.hostname].append(run)
        shown = [run for runs in by_host.values() for run in shown_of(runs)]
        ranks = read_ranks_on_hosts(reader.connection, {run.run_id for run in shown})
        newest = store.newest(reader.connection, sorted({run.run_id for run in shown if run.is_running}))
        peaks = read_peaks(reader.connection, projects)
    used = {place: each.now for place, each in newest.items()}
    ranks_by_host: dict[str, list[RankOnHost]] = defaultdict(list)
    for rank in ranks:
        ranks_by_host[rank.hostname].append(rank)
    shared = _shared_sentences(store, projects, now)
    hosts = [
        _host(HostState(name, runs, ranks_by_host[name], used, peaks.get(name, {})), shared.get(name, []))
        for name, runs in by_host.items()
    ]
    hosts.sort(
        key=lambda host: (not host.is_live, -host.last_seen_at.timestamp() if not host.is_live else 0, host.hostname)
    )
    return HostsPage(since=now - LISTED_FOR, hosts=hosts, history=None)


def shown_of(runs: Sequence[RunOnHost]) -> Sequence[RunOnHost]:
    """The running runs of a host, oldest first so that their order is stable; else the one seen last."""
    running = sorted((run for run in runs if run.is_running), key=lambda run: (run.started_at, run.run_id))
    return running or runs[:1]


def _shared_sentences(store: Store, projects: Projects, now: datetime) -> dict[str, list[str]]:
    """By host: causes that running runs share."""
    running = store.team_runs(now - LOST_AFTER, that_are_shared())
    team_runs = [run for run in running if is_among(run.project, projects)]
    hosts = {run.run_id: [host.hostname for host in run.hosts] for run in team_runs}
    found: dict[str, list[str]] = defaultdict(list)
    for cause in shared_causes(team_runs):
        for name in sorted({name for run in cause.runs for name in hosts[run.run_id]}):
            if cause.kind == "mount" or cause.place == name:
                found[name].append(cause.sentence)
    return found


def cpus_seen(rank: RankOnHost) -> int:
    """A rank that may use most of the host's CPUs sees most of the host; samples of others only fill gaps."""
    return rank.facts.get("allowed_cpus") or 0


def widest_facts(ranks: Sequence[RankOnHost]) -> Mapping[str, Any]:
    return max(ranks, key=cpus_seen).facts if ranks else {}


def reasons_of(ranks: Sequence[RankOnHost]) -> dict[str, str]:
    """Why facts were not measured; where ranks differ, the first one's reason."""
    return {fact: why for rank in reversed(ranks) for fact, why in rank.not_measured.items()}


def is_limited(limit_bytes: int | None, total_bytes: int | None) -> bool:
    """Whether the control group may use less memory than the machine has."""
    return limit_bytes is not None and (total_bytes is None or limit_bytes < total_bytes)


def _host(there: HostState, shared: list[str]) -> Host:
    runs, facts = shown_of(there.runs), host_facts(there.hostname, widest_facts(there.ranks))
    views = [now for _, now in there.views]
    memory_limit, memory_used = _memory(facts, views)
    shm_free = _first(view.shm_free_bytes for view in views)
    shm_total = facts.shm_total_bytes
    cores = cores_of(there, facts)
    measured: list[HostRun] = [run.model_copy(update={"own_cores": _own_cores(run, there)}) for run in runs]
    shm_used = None if shm_free is None or shm_total is None else max(0, shm_total - shm_free)
    memories = {"memory": (memory_used, memory_limit), "/dev/shm": (shm_used, shm_total)}
    reasons = reasons_of(there.ranks)
    return Host(
        hostname=there.hostname,
        is_live=bool(there.running),
        last_seen_at=max(run.ended_at for run in there.runs),
        facts=facts,
        gpus=_gpus(there),
        runs=measured,
        earlier_runs=len(there.runs) - len(runs),
        cores=cores,
        memory_used_bytes=memory_used,
        memory_limit_bytes=memory_limit,
        shm_used_bytes=shm_used,
        shm_total_bytes=shm_total,
        **_flows(there, views),
        competing=[*competing_for(measured, cores, memories), *shared] if there.running else [],
        not_measured={fact: why for fact, why in reasons.items() if fact in ("disks", "networks", "gpu_util_fraction")},
    )


def _own_cores(run: RunOnHost, there: HostState) -> float | None:
    """``None`` where one of the run's ranks on the host is not known: a part would look like the whole."""
    places = there.places.get(run.run_id, ())
    cores = [now.own_cores if (now := there.now.get(place)) else None for place in places]
    known = [each for each in cores if each is not None]
    return sum(known) if run.is_running and known and len(known) == len(cores) else None


def cores_of(there: HostState, facts: HostFacts) -> HostCores:
    """Cores that runs and other processes use now. Either both are known or neither."""
    usable = facts.usable_cores
    busy = _first(now.busy_cores for _, now in there.views)
    each = [_own_cores(run, there) for run in there.running]
    own = sum(cores for cores in each if cores is not None) if each and None not in each else None
    missing = _why_no_cores(there, busy, own)
    if missing is not None or busy is None or own is None:
        return HostCores(usable=usable, busy=busy, own=own, others=None, idle=None, missing=missing)
    # Both are from slightly different moments, so the difference is at least 0.
    allowed = facts.allowed_cpus or facts.cpu_count or 0
    idle = min(allowed - max(busy, own), (usable if usable is not None else allowed) - own)
    return HostCores(usable=usable, busy=busy, own=own, others=max(0.0, busy - own), idle=max(0.0, idle), missing=None)


def _why_no_cores(there: HostState, busy: float | None, own: float | None) -> str | None:
    if not there.running:
        return NOBODY
    allowed = [rank.facts.get("allowed_cpus") for rank, _ in there.views]
    whole = max((rank.facts.get("cpu_count") or 0 for rank in there.ranks), default=0)
    if len(there.running) > 1 and any(each is not None and each < whole for each in allowed):
        return "its runs may use different CPUs of it, so that none sees all of them"
    if busy is None:
        return "how busy its CPUs are was not measured"
    return "the CPU time of a run on it was not measured" if own is None else None


def _memory(facts: HostFacts, views: Sequence[RankNow]) -> tuple[int | None, int | None]:
    """``(limit, used)``: of the control group where it limits memory, else of the machine."""
    used = _first(view.memory_used_bytes for view in views)
    limit, total = facts.memory_limit_bytes, facts.memory_total_bytes
    if used is not None and is_limited(limit, total):
        return limit, used
    available = _first(view.memory_available_bytes for view in views)
    return total, None if available is None or total is None else max(0, total - available)


def _flows(there: HostState, views: Sequence[RankNow]) -> dict[str, HostFlow]:
    """Rates by their names in a host."""
    found = {}
    for rate in RATES:
        now, most = _first(view.rates.get(rate) for view in views), there.peaks.get(rate)
        highest = None if most is None else max(most, now or 0.0)
        found[rate.removesuffix("_bytes_per_s")] = HostFlow(now=now, most=highest)
    return found


def _gpus(there: HostState) -> list[HostGpu]:
    """Each GPU once, though every run may name it; with the run whose process computes on it."""
    devices = {device.gpu_index: device for rank in there.ranks for device in rank.devices}
    stalls = {run.run_id: run.data_stall_fraction for run in there.running}
    gpus = []
    for index, device in sorted(devices.items()):
        samples = [(rank.run_id, now.gpus[index]) for rank, now in there.views if index in now.gpus]
        run_id = _computing(there, index, [run for run, gpu in samples if gpu.own_process])
        gpus.append(
            HostGpu(
                gpu_index=index,
                name=device.name,
                util_fraction=_first(gpu.util_fraction for _, gpu in samples),
                memory_used_bytes=_first(gpu.memory_used_bytes for _, gpu in samples),
                memory_total_bytes=device.memory_total_bytes,
                run_id=run_id,
                data_stall_fraction=None if run_id is None else stalls.get(run_id),
            )
        )
    return gpus


def _computing(there: HostState, gpu_index: int, seen: Sequence[str]) -> str | None:
    """The run that NVML sees on the GPU; where NVML names no processes, the only run that may use it."""
    if seen:
        return seen[0]
    silent = {
        rank.run_id for rank, now in there.views if gpu_index in now.gpus and now.gpus[gpu_index].own_process is None
    }
    return next(iter(silent)) if len(silent) == 1 and len(there.running) == 1 else None


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
