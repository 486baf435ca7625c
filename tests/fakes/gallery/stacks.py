"""What the workers of a made run were seen to execute: stacks of pipelines as they are built, with given shares."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.gallery.job import Job
from underfed.exchange.stacks import GROUPS

Shares = Mapping[tuple[str, ...], float]
"""Per cent of loading, by stage and then places, the outermost first."""


def outline(text: str) -> Shares:
    """Each line two spaces further in than what calls it; after ``=`` its share in itself."""
    path: list[str] = []
    shares: dict[tuple[str, ...], float] = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, share = line.strip().partition(" = ")
        path = [*path[: (len(line) - len(line.lstrip())) // 2], name]
        if share:
            shares[tuple(path)] = float(share)
    return shares


DECODED = outline("""
getitem
  vit/data.py:41 Photos.__getitem__
    torchvision/datasets/folder.py:284 default_loader
      torchvision/datasets/folder.py:262 pil_loader
        PIL/Image.py:3465 open
          PIL/JpegImagePlugin.py:835 jpeg_factory = 1.4
        PIL/Image.py:993 Image.convert
          PIL/ImageFile.py:300 ImageFile.load = 3.1
            PIL/ImageFile.py:316 decoder.decode = 41.7
  vit/data.py:44 Photos.__getitem__
    torchvision/transforms/transforms.py:95 Compose.__call__
      torchvision/transforms/transforms.py:986 RandomResizedCrop.forward
        torchvision/transforms/transforms.py:944 torch.empty = 0.5
        torchvision/transforms/functional.py:479 resize
          torchvision/transforms/_functional_pil.py:250 resize
            PIL/Image.py:2339 Image.resize = 0.7
            PIL/Image.py:2356 Image.resize
              PIL/Image.py:2356 self.im.resize = 21.9
      torchvision/transforms/transforms.py:137 ToTensor.__call__ = 1.1
        torchvision/transforms/functional.py:174 to = 9.8
      torchvision/transforms/transforms.py:277 Normalize.forward
        torchvision/transforms/_functional_tensor.py:928 sub_ = 4.9
collate
  torch/utils/data/_utils/collate.py:398 default_collate = 0.6
    torch/utils/data/_utils/collate.py:212 collate
      torch/utils/data/_utils/collate.py:272 collate_tensor_fn
        torch/utils/data/_utils/collate.py:271 torch.stack = 4.2
other = 1.2
""")

RARE = "\n".join(f"          PIL/ImageOps.py:{60 + each} _apply_{each:02} = 0.16" for each in range(12))
"""Each hardly ever seen: together they are the narrow end of a graph."""

AUGMENTED = {places: 0.56 * share for places, share in DECODED.items()}
AUGMENTED |= outline(f"""
getitem
  vit/data.py:44 Photos.__getitem__
    torchvision/transforms/transforms.py:95 Compose.__call__
      torchvision/transforms/autoaugment.py:388 RandAugment.forward = 2.6
        torchvision/transforms/autoaugment.py:15 _apply_op
          torchvision/transforms/autoaugment.py:57 F.autocontrast
            PIL/ImageOps.py:94 autocontrast = 9.4
          torchvision/transforms/autoaugment.py:59 F.equalize
            PIL/ImageOps.py:420 equalize = 7.7
          torchvision/transforms/autoaugment.py:33 F.affine
            PIL/Image.py:2960 self.im.transform = 8.3
          torchvision/transforms/autoaugment.py:49 F.adjust_sharpness
            PIL/ImageEnhance.py:103 Sharpness.__init__ = 5.1
          torchvision/transforms/autoaugment.py:53 F.posterize = 2.2
          torchvision/transforms/autoaugment.py:55 F.solarize = 1.8
{RARE}
""")

READ = outline("""
getitem
  webdataset/compat.py:71 WebDataset.__iter__
    webdataset/pipeline.py:64 DataPipeline.iterator
      webdataset/tariterators.py:162 tar_file_iterator
        tarfile.py:2744 TarFile.next
          tarfile.py:2744 read = 58
        tarfile.py:1187 TarInfo.fromtarfile = 6.1
      webdataset/autodecode.py:291 Decoder.decode1
        PIL/ImageFile.py:316 decoder.decode = 18.2
      clip/data.py:88 preprocess
        torchvision/transforms/functional.py:479 resize
          PIL/Image.py:2356 self.im.resize = 7.4
      clip/data.py:94 tokenize
        clip/tokenizer.py:131 SimpleTokenizer.encode
          clip/tokenizer.py:131 re.findall = 5
collate
  clip/data.py:112 collate
    torch/utils/data/_utils/collate.py:271 torch.stack = 3.4
