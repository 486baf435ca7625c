"""Handing a loaded batch over to the training process takes long: it has many tensors, or large ones.

Receiving is work of the training process: torch shakes hands with the worker once a tensor (sharing strategy
``file_descriptor``), and maps and unmaps the shared memory in which the batch lies.

On cores that other jobs fill, handing little over is not called slow: each turn of it may wait for a core.
"""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, has_workers, share_signal
from underfed_server.diagnosis.causes.state_snapshot import LEAST_FRACTION, state_fraction
from underfed_server.diagnosis.examination import LARGE_BATCH_BYTES, Examination
from underfed_server.diagnosis.sentence import size
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, LoaderInfo


def find(examined: Examination) -> Found | None:
    cost, loader, rank = _cost(examined), examined.loader, examined.rank
    if cost is None or loader is None or cost < LEAST_FRACTION or examined.crowd.hides_delivery:
        return None
    return Found(
        cost,
        _sentence(loader, is_in_time=_are_in_time(examined, cost)),
        [
            Evidence(
                what="Waiting in a step until a loaded batch is handed over", value=cost * rank.step_us, unit="us"
            ),
            evidence.step(rank),
            evidence.batch_tensors(loader),
            evidence.batch_bytes(loader),
            evidence.setting("sharing_strategy", loader.settings.get("sharing_strategy")),
        ],
    )


def _cost(examined: Examination) -> float | None:
    """Without the workers' state that comes with a batch, and without waits for cores that other jobs fill."""
    delivery = examined.wait.delivery
    if delivery is None:
        return None
    return max(0.0, delivery - examined.crowd.delivery - (state_fraction(examined) or 0.0))


def _are_in_time(examined: Examination, cost: float) -> bool:
    """Most of the wait is for batches that are loaded, and next to none for others."""
    unloaded = examined.wait.loading + (examined.wait.held_back or 0.0)
    return cost >= 0.5 * examined.rank.stall_fraction and unloaded < THRESHOLDS.watch_fraction


def _sentence(loader: LoaderInfo, *, is_in_time: bool) -> str:
    tensors, size_bytes = loader.batch_tensors, loader.batch_bytes
    what = "Batches are loaded in time, but handing them" if is_in_time else "Handing loaded batches"
    what += " over from the workers takes long"
    if tensors is not None and tensors >= THRESHOLDS.many_tensors:
        return f"{what}: a batch has {tensors} tensors, and each needs a handshake."
    if size_bytes is not None and size_bytes >= LARGE_BATCH_BYTES:
        return f"{what}: {size(size_bytes)} a batch go through shared memory."
    return f"{what} compared with the step."


CAUSE = Cause(
    label="slow hand-over",
    find=find,
    cured_by=("fewer_tensors", "num_workers", "sharing_strategy", "smaller_dtype"),
    signals=(share_signal("Handing over loaded batches", _cost, LEAST_FRACTION, where=has_workers),),
)
