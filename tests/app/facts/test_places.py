"""Storage that can be distinguished from all other storage, and what cannot."""

from __future__ import annotations

import pytest

from tests.app.made_facts import made_place
from underfed_server.facts.places import unique_name
from underfed_server.model import StoragePlace


def place(device: str | None, kind: str = "nvme", hostname: str | None = "node-1") -> StoragePlace:
    return made_place("nvme", device=device).model_copy(update={"hostname": hostname, "kind": kind})


def test_a_share_is_one_on_every_host() -> None:
    one, other = (place("filer:/export", "network", host) for host in ("node-1", "node-2"))
    assert unique_name(one) == unique_name(other) == "filer:/export"


def test_a_disk_is_one_of_its_host() -> None:
    assert unique_name(place("nvme0n1")) != unique_name(place("nvme0n1", hostname="node-2"))
    volumes = [unique_name(place("nvme1n1", "network", host)) for host in ("node-1", "node-2")]
    assert volumes[0] != volumes[1], "a volume of a cloud has a host's name for it"


@pytest.mark.parametrize(
    "unknown",
    [None, place(None), place(None, "network"), place("vda", hostname=None), place("zram0", "memory")],
    ids=["no place", "no device", "a nameless share", "no host", "memory"],
)
def test_what_is_not_distinguished_from_others_is_no_place(unknown: StoragePlace | None) -> None:
    assert unique_name(unknown) is None
