"""Which storage a data set lies on: distinguished from all other storage, or not at all."""

from __future__ import annotations

from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import StoragePlace

SHARES = (":/", "//")
"""What a network file system is mounted from has one of these in it: ``filer:/export``, ``//filer/share``."""


def storage_place(facts: RunFacts, rank: RankFacts) -> StoragePlace | None:
    """Where most of the data set's files lie; ``None``: not seen."""
    here = [each for each in facts.storage if rank.hostname in (None, each.hostname) or each.hostname is None]
    return max(here, key=lambda each: each.files_seen, default=None)


def unique_name(place: StoragePlace | None) -> str | None:
    """A share is one on all hosts. A disk is one of its host, where its name is known: hosts have mounts and devices of
    the same names. ``None``: memory, or nothing distinguishes it from others.
    """
    if place is None or place.device is None or place.kind == "memory":
        return None
    if place.kind == "network" and any(each in place.device for each in SHARES):
        return place.device
    return f"{place.mount} ({place.device}) on {place.hostname}" if place.hostname else None
