"""``cpu_allocation``: the run may use fewer cores than the machine has, and all of those are busy."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.cores import cpu_us
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.diagnosis import measures
from underfed_server.facts.record import HostShare
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    cause, host = case.found("cpu_limited"), case.facts.host
    if not case.waits_for_data or cause is None or not host.usable_cores or not host.cpu_count:
        return []
    wanted = min(host.cpu_count, max(needed_cores(case) or 0, math.floor(host.usable_cores) + 1))
    if wanted <= host.usable_cores:
        return []
    return [offer_unpredicted(case, _offer(case, host, wanted))]


def needed_cores(case: Case) -> int | None:
    """To load a batch, and to train on one, in the time that a step takes by itself; others go on as they do."""
    needed, own = cpu_us(case), case.rank.step_us - case.rank.data_wait_us
    return math.ceil(needed / own + (measures.other_cores(case.rank.process) or 0.0)) if needed and own > 0 else None


def is_quota(host: HostShare) -> bool:
    """The cgroup's share of time is what bounds; else it is the set of cores that the process may run on."""
    return host.quota_cores is not None and host.quota_cores < (host.allowed_cpus or host.cpu_count or math.inf)


def _offer(case: Case, host: HostShare, wanted: int) -> Offer:
    quota = is_quota(host)
    bound = "A CPU quota of its control group" if quota else "The set of cores it is bound to"
    return Offer(
        change="cpu_allocation",
        to=wanted,
        title=f"Ask for {wanted} cores",
        why=f"The machine has {host.cpu_count} cores. {bound} leaves this run {host.usable_cores:g}.",
        risk="Others on the machine may need them; then loading is as slow as it is now.",
        diff=quota_diff(host, wanted) if quota else affinity_diff(host, wanted),
        evidence=[
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
            Evidence(what="Cores of the machine", value=host.cpu_count, unit="cores"),
            Evidence(what="CPU quota", value=host.quota_cores, unit="cores"),
            Evidence(what="Cores allowed by affinity", value=host.allowed_cpus, unit="cores"),
            Evidence(what="Cores in use", value=measures.used_cores(case.rank), unit="cores", series="busy_cores"),
        ],
        from_=host.usable_cores,
        in_call=False,
        unknown="how fast loading is on cores that this run could not use was not seen",
    )


def quota_diff(host: HostShare, wanted: int) -> str:
    return "\n".join(
        [
            " # a container:",
            f"-docker run --cpus={host.quota_cores:g} …",
            f"+docker run --cpus={wanted} …",
            " # Kubernetes:",
            f'-    limits: {{cpu: "{host.quota_cores:g}"}}',
            f'+    limits: {{cpu: "{wanted}"}}',
        ]
    )


def affinity_diff(host: HostShare, wanted: int) -> str:
    return "\n".join(
        [
            " # Slurm:",
            f"-#SBATCH --cpus-per-task={host.allowed_cpus or math.floor(host.usable_cores or 1)}",
            f"+#SBATCH --cpus-per-task={wanted}",
            " # a container:",
            f"+docker run --cpuset-cpus=0-{wanted - 1} …",
            " # a shell, where taskset bound it:",
            f"+taskset --cpu-list 0-{wanted - 1} …",
        ]
    )
