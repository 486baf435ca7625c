"""``set_sharing_strategy("file_system")``: receiving a tensor needs no handshake with its worker."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.diagnosis import evidence, measures
from underfed_server.model import Evidence

DIFF = """\
+import torch.multiprocessing
+
+torch.multiprocessing.set_sharing_strategy("file_system")  # before the loader; with spawn also in worker_init_fn"""


def consider(case: Case) -> Offer | None:
    if not case.num_workers or case.loader.settings.get("sharing_strategy") == "file_system":
        return None
    if case.found("state_snapshot"):
        return None  # its simulation would take the hand-over of state for handshakes
    return Offer(
        to="file_system",
        title="Share tensors by name",
        why="Receiving a batch takes a handshake with its worker for each tensor; opening a file by name takes none.",
        risk="A run that is killed may leave its shared memory in /dev/shm until the machine restarts.",
        diff=DIFF,
        sketch=None,
        evidence=[
            evidence.batch_tensors(case.loader),
            Evidence(what="Handing over one loaded batch", value=measures.handover_us(case.rank), unit="us"),
        ],
        from_=case.loader.settings.get("sharing_strategy") or "file_descriptor",
        simulated=replace(case.recorded, shares_by_name=True),
    )


CHANGE = Change(
    label="tensors shared by name",
    consider=consider,
    is_of_its_causes=True,
)
