"""``sharing_strategy``: tensors are shared by name, so that receiving one needs no handshake with its worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.diagnosis import measures
from underfed_server.model import Advice, Evidence, Refusal

DIFF = """\
+import torch.multiprocessing
+
+torch.multiprocessing.set_sharing_strategy("file_system")  # before the loader; with spawn also in worker_init_fn"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if not case.num_workers or case.found("ipc_copy") is None:
        return []
    if case.loader.settings.get("sharing_strategy") == "file_system":
        return []
    return offer_simulated(case, replace(case.recorded, shares_by_name=True), _offer(case))


def _offer(case: Case) -> Offer:
    handover = measures.handover_us(case.rank)
    return Offer(
        change="sharing_strategy",
        to="file_system",
        title="Share tensors by name",
        why="Receiving a batch takes a handshake with its worker for each tensor. A file that has a name needs none.",
        risk="A run that is killed may leave its shared memory behind in /dev/shm, until the machine is restarted.",
        diff=DIFF,
        evidence=[
            Evidence(what="Tensors in a batch", value=case.loader.batch_tensors, unit="count"),
            Evidence(what="A batch takes from its worker to the training process", value=handover, unit="us"),
        ],
        from_=case.loader.settings.get("sharing_strategy") or "file_descriptor",
        in_call=False,
    )
