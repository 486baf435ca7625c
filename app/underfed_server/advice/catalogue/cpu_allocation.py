"""Let the job use more cores: a larger CPU quota, or affinity to more of them."""

from __future__ import annotations

import math

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import grown
from underfed_server.diagnosis import evidence, measures
from underfed_server.facts.record import HostShare
from underfed_server.model import Evidence


def consider(case: Case) -> Offer | None:
    host = case.facts.host
    if not case.waits_for_data or not host.usable_cores or not host.cpu_count:
        return None
    wanted = min(host.cpu_count, max(_needed_cores(case) or 0, math.floor(host.usable_cores) + 1))
    if wanted <= host.usable_cores:
        return None
    quota = _is_quota(host)
    bound = "the CPU quota of its control group" if quota else "its CPU affinity"
    return Offer(
        to=wanted,
        title=f"Ask for {wanted} cores",
        why=f"This run may use {host.usable_cores:g} of the machine's {host.cpu_count} cores: {bound} allows no more.",
        risk="Other jobs on the machine may need these cores; then loading is as slow as it is now.",
        sketch=None,
        diff=_quota_diff(host, wanted) if quota else _affinity_diff(host, wanted),
        evidence=[
            evidence.usable_cores(host),
            Evidence(what="Cores of the machine", value=host.cpu_count, unit="cores"),
            Evidence(what="CPU quota", value=host.quota_cores, unit="cores"),
            Evidence(what="Cores allowed by affinity", value=host.allowed_cpus, unit="cores"),
            evidence.cores_in_use(case.rank),
        ],
        from_=host.usable_cores,
        gain="this run could not use those cores, so how fast it loads on them was not seen",
    )


def _needed_cores(case: Case) -> int | None:
    """Cores to load a batch and to train on one in the time of a step without its wait; others use as many as now."""
    needed, own = case.cpu_us, case.rank.rest_us
    return math.ceil(needed / own + (measures.other_cores(case.rank.process) or 0.0)) if needed and own > 0 else None


def _is_quota(host: HostShare) -> bool:
    """Whether the limit is the CPU quota of the cgroup; else it is the affinity."""
    return host.quota_cores is not None and host.quota_cores < (host.allowed_cpus or host.cpu_count or math.inf)


def _quota_diff(host: HostShare, wanted: int) -> str:
    return f"""\
 # a container:
-docker run --cpus={host.quota_cores:g} …
+docker run --cpus={wanted} …
 # Kubernetes:
-    limits: {{cpu: "{host.quota_cores:g}"}}
+    limits: {{cpu: "{wanted}"}}"""


def _affinity_diff(host: HostShare, wanted: int) -> str:
    return f"""\
 # Slurm:
-#SBATCH --cpus-per-task={host.allowed_cpus or math.floor(host.usable_cores or 1)}
+#SBATCH --cpus-per-task={wanted}
 # a container:
+docker run --cpuset-cpus=0-{wanted - 1} …
 # a shell in which taskset set the affinity:
+taskset --cpu-list 0-{wanted - 1} …"""


CHANGE = Change(
    label="more cores",
    consider=consider,
    sign=grown("usable_cores"),
    alters="usable_cores",
    alters_work=True,
)
