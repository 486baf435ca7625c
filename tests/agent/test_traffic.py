"""Bytes that disks and networks moved, of this very machine; and of machines with other devices, made up."""

from __future__ import annotations

import os
import socket
from collections import namedtuple
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.fakes.service import wait_until
from underfed.collector.sampling import traffic
from underfed.collector.sampling.host_sampler import HostSampler
from underfed.collector.sampling.traffic import NO_DISKS, NO_NETWORKS, Traffic

Disk = namedtuple("Disk", "read_bytes write_bytes")
Network = namedtuple("Network", "bytes_recv bytes_sent")


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Counters by device; those in ``real`` have a device behind them."""
    machine: dict[str, dict[str, Any]] = {"disks": {}, "networks": {}}
    (tmp_path / "block").mkdir()
    for name in ("block/nvme0n1", "block/sda", "class/net/eth0", "class/net/eth1"):
        (tmp_path / name / "device").mkdir(parents=True)
    monkeypatch.setattr(traffic, "SYS", tmp_path)
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: machine["disks"])
    monkeypatch.setattr(psutil, "net_io_counters", lambda **_: machine["networks"])
    return machine


def test_what_is_written_to_a_disk_is_counted(tmp_path: Path) -> None:
    seen = Traffic()
    if seen.missing.get("disks"):
        assert seen.sample()["disk_written_bytes"] is None
        return
    before = seen.sample()["disk_written_bytes"]
    file = tmp_path / "written"
    file.write_bytes(os.urandom(4 << 20))
    with file.open("rb") as opened:
        os.fsync(opened.fileno())

    def is_counted() -> bool:
        now = seen.sample()["disk_written_bytes"]
        return now is not None and before is not None and now - before >= 4 << 20

    wait_until(is_counted, "four megabytes reach the disk")


def test_what_stays_on_the_machine_is_no_network_traffic() -> None:
    seen = Traffic()
    before = seen.sample()["network_sent_bytes"]
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        server.accept()[0] as other,
    ):
        for _ in range(640):
            client.sendall(bytes(1 << 16))
            left = 1 << 16
            while left:
                left -= len(other.recv(left))
    now = seen.sample()["network_sent_bytes"]
    assert (now is None and before is None) or (now or 0) - (before or 0) < 20 << 20


def test_a_host_sample_has_them() -> None:
    sample = HostSampler(os.getpid()).sample()
    assert sample["network_received_bytes"] == pytest.approx(Traffic().sample()["network_received_bytes"], rel=0.5)


def test_bytes_of_a_volume_are_those_of_the_disks_below_it(made_up: dict[str, dict[str, Any]]) -> None:
    made_up["disks"] = {
        "nvme0n1": Disk(100, 10), "nvme0n1p1": Disk(100, 10), "sda": Disk(7, 1), "dm-0": Disk(107, 11),
        "md0": Disk(107, 11), "loop0": Disk(5, 0), "zram0": Disk(9, 9),
    }  # fmt: skip
    sample = Traffic().sample()
    assert (sample["disk_read_bytes"], sample["disk_written_bytes"]) == (107, 11)


def test_bytes_of_a_bridge_are_those_of_the_card_below_it(made_up: dict[str, dict[str, Any]]) -> None:
    made_up["networks"] = {
        "lo": Network(999, 999), "eth0": Network(5, 3), "eth1": Network(6, 4), "bond0": Network(11, 7),
        "docker0": Network(2, 2), "veth1": Network(2, 2),
    }  # fmt: skip
    sample = Traffic().sample()
    assert (sample["network_received_bytes"], sample["network_sent_bytes"]) == (11, 7)


def test_in_a_container_its_own_network_counts(made_up: dict[str, dict[str, Any]]) -> None:
    made_up["networks"] = {"lo": Network(999, 999), "veth0": Network(5, 3)}
    assert Traffic().sample()["network_received_bytes"] == 5


def test_where_nothing_is_visible_the_reason_is_given(
    made_up: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hidden(**_: bool) -> None:
        raise NotImplementedError

    made_up["networks"] = {"lo": Network(999, 999)}
    monkeypatch.setattr(psutil, "disk_io_counters", hidden)
    seen = Traffic()
    assert seen.missing == {"disks": NO_DISKS, "networks": NO_NETWORKS}
    assert set(seen.sample().values()) == {None}


def test_a_disk_that_is_gone_takes_its_bytes_with_it(made_up: dict[str, dict[str, Any]]) -> None:
    made_up["disks"] = {"nvme0n1": Disk(100, 10), "sda": Disk(7, 1)}
    seen = Traffic()
    made_up["disks"] = {"nvme0n1": Disk(100, 10)}
    assert seen.sample()["disk_read_bytes"] == 100
