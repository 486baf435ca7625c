"""``gpu_decode``: where the CPU's cores are all decoding and a GPU is at hand, it decodes faster and beside them."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import LIMITS
from underfed_server.model import Advice, Evidence, Refusal

IMAGES = ("image", "jpeg", "photo", "resize", "crop", "coco", "decode")
"""In the names of data sets and transforms that decode: torchvision's, albumentations' and what people call theirs."""

DIFF = """\
 class YourDataset(Dataset):
     def __getitem__(self, index):
-        return self.transform(Image.open(self.paths[index])), self.labels[index]
+        return torchvision.io.read_file(self.paths[index]), self.labels[index]  # bytes, not pixels
 for encoded, labels in loader:  # with a collate_fn that keeps the bytes as a list
+    images = torchvision.io.decode_jpeg(encoded, device="cuda")  # nvJPEG, the whole batch
+    images = torch.stack([transform(image) for image in images])  # transforms.v2, on the GPU
 # Or a pipeline of NVIDIA DALI: fn.readers.file, fn.decoders.image(device="mixed"), fn.resize, …"""


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if not (case.waits_for_data and case.facts.uses_gpu and decodes_images(case)):
        return []
    if case.found("cpu_limited") is None or (_cpu_share(case) or 0.0) < LIMITS.blocked_fraction:
        return []
    return [offer_unpredicted(case, _offer(case))]


def decodes_images(case: Case) -> bool:
    names = (case.loader.dataset_type or "", *(case.loader.transforms or ()))
    return any(word in name.lower() for name in names for word in IMAGES)


def _cpu_share(case: Case) -> float | None:
    return measures.load_share(case.rank, case.rank.batches.cpu_us)


def _offer(case: Case) -> Offer:
    rank, host = case.rank, case.facts.host
    return Offer(
        change="gpu_decode",
        to="nvJPEG or DALI",
        title="Decode on the GPU",
        why="No core is free, and loading is mostly decoding and transforming. A GPU does both far faster.",
        risk=(
            "A change of code: decoders and resizing differ by a few grey levels, and the GPU's memory and time are "
            "shared with training."
        ),
        diff=DIFF,
        evidence=[
            Evidence(what="Loading spent on the CPU", value=_cpu_share(case), unit="fraction", series="cpu_us"),
            Evidence(what="Cores in use", value=measures.used_cores(rank), unit="cores", series="busy_cores"),
            Evidence(what="Cores this run may use", value=host.usable_cores, unit="cores"),
            Evidence(what="GPU in use", value=rank.gpu_util, unit="fraction", series="gpu_util"),
        ],
        in_call=False,
        unknown="what decoding takes on this GPU, and of its time for training, was not seen in this run",
    )
