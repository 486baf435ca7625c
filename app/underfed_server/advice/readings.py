"""Other ways to read the same run, where a term that decides the result was not seen in it."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.replay import Replay, best_cores, worst_cores
from underfed_server.advice.simulate import Handover, LoaderSetting
from underfed_server.facts.record import HostShare, RankFacts

HANDOVER_SPAN = (0.5, 1.8)
"""Hand-over times differ by this much between machines and loads of the training process (own study)."""


def readings(replay: Replay, rank: RankFacts, host: HostShare, setting: LoaderSetting) -> list[Replay]:
    found: list[Replay] = []
    if not replay.slowdown_measured:
        found.append(replay.with_cores(best_cores(rank.process, host)))
        found.append(replay.with_cores(worst_cores(rank.process, host)))
    if setting.num_workers and not replay.saw_workers:
        found += [replay.with_handover(_scaled(replay.handover, scale)) for scale in HANDOVER_SPAN]
    return found


def _scaled(handover: Handover, scale: float) -> Handover:
    return replace(
        handover,
        feed_us=handover.feed_us * scale,
        receive_us=handover.receive_us * scale,
        receive_wait_us=handover.receive_wait_us * scale,
        busy_wait_us=handover.busy_wait_us * scale,
    )
