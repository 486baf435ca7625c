"""The mean judged step of a rank in parts: what it waited, what it copied, and the rest."""

from __future__ import annotations

from underfed_server.diagnosis.measures import exposed_copy_us, mean
from underfed_server.facts.record import RankFacts
from underfed_server.model import Anatomy


def anatomy_of(rank: RankFacts) -> Anatomy:
    """``rank``: one with judged steps."""
    step, wait, sampler = round(rank.step_us), round(rank.data_wait_us), mean(rank.steps.sampler_us)
    copy = exposed_copy_us(rank)
    exposed = None if copy is None else min(step - wait, round(copy))
    return Anatomy(
        step_us=step,
        data_wait_us=wait,
        h2d_exposed_us=exposed,
        compute_us=step - wait - (exposed or 0),
        gpu_idle_us=min(wait, round(rank.stall_us)) if rank.has_device_clock else None,
        sampler_us=None if sampler is None else round(sampler),
    )
