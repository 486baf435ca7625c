"""The variables that launchers set for the processes they start: which rank they are, and of which launch.

Sources: torch.distributed.run and torch.distributed.elastic (torch 2.13), the man pages of srun(1) and mpirun(1),
Intel MPI's developer reference, Lightning's environments of clusters.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from underfed.host import procfs

Names = tuple[str, ...]

SPECIAL_STEPS = 0xFFFFFFF0
"""Step numbers from here on have no ranks: the batch script, the interactive shell of ``salloc`` (slurm.h)."""

SCHEDULERS = ("SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_RESTART_COUNT", "PBS_JOBID", "LSB_JOBID")
MPI_JOBS = ("OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE")
"""One job of a scheduler may run ``mpirun`` several times."""

LOOPBACK = ("localhost", "127.", "::1")


@dataclass(frozen=True, slots=True)
class Convention:
    """Variables by which one kind of launcher identifies a rank. Of several names the first one set counts."""

    launcher: str
    rank: str
    world_size: Names
    local_rank: Names
    local_world_size: Names = ()
    node_rank: Names = ()
    restart_count: Names = ()

    @property
    def names(self) -> Names:
        """Their values distinguish a rank from its launcher, and an inner launcher's ranks from an outer's."""
        return self.rank, *self.world_size, *self.local_rank, *self.local_world_size, *self.restart_count


@dataclass(frozen=True, slots=True)
class Placement:
    """Place of one process in one launch."""

    convention: Convention
    rank: int
    world_size: int
    local_rank: int | None = None
    local_world_size: int | None = None
    """``None``: not set, here and in the fields below."""
    node_rank: int | None = None
    restart_count: int | None = None


TORCHRUN = Convention(
    "torchrun",
    "RANK",
    ("WORLD_SIZE",),
    ("LOCAL_RANK",),
    ("LOCAL_WORLD_SIZE",),
    ("GROUP_RANK",),
    ("TORCHELASTIC_RESTART_COUNT",),
)
"""Accelerate's launcher too, which uses it."""

PLAIN = replace(TORCHRUN, launcher="torch.distributed", node_rank=("GROUP_RANK", "NODE_RANK"), restart_count=())
"""Set by anyone else for torch's ``env://``: DeepSpeed, an operator of Kubernetes, a user's shell."""

LIGHTNING = replace(PLAIN, rank="LOCAL_RANK", local_world_size=(), node_rank=("NODE_RANK",))
"""Its rank 0 starts the others with these alone: on the first node the local rank is the rank."""

RAY = replace(PLAIN, launcher="ray")
"""Ray Train sets the same ones, within processes that Ray started for any task."""

RAY_JOB = "RAY_JOB_ID"
"""Set for each process that works for a job of Ray's."""

OPEN_MPI = Convention(
    "mpi",
    "OMPI_COMM_WORLD_RANK",
    ("OMPI_COMM_WORLD_SIZE",),
    ("OMPI_COMM_WORLD_LOCAL_RANK",),
    ("OMPI_COMM_WORLD_LOCAL_SIZE",),
)
PMI = Convention(
    "mpi", "PMI_RANK", ("PMI_SIZE",), ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"), ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE")
)
"""MPICH, Intel MPI, Cray."""

SLURM = Convention(
    "slurm",
    "SLURM_PROCID",
    ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
    ("SLURM_LOCALID",),
    node_rank=("SLURM_NODEID",),
    restart_count=("SLURM_RESTART_COUNT",),
)


JOINED = Convention("torch.distributed", "", (), ("LOCAL_RANK",), node_rank=("NODE_RANK",))
"""No launcher's variables say the rank, or they say less than the process group that the process has joined."""


def read_placement(environ: Mapping[str, str]) -> Placement | None:
    """From the variables of the innermost launcher. Variables that contradict each other are not a launcher's: ignored.

    torchrun and mpirun are often started through SLURM, whose variables then describe those. A script that copies its
    launcher's variables into torch's was still started by that launcher.
    """
    plain = RAY if RAY_JOB in environ else PLAIN
    torchs = _placement(TORCHRUN if "TORCHELASTIC_RUN_ID" in environ else plain, environ)
    slurms = _placement(SLURM, environ) if is_in_step(environ) else None
    open_mpis, pmis = _placement(OPEN_MPI, environ), _placement(PMI, environ)
    launched = open_mpis or (slurms if pmis is None or _is_same(pmis, slurms) else pmis)
    if torchs is not None and (torchs.convention is TORCHRUN or not _is_same(torchs, launched)):
        return torchs
    return launched or (_placement(LIGHTNING, environ) if environ.get("NODE_RANK") == "0" else None)


def is_in_step(environ: Mapping[str, str]) -> bool:
    """Whether SLURM started this process as a task of a job step. Batch scripts and interactive shells are not."""
    step = number(environ, "SLURM_STEP_ID")
    return step is not None and step < SPECIAL_STEPS and "SLURM_PTY_PORT" not in environ


