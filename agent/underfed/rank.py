"""Which rank of which run this process is, as the launcher said it, and a run id that all ranks agree on."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from underfed import procfs

SLUG_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Rank:
    """As torchrun sets them. A process that was not launched so is rank 0 of 1."""

    rank: int = 0
    local_rank: int = 0
    node_rank: int | None = None
    world_size: int = 1


def read_rank(environ: Mapping[str, str]) -> Rank:
    """From torchrun's variables. Ones that do not fit together are someone else's, and ignored."""
    rank, world_size = _number(environ, "RANK"), _number(environ, "WORLD_SIZE")
    if rank is None or world_size is None or rank >= world_size:
        return Rank()
    local_rank = _number(environ, "LOCAL_RANK")
    return Rank(
        rank=rank,
        local_rank=rank if local_rank is None else local_rank,
        node_rank=_number(environ, "GROUP_RANK"),
        world_size=world_size,
    )


def make_run_id(name: str, rank: Rank) -> str:
    """Readable and unique: a slug of the name and eight hexadecimal digits.

    Ranks that one launcher started on this host derive the same digits from who that launcher is, without
    talking to each other; a restart by the same launcher is the same run. Ranks on several hosts need
    ``UNDERFED_RUN_ID``.
    """
    return f"{slug(name)}-{_launcher_digest() if rank.world_size > 1 else secrets.token_hex(4)}"


def slug(name: str) -> str:
    """What is left of ``name`` in an identifier: ``ResNet 50 (try 2)`` → ``ResNet-50-try-2``."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:SLUG_LENGTH].strip("-") or "run"


def _launcher_digest() -> str:
    parent = os.getppid()
    identity = f"{procfs.boot_id()} {parent} {procfs.start_ticks(parent)}"
    return hashlib.sha256(identity.encode()).hexdigest()[:8]


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
