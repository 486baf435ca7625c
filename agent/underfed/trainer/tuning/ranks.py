"""The ranks of a run: whether all report, and the plan by which all of them switch at the same step.

Those of one host read it from a file of the run's directory. Where others are on further hosts, the first rank of each
host writes there what the leading host planned (``hosts``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from underfed.exchange.facts import origins_in
from underfed.host import procfs
from underfed.trainer.tuning.conductor import Order
from underfed.trainer.tuning.hosts import Failure, Hosts
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.plan import AHEAD, FILE, Plan, Planned

if TYPE_CHECKING:
    from underfed.trainer.recording import Recording

SECOND = 1_000_000_000

LOOK_NS = SECOND // 4
"""Between two looks at what other hosts report; their collectors read it as often."""

NEVER = 1 << 62

COUNT_NS = SECOND
HERE_NS = SECOND
"""So long the ranks of this host have to begin before others are looked for elsewhere."""

AWAITED_NS = 60 * SECOND
"""So long all ranks of the run are awaited. All have begun when the first steps of a job that trains together are over;
then their windows have to reach the service."""

NO_SERVICE = "its ranks are on several hosts, which switch at the same step by way of the service: it has not answered"
NO_LEAD = "rank 0 of the run is on another host and was not heard of, and all ranks have to switch at the same step"


MORE = "more processes record this run than it has ranks, and which of them switch together is not known"


class Ranks:
    """``present``: the setting in use. ``why_no_room``: for a setting on this host."""

    def __init__(
        self, recording: Recording, present: LoaderSetting, why_no_room: Callable[[LoaderSetting], str | None]
    ) -> None:
        self._recording = recording
        self._directory: Path = recording.directory.parent
        self._own = recording.facts.rank
        self._wanted = recording.facts.world_size
        self._why_no_room = why_no_room
        self._plan = Plan(self._directory / FILE)
        self._plan.read(present)
        self._present = present
        self._planned: Planned | None = None
        self._missing = self._wanted
        self._hosts: Hosts | None = None
        self._due_ns = self._count_ns = 0
        self._awaited_ns: int | None = None
        self._pending: tuple[int, LoaderSetting] | None = None
        """Number and setting of the plan of another host that is to be done here."""
        self._failure: Failure | None = None

    @property
    def leads(self) -> bool:
        """Of all ranks of the run."""
        return self._own == 0

    @property
    def are_on_several_hosts(self) -> bool:
        return self._hosts is not None

    def note(self, now_ns: int, step: int, in_use: LoaderSetting | None) -> None:
        """At each request. ``in_use``: what loads, its start-up over."""
        if self._pending is not None and self._pending[1] == in_use and self._hosts is not None:
            self._hosts.done(self._pending[0])
            self._pending = None
        if now_ns < self._due_ns:
            return
        self._due_ns = now_ns + LOOK_NS
        self._awaited_ns = self._awaited_ns or now_ns
        if now_ns >= self._count_ns:
            self._count(now_ns)
        if self._hosts is not None:
            self._hosts.look(now_ns, step)
            if self.leads:
                is_done_here = self._planned is None and in_use is not None
                self._failure = self._hosts.failure(now_ns, step, is_done_here=is_done_here)
            else:
                self._follow(self._hosts, now_ns, step)

    def are_here(self) -> bool:
        """Whether all of them record, and can receive a plan."""
        return not (self._missing if self._hosts is None else self._hosts.missing)

    def why_never(self, now_ns: int) -> str | None:
        """Why those that are missing will not come; ``None``: they are here, or may still come."""
        hosts, apart = self._hosts, self._recording.facts.not_measured.get("other_hosts")
        if hosts is None or (hosts.has_lead if not self.leads else not hosts.missing):
            return None
        if apart is None and (self._awaited_ns is None or now_ns - self._awaited_ns <= AWAITED_NS):
            return None
        return apart or self._why_missing(hosts)

    def _why_missing(self, hosts: Hosts) -> str:
        if not hosts.has_service:
            return NO_SERVICE
        if not self.leads:
            return NO_LEAD
        if hosts.missing < 0:
            return MORE
        return f"{hosts.missing} of {self._wanted} ranks were not heard of, and all have to switch at the same step"

    def plan_here(self, order: Order, step: int) -> None:
        """All ranks of this host do it, a few steps after this one."""
        self._plan.write(Planned(step + AHEAD, order.setting, order.keep, order.is_end))

    def plan(self, order: Order, step: int, *, is_searching: bool) -> None:
        """All ranks of the run do it. Those of several hosts do not end the program: a rank that ended while another
        one, which did not receive it in time, waits for it would make that fail."""
        if self._hosts is None:
            self.plan_here(order, step)
        else:
            due = self._hosts.plan(order.setting, order.keep, step, is_searching=is_searching)
            self._failure = None
            self._plan.write(Planned(due, order.setting, order.keep))

    def have_switched(self) -> bool:
        """Whether all other hosts use what was planned last."""
        return self._hosts is None or self._hosts.have_done

    def take_failure(self) -> Failure | None:
        """Why what was planned last does not come about on all hosts."""
        failure, self._failure = self._failure, None
        return failure

    def end(self) -> None:
        """Hosts do not wait for each other any more."""
        if self._hosts is not None:
            self._hosts.end()

    def leave(self) -> None:
        """Nothing is switched on this host any more."""
        if self._hosts is not None:
            self._hosts.leave()

    def due(self, step: int, present: LoaderSetting | None, *, is_switching: bool) -> Order | None:
        """What this rank is to do at this step."""
        if present is not None:
            self._planned = self._plan.read(present) or self._planned
        planned = self._planned
        if planned is None or step < planned.step or is_switching:
            return None
        self._planned = None
        return Order(planned.setting, planned.keep, planned.is_end)

    def _count(self, now_ns: int) -> None:
        """The ranks of this host. Its first one speaks for them to others, where these are not all."""
        self._count_ns = now_ns + COUNT_NS
        if self._hosts is not None and not self._hosts.missing:
            return
        here = {*living_ranks(self._directory), self._own}
        waited_ns = now_ns - (self._awaited_ns or now_ns)
        self._missing = max(0, self._wanted - len(here))
        speaks = self._missing > 0 and self._own == min(here)
        if self._hosts is not None and not speaks:
            self._hosts.leave()
            self._hosts = None
        elif self._hosts is not None:
            self._hosts.count(len(here))
        elif speaks and waited_ns >= HERE_NS:
            incarnation = self._recording.origin.incarnation
            self._hosts = Hosts(self._recording.directory, incarnation, len(here), self._wanted)
        if not self._missing or (not speaks and waited_ns > AWAITED_NS):
            self._due_ns = self._count_ns = NEVER

    def _follow(self, hosts: Hosts, now_ns: int, step: int) -> None:
        """What the leading host planned is planned here; where it reports no more, going back is."""
        if (plan := hosts.arrived(step)) is not None:
            setting, keep = self._present.changed(plan.settings), self._present.changed(plan.keep)
            why = None if setting == keep else self._why_no_room(setting)
            if why is not None:
                hosts.cannot(why)
                return
            self._pending = plan.number, setting
            self._plan.write(Planned(max(plan.step, step + AHEAD), setting, keep))
        elif (left := hosts.abandoned(now_ns)) is not None:
            keep = self._present.changed(left.keep)
            self._pending = None
            self._plan.write(Planned(step + AHEAD, keep, keep))


def living_ranks(run_directory: Path) -> set[int]:
    """Of the processes that record there: of an earlier incarnation some may not be removed yet."""
    here = procfs.pid_namespace()
    found = (origin for origin, _ in origins_in([run_directory]))
    return {each.rank for each in found if each.pid_namespace != here or procfs.is_running(each.pid, each.start_ticks)}
