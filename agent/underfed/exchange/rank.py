"""Which rank of which run this process is, and a run id that all its ranks derive without communicating."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from underfed.exchange.rank_variables import (
    JOINED,
    LIGHTNING,
    RAY_JOB,
    SLURM,
    TORCHRUN,
    Placement,
    has_several_hosts,
    job_identity,
    launching_process,
    meeting_point,
    multiprocessing_parent,
    number,
    process_identity,
    read_placement,
    was_set_within,
)
from underfed.host import procfs
from underfed.host.signal_handlers import passing

SLUG_LENGTH = 40

APART = "ranks on other hosts cannot be matched to this run: set UNDERFED_RUN_ID, or torchrun's --rdzv-id"


@dataclass(frozen=True, slots=True)
class Rank:
    """As torchrun counts. A process that nobody launched as a rank is rank 0 of 1."""

    rank: int = 0
    local_rank: int = 0
    """The rank itself where no launcher sets it."""
    node_rank: int | None = None
    world_size: int = 1
    launcher: str | None = None
    restart_count: int | None = None
    identity: str | None = field(default=None, compare=False)
    """Identity of the run, which all its ranks derive alike and no other run does; ``None``: there is none."""
    why_apart: str | None = field(default=None, compare=False)
    """Why ranks on other hosts will form a run of their own."""


def read_rank(environ: Mapping[str, str]) -> Rank:
    """From the launcher's variables; where they are not set, from ``torch.distributed`` if this process joined it.

    Nothing is imported and no other process is asked. Variables that belong to another process are not used: a
    child of multiprocessing inherits its parent's, and ranks that a launched process started itself have joined a
    larger world than its launcher knows of.
    """
    placement = read_placement(environ)
    if placement is not None and _is_inherited(placement, environ):
        placement = None
    joined = joined_world()
    if joined is not None and (placement is None or placement.world_size < joined[1]):
        local_rank, node_rank = number(environ, *JOINED.local_rank), number(environ, *JOINED.node_rank)
        placement = Placement(JOINED, *joined, local_rank=local_rank, node_rank=node_rank)
    if placement is None:
        return Rank(identity=process_identity(os.getpid()))
    identity, why_apart = _identity(placement, environ)
    return Rank(
        rank=placement.rank,
        local_rank=placement.rank if placement.local_rank is None else placement.local_rank,
        node_rank=placement.node_rank,
        world_size=placement.world_size,
        launcher=placement.convention.launcher,
        restart_count=placement.restart_count,
        identity=identity,
        why_apart=why_apart,
    )


def make_run_id(name: str, rank: Rank) -> str:
    """Readable and unique: a slug of the name and eight hexadecimal digits.

    A restart by the same launcher is the same run. Later recordings of a process that is no rank are other runs.
    """
    is_another = rank.world_size == 1 and rank.identity in _begun
    identity = secrets.token_hex() if rank.identity is None or is_another else rank.identity
    _begun.add(identity)
    return f"{slug(name)}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


_begun: set[str] = set()
"""Runs that this process took part in."""


def slug(name: str) -> str:
    """What is left of ``name`` in an identifier: ``ResNet 50 (try 2)`` → ``ResNet-50-try-2``."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:SLUG_LENGTH].strip("-") or "run"


def _identity(placement: Placement, environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """What identifies the run, and why the run is limited to this host if it should not be.

    On one host that is who launched its ranks. A process that nobody launched may yet launch others, as rank 0 of
    Lightning does, so it names its run by itself. So does one of one rank: a script may run it again and again.
    """
    convention = placement.convention
    if placement.world_size == 1 and convention not in (TORCHRUN, JOINED):
        return process_identity(os.getpid()), None
    is_elsewhere = has_several_hosts(placement, environ)
    job = job_identity(placement, environ) if convention is SLURM or is_elsewhere is not False else None
    if job is not None:
        return job, None
    parent = multiprocessing_parent()
    # Without a launcher, those variables that are set count.
    names = convention.names if convention is not JOINED else tuple(set(JOINED.local_rank) & environ.keys())
    is_within = was_set_within(names) if names else RAY_JOB in environ
    if parent is None and convention is not LIGHTNING and is_within:
        # The processes are as alike as their parent: where they are to meet distinguishes this launch from others.
        launch = process_identity(os.getppid()) or str(os.getppid())
        return f"{launch} {meeting_point(environ)}", APART if is_elsewhere else None
    launcher = parent or launching_process(names)
    launch = process_identity(launcher) or str(launcher)
    return f"children of {launch}" if parent else launch, APART if is_elsewhere else None


def _is_inherited(placement: Placement, environ: Mapping[str, str]) -> bool:
    """Whether a child of multiprocessing has these variables only because its parent had them."""
    if multiprocessing_parent() is None:
        return False
    started_with = procfs.environment(os.getpid()) or {}
    return all(started_with.get(name) == environ.get(name) for name in placement.convention.names)


def joined_world() -> tuple[int, int] | None:
    """``(rank, world size)`` of the default process group, where there is one. Both are known locally."""
    distributed = sys.modules.get("torch.distributed")
    with passing(AttributeError, RuntimeError, ValueError):  # only half imported, or being destroyed
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    return None