def has_several_hosts(placement: Placement, environ: Mapping[str, str]) -> bool | None:
    """Whether ranks of this launch run on other hosts; ``None``: not known."""
    if placement.local_world_size is not None:
        return placement.local_world_size < placement.world_size
    if any(number(environ, name) for name in ("NODE_RANK", "GROUP_RANK", "SLURM_NODEID")):
        return True
    master = environ.get("MASTER_ADDR", "localhost")
    is_here = master.startswith(LOOPBACK) or _short(master) == _short(platform.node())
    return None if is_here else True


def job_identity(placement: Placement, environ: Mapping[str, str]) -> str | None:
    """The same on all hosts of a job, and of no other job; ``None``: there is no such identity.

    A restart within the job keeps it. torchrun's ``--rdzv-id`` is chosen by a user, who may choose 100 again and
    again, so the first host's name stands beside it.
    """
    if placement.convention is not TORCHRUN and RAY_JOB in environ:
        # Its jobs are counted anew by each cluster; the port is a free one.
        return meeting_point(environ)
    if placement.convention is TORCHRUN and environ["TORCHELASTIC_RUN_ID"] not in ("", "none"):
        return _joined(environ, "TORCHELASTIC_RUN_ID", "MASTER_ADDR", *SCHEDULERS)
    if is_in_step(environ):
        return _joined(environ, "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT")
    names = [name for name in (*SCHEDULERS, *MPI_JOBS) if environ.get(name)]
    if placement.convention.launcher == "mpi" and names:
        return _joined(environ, *names)
    if "KUBERNETES_SERVICE_HOST" in environ and not environ.get("MASTER_ADDR", "localhost").startswith(LOOPBACK):
        return _joined(environ, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
    return None


def meeting_point(environ: Mapping[str, str]) -> str:
    """Where the ranks of one launch find each other, and of no other that goes on beside it."""
    return _joined(environ, RAY_JOB, "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")


def process_identity(pid: int) -> str | None:
    """Unique identity of one process; ``None`` where the system does not know when it started."""
    started_ticks = procfs.start_ticks(pid)
    if started_ticks is None:
        return None
    return f"{procfs.boot_id()} {procfs.pid_namespace()} {pid} {started_ticks}"


def launching_process(names: Names) -> int:
    """The nearest process above this one, or this one, that was not itself started with these values.

    Shells and wrappers between a launcher and its rank were. Rank 0 of Lightning was not: it starts the others.
    Without names it is the parent.
    """
    pid = os.getppid()
    for pid in _lineage() if names else ():
        started_with = procfs.environment(pid)
        if started_with is None or any(started_with.get(name) != os.environ.get(name) for name in names):
            return pid
    return pid


def was_set_within(names: Names) -> bool:
    """Whether these variables were set in this process, by something that started it for any task, as Ray does: and not
    by a rank 0 that then started the others with them."""
    own = os.getpid()
    return launching_process(names) == own and not any(
        (started_with := procfs.environment(pid)) and names[0] in started_with for pid in procfs.children(own)
    )


def multiprocessing_parent() -> int | None:
    """Pid of the process that started this one with ``multiprocessing``, which sets no variables for its children."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module is not None else None
    return parent.pid if parent is not None else None


def number(environ: Mapping[str, str], *names: str) -> int | None:
    """The number in the first of these variables that is set."""
    text = next((environ[name] for name in names if name in environ), "")
    return int(text) if text.isascii() and text.isdigit() else None


def _placement(convention: Convention, environ: Mapping[str, str]) -> Placement | None:
    rank, world_size = number(environ, convention.rank), number(environ, *convention.world_size)
    if rank is None or world_size is None:
        return None
    placement = Placement(
        convention,
        rank,
        world_size,
        local_rank=number(environ, *convention.local_rank),
        local_world_size=number(environ, *convention.local_world_size),
        node_rank=number(environ, *convention.node_rank),
        restart_count=number(environ, *convention.restart_count),
    )
    if convention is SLURM and number(environ, "SLURM_STEP_NUM_NODES", "SLURM_NNODES") == 1:
        placement = replace(placement, local_world_size=world_size)
    local_world_size = world_size if placement.local_world_size is None else placement.local_world_size
    fits_together = rank < world_size and (placement.local_rank or 0) < local_world_size <= world_size
    return placement if fits_together else None


def _is_same(one: Placement, other: Placement | None) -> bool:
    return other is not None and (one.rank, one.world_size) == (other.rank, other.world_size)


def _lineage() -> Iterator[int]:
    """This process and all above it that can be seen."""
    pid: int | None = os.getpid()
    while pid:
        yield pid
        pid = procfs.parent(pid)


def _short(hostname: str) -> str:
    return hostname.partition(".")[0]


def _joined(environ: Mapping[str, str], *names: str) -> str:
    return " ".join(f"{name}={environ.get(name, '')}" for name in names)
