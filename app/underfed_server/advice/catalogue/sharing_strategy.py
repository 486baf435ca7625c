"""``set_sharing_strategy("file_system")``: receiving a tensor needs no handshake with its worker."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.diagnosis import evidence, measures
from underfed_server.model import Evidence

DIFF = """\
+import torch.multiprocessing
+
+torch.multiprocessing.set_sharing_strategy("file_system")  # before the loader; with spawn also in worker_init_fn"""


def consider(case: Case) -> Outcomes:
    if not case.num_workers or case.cause is None or case.loader.settings.get("sharing_strategy") == "file_system":
        return []
    return offer_simulated(case, replace(case.recorded, shares_by_name=True), _offer(case))


def _offer(case: Case) -> Offer:
    handover = measures.handover_us(case.rank)
    return Offer(
        to="file_system",
        title="Share tensors by name",
        why="Receiving a batch takes a handshake with its worker for each tensor; opening a file by name takes none.",
        risk="A run that is killed may leave its shared memory in /dev/shm until the machine restarts.",
        diff=DIFF,
        evidence=[
            evidence.batch_tensors(case.loader),
            Evidence(what="Handing over one loaded batch", value=handover, unit="us"),
        ],
        from_=case.loader.settings.get("sharing_strategy") or "file_descriptor",
        in_call=False,
    )


CHANGE = Change(
    label="tensors shared by name",
    consider=consider,
)
