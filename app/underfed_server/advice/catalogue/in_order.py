"""``in_order=False``: a batch that is ready is handed out, though one that was asked for earlier is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.num_workers < 2 or case.loader.settings.get("in_order") is False:
        return []
    if case.found("slow_samples") is None:
        return []
    return offer_simulated(case, replace(case.recorded, in_order=False), _offer(case))


def _offer(case: Case) -> Offer:
    load = case.rank.batches.load_us[np.isfinite(case.rank.batches.load_us)]
    median, slow = (float(np.percentile(load, share)) if len(load) else None for share in (50, 95))
    return Offer(
        change="in_order",
        to=False,
        title="Take batches as they get ready",
        why="Batches lie ready behind one that is slow to load, and are not handed out before it.",
        risk=(
            "Two runs with one seed no longer see batches in one order, and samples that are slow to load come late. "
            "Needs torch 2.6."
        ),
        diff=diff_of(case.loader, {"in_order": False}, case.facts.overrides),
        evidence=[
            Evidence(what="Loading a batch, median", value=median, unit="us", series="load_us"),
            Evidence(what="Loading a batch, slowest 5%", value=slow, unit="us"),
        ],
        settings={"in_order": False},
        changes_batch_order=True,
    )
