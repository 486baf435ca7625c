"""Join a batch with one call, not by a loop over samples and fields."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import halved
from underfed_server.diagnosis import evidence, measures
from underfed_server.model import Evidence

FUNCTION = """\
+def collate(samples):
+    images, labels = zip(*samples)
+    batch = torch.empty((len(images), *images[0].shape), dtype=images[0].dtype)
+    torch.stack(images, out=batch)  # one copy, no Python for each field; pad with one call, too
+    return batch, torch.as_tensor(labels)"""


def consider(case: Case) -> Offer:
    rank, name = case.rank, case.loader.collate_type or "the collate function"
    share = measures.load_share(rank, rank.batches.collate_us)
    return Offer(
        to="vectorised",
        title="Join samples with one call",
        why=f"Joining samples into a batch ({name}) is a large part of loading it.",
        risk="The new function has to give the same batches: compare one of each.",
        diff=FUNCTION,
        call={"collate_fn": "collate"},
        evidence=[
            Evidence(what="Joining samples, of all load time", value=share, unit="fraction", series="collate_us"),
            evidence.mean_us("Joining one batch", rank.batches.collate_us),
            Evidence(what="Samples in a batch", value=measures.mean(rank.batches.samples), unit="count"),
        ],
        from_=case.loader.collate_type,
        gain="how fast another collate function is was not seen in this run",
    )


CHANGE = Change(
    label="vectorised collate",
    consider=consider,
    sign=halved("collate_us"),
)
