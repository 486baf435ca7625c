"""Hand batches over as the bytes that they hold, and convert them to floating-point numbers on the device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer, refuse
from underfed_server.advice.proof.pace import Gain
from underfed_server.advice.proof.traits import halved
from underfed_server.advice.shares import gain_without
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Refusal
from underfed_server.names import CauseName

SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of a number; as ``uint8`` each takes one."""

LEAST_SAVED = 0.5
"""Share of a batch's bytes: half of them gone is the least that all of its numbers as bytes can save."""

US_A_MB: Mapping[CauseName, float] = {
    "slow_collate": 600.0,
    "ipc_copy": 190.0,
    "pin_thread": 100.0,
    "pageable_copy": 100.0,
}
"""The least that a megabyte costs where each is found: filling new memory, and unmapping it (own study: 0.6–0.8 ms and
0.19 ms); copying into page-locked memory or to a device, at 10 GB/s."""

DIFF = """\
 class YourDataset(Dataset):
     def __getitem__(self, index):
-        return (image.float() / 255 - mean) / deviation, label
+        return image, label  # uint8
 for images, labels in loader:
-    images = images.to(device)
+    images = images.to(device, non_blocking=True).float().div_(255)
+    images = images.sub_(mean).div_(deviation)  # both on the device, too"""


def consider(case: Case) -> Offer | Refusal | None:
    cause, saved, fits = case.cause, _saved_bytes(case), case.loader.batch_fits_uint8
    if cause is None or fits is None or saved is None or not _matters(case, cause.cause, saved):
        return None
    if not fits:
        return refuse(case, "Batches as bytes", "Its numbers take more values than a byte has.", _evidence(case))
    risk = "What is done to samples as floating-point numbers, normalising too, then follows the copy: compare a batch."
    if not case.facts.uses_gpu:
        risk += " Without a GPU the training process converts them, in its own time."
    return Offer(
        to="uint8",
        title="Hand batches over as bytes",
        why=(
            "A batch holds no more different values than a byte has, in a larger type: whole numbers from 0 to 255, "
            "divided by 255 or normalised."
        ),
        risk=risk,
        diff=DIFF,
        evidence=[Evidence(what="Saved of a batch as bytes", value=saved, unit="bytes"), *_evidence(case)],
        from_=_float(case),
        gain=_gain(case, cause.cause, saved / (case.loader.batch_bytes or saved)),
        assumption="Copying takes as much less time as there are fewer bytes; converting on the device takes none.",
    )


def _evidence(case: Case) -> list[Evidence]:
    return [
        evidence.batch_bytes(case.loader),
        evidence.setting("Type of its numbers", _float(case)),
        evidence.mean_us("Joining one batch", case.rank.batches.collate_us),
        Evidence(what="Handing over one loaded batch", value=measures.handover_us(case.rank), unit="us"),
    ]


def _float(case: Case) -> str | None:
    """The type of most bytes of its floating-point numbers."""
    found = {name: size for name, size in (case.loader.batch_dtypes or {}).items() if name in SIZES}
    return max(found, key=lambda name: found[name], default=None)


def _saved_bytes(case: Case) -> int | None:
    """``None``: too few for a change."""
    name, whole = _float(case), case.loader.batch_bytes
    if name is None or not whole:
        return None
    saved = round((case.loader.batch_dtypes or {})[name] * (1 - 1 / SIZES[name]))
    return saved if saved >= LEAST_SAVED * whole else None


def _matters(case: Case, cause: CauseName, saved: int) -> bool:
    """What the bytes cost at least is worth a change: of a load where a worker spends it, else of a step."""
    is_of_load = cause == "slow_collate"
    whole_us = measures.mean(case.rank.batches.load_us) if is_of_load else case.rank.step_us
    return saved / 1e6 * US_A_MB[cause] >= (1 - 1 / THRESHOLDS.worthwhile_speedup) * (whole_us or 0.0)


def _gain(case: Case, cause: CauseName, saved_fraction: float) -> Gain | str | None:
    """Of what scales with bytes and was measured by itself."""
    steps = case.rank.steps
    if cause == "pageable_copy":
        return gain_without(steps.step_us, steps.h2d_exposed_us * saved_fraction)
    if cause == "pin_thread":
        pinning = (measures.mean(case.rank.batches.pin_us) or np.nan) * saved_fraction
        return gain_without(steps.step_us, np.minimum(steps.data_wait_us, pinning), case.cost_fraction(case.change))
    return "how much of it is due to the number of bytes was not measured"


CHANGE = Change(
    label="smaller numbers",
    consider=consider,
    sign=halved("batch_bytes"),
    alters_work=True,
)
