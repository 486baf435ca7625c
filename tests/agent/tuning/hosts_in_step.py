"""Hosts whose ranks train together, on a clock moved by hand, with the service's own answers between them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from tests.agent.tuning.training_loop import NONE
from underfed.exchange import run_files, switch
from underfed.exchange.facts import Origin, write_facts
from underfed.exchange.parts import read_part, write_part
from underfed.host import procfs
from underfed.trainer.tuning.conductor import Order
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.ranks import SECOND, Ranks
from underfed_server.ingest import wire
from underfed_server.store.writing.switches import SentSwitch, answer_to

STEP_NS = SECOND // 10
APIECE = 2
"""Ranks of a host."""

START = 5
"""Steps in which a setting starts."""


def record(run_directory: Path, rank: int, incarnation: int = 7, *, pid: int | None = None) -> Path:
    """A rank has begun to record there. ``pid``: of this process, if none is given."""
    directory = run_files.rank_directory(run_directory, rank, incarnation)
    directory.mkdir(parents=True)
    number = os.getpid() if pid is None else pid
    ticks = procfs.start_ticks(number)
    place: Any = {"start_ticks": ticks, "boot_id": procfs.boot_id(), "pid_namespace": procfs.pid_namespace()}
    text: Any = dict.fromkeys(("hostname", "started_at", "url", "data_directory"), "")
    more: Any = {"visible_devices": None, "device_order": None}
    origin = Origin("run", rank, incarnation, number, origin_ns=0, **place, **text, **more)
    write_facts(directory / run_files.RUN, origin)
    return directory


@dataclass(eq=False)
class Host:
    """As its first rank knows it."""

    directory: Path
    rank: int
    ranks: Ranks
    in_use: LoaderSetting = NONE
    starting: int = 0
    switched: list[tuple[int, LoaderSetting]] = field(default_factory=list)
    """At which step to what."""
    is_cut_off: bool = False
    windows: int = 0
    ahead: int = 0
    """So many steps further than the others."""

    def step(self, now_ns: int, step: int) -> None:
        step += self.ahead
        self.starting = max(0, self.starting - 1)
        self.ranks.note(now_ns, step, None if self.starting else self.in_use)
        order = self.ranks.due(step, self.in_use, is_switching=False)
        if order is not None and order.setting != self.in_use:
            self.in_use, self.starting = order.setting, START
            self.switched.append((step, order.setting))


class Hosts:
    """Ranks 0 and 1 on the first, which leads."""

    def __init__(
        self, directory: Path, number: int = 2, *, wanted: int | None = None, apart: str | None = None
    ) -> None:
        self.wanted = APIECE * number if wanted is None else wanted
        self.no_room: str | None = None
        """On the hosts that do not lead."""
        self.post_every = 2
        """Steps between two windows of a host."""
        self.has_service = True
        self.now_ns, self.steps = SECOND, 0
        self.kept: dict[int, SentSwitch] = {}
        self._apart = apart
        self.all = [self._host(directory / f"host-{index}", APIECE * index) for index in range(number)]

    @property
    def lead(self) -> Host:
        return self.all[0]

    @property
    def others(self) -> list[Host]:
        return self.all[1:]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.steps += 1
            self.now_ns += STEP_NS
            for index, host in enumerate(self.all):
                host.step(self.now_ns, self.steps)
                if (self.steps + index) % self.post_every == 0:
                    self.post(host)

    def plan(self, setting: LoaderSetting, keep: LoaderSetting = NONE, *, is_searching: bool = True) -> None:
        self.lead.ranks.plan(Order(setting, keep), self.steps, is_searching=is_searching)

    def post(self, host: Host) -> None:
        """The collector's part: what the host reports goes to the service, and the answer comes back."""
        path = host.directory / switch.FILE
        if host.is_cut_off or not self.has_service or not path.exists():
            return
        host.windows += 1
        reported = msgspec.convert(asdict(read_part(path, switch.Switch)), wire.Switch)
        incarnation = int(host.directory.name.rpartition("-")[2])
        self.kept[host.rank] = SentSwitch(host.rank, incarnation, host.windows, reported)
        window: Any = SimpleNamespace(rank=host.rank, switch=reported)
        write_part(host.directory / switch.ANSWER_FILE, answer_to(window, list(self.kept.values())))

    def _host(self, run_directory: Path, first: int) -> Host:
        directory, *_ = [record(run_directory, rank) for rank in range(first, first + APIECE)]
        not_measured = {} if self._apart is None else {"other_hosts": self._apart}
        recording: Any = SimpleNamespace(
            directory=directory,
            facts=SimpleNamespace(rank=first, world_size=self.wanted, not_measured=not_measured),
            origin=SimpleNamespace(incarnation=7),
        )
        return Host(directory, first, Ranks(recording, NONE, lambda _: self.no_room if first else None))
