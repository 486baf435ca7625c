"""Which job of a cluster this process is part of: read from what SLURM and Kubernetes tell the processes they start.

Sources: sbatch(1); Kubernetes' downward API, by which a pod template hands over what only the cluster knows
(docs/clusters.md has one for Kubeflow and Kueue).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from underfed.host.files import read_text

OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""In each pod that may speak with the cluster."""

IN_KUBERNETES = "KUBERNETES_SERVICE_HOST"
"""Set in every container of a pod, by Kubernetes itself."""

LONGEST = 253
"""Of a name in Kubernetes; SLURM's are shorter."""

SLURM_JOB_ID = ("SLURM_JOB_ID", "SLURM_JOBID")
NAMESPACE = ("UNDERFED_NAMESPACE", "POD_NAMESPACE")
POD = ("UNDERFED_POD", "POD_NAME")
TRAIN_JOB = ("UNDERFED_TRAIN_JOB",)
QUEUE = ("UNDERFED_QUEUE", "SLURM_JOB_PARTITION")
"""The variables of each fact. The first one counts that is neither unset nor empty, as the downward API leaves the
variable of a label that the pod does not have."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """``None``: not started by such a scheduler, or it does not say."""

    slurm_job_id: str | None
    namespace: str | None
    pod: str | None
    train_job: str | None
    """Of Kubeflow, or of what else owns the pods of one training."""
    queue: str | None
    """Of Kueue; in SLURM the partition."""


def read_scheduled(environ: Mapping[str, str], own_namespace: Path = OWN_NAMESPACE) -> Scheduled:
    namespace = _first(environ, NAMESPACE)
    if namespace is None and IN_KUBERNETES in environ:
        namespace = _fact(read_text(own_namespace))
    return Scheduled(
        slurm_job_id=_first(environ, SLURM_JOB_ID),
        namespace=namespace,
        pod=_first(environ, POD),
        train_job=_first(environ, TRAIN_JOB),
        queue=_first(environ, QUEUE),
    )


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := _fact(environ.get(name)))), None)


def _fact(text: str | None) -> str | None:
    """What cannot be a scheduler's name for anything is not sent."""
    found = (text or "").strip()
    return found if found and found.isprintable() and len(found) <= LONGEST else None
