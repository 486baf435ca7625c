"""``ipc_copy``: a finished batch takes long from its worker to the training loop.

Receiving is work of the training process: torch shakes hands with the worker once a tensor (sharing strategy
``file_descriptor``), and maps and unmaps the shared memory in which the batch lies.
"""

from __future__ import annotations

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.model import CauseFinding, Evidence


def find(judged: Judged, limits: Limits) -> CauseFinding | None:
    cost, loader = judged.wait.delivery, judged.loader
    if cost is None or loader is None or cost < limits.delivery_fraction:
        return None
    return CauseFinding(
        cause="ipc_copy",
        cost_fraction=cost,
        sentence=_sentence(loader.batch_tensors, loader.batch_bytes, limits),
        evidence=[
            Evidence(what="Hand-over of a finished batch", value=cost * judged.rank.step_us, unit="us"),
            Evidence(what="Step", value=judged.rank.step_us, unit="us", series="step_us"),
            Evidence(what="Tensors in a batch", value=loader.batch_tensors, unit="count"),
            Evidence(what="Size of a batch", value=loader.batch_bytes, unit="bytes"),
            Evidence(what="sharing_strategy", value=_text(loader.settings.get("sharing_strategy")), unit="setting"),
        ],
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _sentence(tensors: int | None, size_bytes: int | None, limits: Limits) -> str:
    what = "Batches are loaded in time, but handing them over from the workers takes long"
    if tensors is not None and tensors >= limits.many_tensors:
        return f"{what}: {tensors} tensors a batch, with a handshake for each."
    if size_bytes is not None and size_bytes >= limits.large_batch_bytes:
        return f"{what}: {size_bytes / 1e6:.0f} MB a batch go through shared memory."
    return f"{what} for so short a step."
