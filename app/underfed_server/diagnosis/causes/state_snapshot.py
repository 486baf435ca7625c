"""A stateful loader takes its workers' state with each batch, and handing that over takes longer than the batch does.

torchdata's ``StatefulDataLoader`` does so with every batch by default. Asking the data set for its state is part of the
load, and cannot be separated from it; what is counted here comes after the load.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination, has_much_to_hand_over
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.model import Evidence, LoaderInfo

LEAST_FRACTION = 0.05
"""Share of step time from which a hand-over is worth a line: the first of the bands of ``Thresholds``."""

LEAST_FACTOR, FACTOR_OF_LITTLE = 3.0, 2.0
"""A hand-over that takes so many times as long as its tensors do carries something else: those alone differ by a factor
of 1.8 between machines and loads (own study). Of few and small ones nothing else is known that could take as long, so
that the lower factor shows the state that is known to come with them."""

RECEIVE_US, TENSOR_US, MB_US = 1_500.0, 450.0, 190.0
"""What a batch takes by itself, where the host was not measured: to be received, for each tensor and for each megabyte
(own study)."""


def find(examined: Examination) -> Found | None:
    cost, loader, rank = state_fraction(examined), examined.loader, examined.rank
    if loader is None or cost is None or cost < LEAST_FRACTION:
        return None
    interval = loader.snapshot_interval_steps or 1
    often = "each batch" if interval == 1 else f"one of {interval} batches"
    return Found(
        cost,
        f"The state of a worker comes with {often}, and handing that over takes longer than the batch itself.",
        [
            Evidence(
                what="Waiting for a loaded batch", value=(examined.wait.delivery or 0.0) * rank.step_us, unit="us"
            ),
            Evidence(
                what="What its tensors take of that", value=_usual_us(loader, rank, examined.facts.host), unit="us"
            ),
            Evidence(what="Batches for one state", value=interval, unit="count"),
            evidence.step(rank),
            evidence.batch_tensors(loader),
            evidence.batch_bytes(loader),
        ],
    )


def state_fraction(examined: Examination) -> float | None:
    """Share of step time that handing over state takes; ``None``: none is, or it cannot be separated from the batch."""
    delivery, loader, rank = examined.wait.delivery, examined.loader, examined.rank
    if delivery is None or loader is None or not (loader.snapshot_interval_steps and loader.keeps_state):
        return None
    usual = _usual_us(loader, rank, examined.facts.host) / rank.step_us
    least = LEAST_FACTOR if has_much_to_hand_over(loader) else FACTOR_OF_LITTLE
    return delivery - usual if delivery >= least * usual else None


def _usual_us(loader: LoaderInfo, rank: RankFacts, host: HostShare) -> float:
    """Of a batch without state, which waits for cores as its loading did."""
    return _alone_us(loader, host) * _slowed(rank)


def _slowed(rank: RankFacts) -> float:
    computed, queued = measures.mean(rank.batches.cpu_us), measures.mean(rank.batches.runqueue_us)
    return 1 + (queued or 0.0) / computed if computed else 1.0


def _alone_us(loader: LoaderInfo, host: HostShare) -> float:
    known, tensors, megabytes = host.handover, loader.batch_tensors or 2, (loader.batch_bytes or 0) / 1e6
    if known is None:
        return RECEIVE_US + TENSOR_US * tensors + MB_US * megabytes
    each = known.tensor_us + known.tensor_wait_us
    return known.receive_us + known.receive_wait_us + each * tensors + known.free_mb_us * megabytes


CAUSE = Cause(
    label="state with each batch",
    find=find,
    cured_by=("snapshot_interval",),
    signals=(
        share_signal(
            "Handing over the workers' state",
            state_fraction,
            LEAST_FRACTION,
            where=lambda examined: bool(examined.workers and examined.loader and examined.loader.keeps_state),
        ),
    ),
)