other = 1.9
""")

RESAMPLED = outline("""
getitem
  ast/data.py:57 AudioSet.__getitem__
    ast/data.py:41 AudioSet._load
      torchaudio/_backend/soundfile.py:221 load
        soundfile.py:285 read = 13
    ast/data.py:43 AudioSet._load
      ast/data.py:61 AudioSet._resampled
        librosa/core/audio.py:676 resample
          librosa/core/audio.py:676 soxr.resample = 31
    ast/data.py:72 AudioSet._noise
      ast/data.py:61 AudioSet._resampled
        librosa/core/audio.py:676 resample
          librosa/core/audio.py:676 soxr.resample = 15
    torchaudio/transforms/_transforms.py:107 Spectrogram.forward
      torchaudio/functional/functional.py:123 torch.stft = 19
    torchaudio/transforms/_transforms.py:418 MelScale.forward
      torchaudio/transforms/_transforms.py:419 torch.matmul = 11
    ast/data.py:66 AudioSet._mask
      ast/data.py:66 operator * = 5
collate
  ast/data.py:80 pad
    torch/nn/utils/rnn.py:478 pad_sequence = 5
other = 1
""")

OTHERWISE = {"read": 44.0, "decoder.decode": 31.0}
STREAMED = {places: OTHERWISE.get(places[-1].partition(" ")[2], share) for places, share in READ.items()}
"""Other storage: reading takes less of it."""

TOKENISED = outline("""
getitem
  gpt/data.py:33 Tokens.__iter__
    gpt/data.py:35 Tokens._encode
      tokenizers/implementations/base_tokenizer.py:208 encode = 71
    gpt/data.py:29 json.loads = 12
    gpt/data.py:38 torch.tensor = 14
collate
  torch/utils/data/_utils/collate.py:271 torch.stack = 2
other = 1
""")

OF_RUN: Mapping[str, Shares | None] = {
    "vit-b16-in1k-aug2": AUGMENTED,
    "clip-b32-cc12m-web": READ,
    "clip-b32-cc12m-tar": STREAMED,
    "ast-audioset": RESAMPLED,
    "ast-audioset-w8": RESAMPLED,
    "whisper-sm-common17": RESAMPLED,
    "llama-1b-fineweb-03": TOKENISED,
    "fineweb-stream": TOKENISED,
    "gpt2-logging": None,
}
"""Of all others ``DECODED``; ``None``: switched off."""

OWN = ("ast/", "clip/", "gpt/", "vit/")
"""Folders of the people's own programs."""

SAMPLES, FEW = 640, 14
"""Of a rank; of one with a few steps."""
FEW_STEPS = 20

ALIKE = 2
"""Looks of a burst that find the same call."""

SLOW_S = (4.81, 4.66, 4.32, 3.97, 3.94, 3.41, 3.38, 2.92, 2.71, 2.44, 2.4, 2.13, 2.08, 1.97, 1.66, 1.64, 1.31, 1.12)
"""Of a run whose loads have a long tail."""


def why_not_sampled(job: Job) -> dict[str, str]:
    return {} if _shares(job) is not None else {"hotspots": "switched off by UNDERFED_STACKS=0"}


def stacks(job: Job, loader: str, figures: random.Random) -> list[dict[str, Any]]:
    """Empty: its workers are not sampled, or it has none."""
    shares = _shares(job)
    if shares is None or not job.phases or job.first_pace().num_workers == 0:
        return []
    samples = SAMPLES if sum(steps for steps, _ in job.phases) > FEW_STEPS else FEW
    numbers: dict[str, int] = {}
    counted = [
        {
            "stage": stage,
            "frames": [numbers.setdefault(place, len(numbers)) for place in places],
            "samples": grouped(count),
        }
        for (stage, *places), share in shares.items()
        if (count := round(samples * share / 100 * figures.uniform(0.9, 1.1)))
    ]
    has_tail = any(pace.load.tail for _, pace in job.phases)
    return [
        {
            "loader": loader,
            "frames": [_frame(place) for place in numbers],
            "stacks": counted,
            "slow_samples": list(_slow(figures)) if has_tail else [],
        }
    ]


def grouped(count: int) -> list[int]:
    """By group of bursts, which differ by more than chance: some looks of one find the same call."""
    groups, figures = [0] * GROUPS, random.Random(count)
    for found in range(0, count, ALIKE):
        groups[figures.randrange(GROUPS)] += min(ALIKE, count - found)
    return groups


def _shares(job: Job) -> Shares | None:
    return OF_RUN.get(job.run_id, DECODED)


def _frame(place: str) -> dict[str, Any]:
    where, _, function = place.partition(" ")
    file, _, line = where.partition(":")
    return {"function": function, "file": file, "line": int(line), "is_own": file.startswith(OWN)}


def _slow(figures: random.Random) -> Iterator[dict[str, Any]]:
    for place, seconds in enumerate(SLOW_S):
        index = figures.randrange(118_287)
        # Small files are opened and closed between two looks.
        file = None if place % 5 == 3 else f"train2017/{index:012}.jpg"
        yield {
            "index": index, "file": file, "file_bytes": None if file is None else round(seconds * 2_400_000),
            "load_us": round(seconds * 1e6 * figures.uniform(0.97, 1.03)), "worker": figures.randrange(4),
        }  # fmt: skip
