"""Other ways to read the same run, where a term that decides the result was not seen in it."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.prediction.simulate import Handover, SimulatedSetting
from underfed_server.advice.prediction.workload import Workload, best_cores, worst_cores
from underfed_server.facts.record import HostShare, RankFacts

HANDOVER_SPAN = (0.5, 1.8)
"""Hand-over times differ by this much between machines and loads of the training process (own study)."""


def readings(workload: Workload, rank: RankFacts, host: HostShare, setting: SimulatedSetting) -> list[Workload]:
    found: list[Workload] = []
    if not workload.slowdown_measured:
        found.append(workload.with_cores(best_cores(rank.process, host)))
        found.append(workload.with_cores(worst_cores(rank.process, host)))
    if setting.num_workers and not workload.saw_workers:
        found += [workload.with_handover(_scaled(workload.handover, scale)) for scale in HANDOVER_SPAN]
    return found


def _scaled(handover: Handover, scale: float) -> Handover:
    return replace(
        handover,
        feed_us=handover.feed_us * scale,
        receive_us=handover.receive_us * scale,
        receive_wait_us=handover.receive_wait_us * scale,
        busy_wait_us=handover.busy_wait_us * scale,
    )
