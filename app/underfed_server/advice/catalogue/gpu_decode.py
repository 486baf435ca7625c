"""Decode and transform images on the GPU, by nvJPEG or DALI."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence

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


def consider(case: Case) -> Offer | None:
    cpu_share = measures.load_share(case.rank, case.rank.batches.cpu_us)
    if not (case.waits_for_data and case.facts.uses_gpu and _decodes_images(case)):
        return None
    if (cpu_share or 0.0) < THRESHOLDS.blocked_fraction:
        return None
    return Offer(
        to="nvJPEG or DALI",
        title="Decode on the GPU",
        why="No core is free, and loading is mostly decoding and transforming, which a GPU does far faster.",
        risk=(
            "A change of code: other decoders and resizers differ by a few grey levels, and decoding takes memory and "
            "time of the GPU from training."
        ),
        diff=DIFF,
        evidence=[
            Evidence(what="On the CPU, of load time", value=cpu_share, unit="fraction", series="cpu_us"),
            evidence.cores_in_use(case.rank),
            evidence.usable_cores(case.facts.host),
            Evidence(what="GPU in use", value=case.rank.gpu_util, unit="fraction", series="gpu_util"),
        ],
        gain="how much of the GPU's time decoding would take was not seen in this run",
    )


def _decodes_images(case: Case) -> bool:
    names = (case.loader.dataset_type or "", *(case.loader.transforms or ()))
    return any(word in name.lower() for name in names for word in IMAGES)


CHANGE = Change(
    label="decode on the GPU",
    consider=consider,
)
