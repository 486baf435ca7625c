"""The team's runs: each shows one cause, verdict or state of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.gallery.job import Job, Machine
from tests.fakes.gallery.loop import Load, Pace

NFS = {
    "mount": "/mnt/datasets",
    "file_system": "nfs4",
    "device": "filer-1:/datasets",
    "kind": "network",
    "example": "/mnt/datasets/cc12m/00017.tar",
}
NVME = {"mount": "/data", "file_system": "ext4", "device": "nvme0n1", "kind": "nvme", "example": "/data/in1k/n01440764"}

LAST_WORDS = (
    'Traceback (most recent call last):\n  File "train.py", line 212, in <module>\n    main()\n'
    '  File "train.py", line 187, in main\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB. GPU 0 has a total capacity of 79.25 GiB "
    "of which 1.12 GiB is free."
)
NO_LOADER = "no DataLoader was seen in this run: nothing could be recorded"
FINISHED = {"status": "finished", "exit_code": 0}
BEFORE = "ast-audioset"
"""Its advice is carried by ``AFTER``."""
AFTER = "ast-audioset-w8"

DECODE = Load(cpu_ms=820, blocked_ms=6, collate_ms=14)
AUGMENTED = Load(cpu_ms=1_580, blocked_ms=8, collate_ms=16)
READING = Load(cpu_ms=180, blocked_ms=1_150, collate_ms=20, spread=0.25)


def gpu(number: int, **changes: Any) -> Machine:
    return Machine(f"gpu-{number:02d}", **changes)


def team() -> list[Job]:
    """All except those that follow another run's advice."""
    return [*_live(), *_ended(), *_odd(), *_of_last_week()]


def _steady(load: Load, work_ms: float, epochs: int = 4, steps: int = 400, **pace: Any) -> Sequence[tuple[int, Pace]]:
    return [(steps, Pace(load, work_ms, **pace))] * epochs


def _live() -> list[Job]:
    quick, slow = Pace(DECODE, 224, copy_ms=11, exposed_ms=11), Pace(AUGMENTED, 224, copy_ms=11, exposed_ms=11)
    return [
        Job(
            "vit-b16-in1k-aug2", [gpu(3)], [*[(500, quick)] * 5, *[(500, slow)] * 9], "mira", ranks_a_host=4,
            tags={"imagenet": "", "pretrain": ""}, busy_cores=38, mount=NVME,
            run={"config": {"lr": 0.0003, "seed": 7, "amp": "bf16", "epochs": 90}},
        ),
        Job(
            "clip-b32-cc12m-web", [gpu(7), gpu(8)], _steady(READING, 130), "arjun", project="multimodal",
            tags={"cc12m": "", "web": ""}, mount=NFS, read_share=0.97, busy_cores=14,
        ),
        Job(
            "clip-b32-cc12m-tar", [gpu(7)], _steady(READING, 160), "arjun", project="multimodal",
            tags={"cc12m": "", "web": ""}, mount=NFS, read_share=0.95, busy_cores=17,
        ),
        Job(
            "llama-1b-fineweb-03", [gpu(13), gpu(14)], _steady(Load(30, 2, collate_ms=1), 1_200, 2, 300), "jonas",
            project="text", tags={"text": ""}, batch_size=32, busy_cores=9, mount=NVME,
        ),
        Job(
            "convnext-t-inat", [gpu(6)], [(14, Pace(DECODE, 150))], "sofia", tags={"inat": ""}, mount=NVME,
        ),
    ]  # fmt: skip


def _ended() -> list[Job]:
    return [
        Job(
            "unet3d-kits-fullres", [gpu(2)], _steady(Load(420, 12, collate_ms=390), 1_500, num_workers=0, steps=200),
            "lena", project="medical", tags={"kits": "", "medical": ""}, ended_h=20, end=FINISHED, batch_size=4,
            ranks_a_host=1, mount=NVME,
        ),
        Job(
            "yolo-x-coco-mosaic", [gpu(5)], _steady(Load(500, 20, tail=0.03, tail_factor=9, spread=0.1), 190),
            "wei", tags={"coco": ""}, ended_h=60, end=FINISHED, mount=NVME,
        ),
        Job(
            "whisper-sm-common17", [gpu(9, cores=16)],
            _steady(Load(2_900, 10, runqueue_ms=1_100, collate_ms=10), 380, num_workers=8), "jonas", project="speech",
            tags={"audio": ""}, ended_h=7, end=FINISHED, busy_cores=15.8, mount=NVME,
        ),
        Job(
            "resnet50-in1k-base", [gpu(4)], _steady(Load(610, 8, spread=0.22), 165), "wei",
            tags={"imagenet": ""}, ended_h=30, end=FINISHED, mount=NVME,
        ),
        Job(
            "detr-coco-ddp", [gpu(11)], _steady(Load(200, 4), 330), "sofia", tags={"coco": ""}, ranks_a_host=8,
            ended_h=12, end=FINISHED, mount=NVME, paces_of_ranks={5: _steady(Load(1_290, 30), 205)},
        ),
        Job(
            "gpt2-logging", [gpu(12)], _steady(Load(20, 1), 140, program_ms=90), "lena", project="text",
            tags={"text": ""}, ended_h=16, end=FINISHED, batch_size=64,
        ),
        Job(
            "mae-vit-l-copy", [gpu(15)], _steady(Load(300, 5), 210, copy_ms=64, exposed_ms=60), "mira",
            tags={"imagenet": "", "pretrain": ""}, ended_h=26, end=FINISHED, mount=NVME,
        ),
        Job(
            "segformer-b2-short", [gpu(6)], _steady(Load(300, 5), 130, epochs=14, steps=40, startup_ms=4_200), "lena",
            tags={"cityscapes": ""}, ended_h=40, end=FINISHED, mount=NVME,
        ),
        Job(
            "olmo-1b-dolma-32-hosts", [gpu(40 + host) for host in range(32)], _steady(Load(90, 6), 1_100, 1, 60),
            "sofia", project="text", tags={"text": "", "pretrain": ""}, ranks_a_host=1, ended_h=4, end=FINISHED,
            batch_size=32, mount=NFS, paces_of_ranks={17: _steady(Load(2_600, 1_500, spread=0.3), 760, 1, 60)},
        ),
        Job(
            BEFORE, [gpu(9)], _steady(Load(1_150, 9), 240), "jonas", project="speech", tags={"audio": ""},
            ended_h=5, end=FINISHED, mount=NVME,
        ),
    ]  # fmt: skip


def _odd() -> list[Job]:
    laptop = Machine("mira-desk", cores=8, gpu=None, gpus=0, memory_gib=32, shm_gib=16, cpu_model="AMD Ryzen 7 7700")
    return [
        Job(
            "dinov2-s-places", [gpu(12)], _steady(Load(1_000, 8), 300, epochs=2), "sofia", tags={"places": ""},
            ended_h=9, end={"status": "crashed", "exit_code": 1, "exit_reason": LAST_WORDS}, mount=NVME, died=True,
        ),
        Job("swin-t-in21k-warm", [gpu(10)], _steady(Load(900, 8), 280, epochs=3), "arjun", ended_h=2, mount=NVME),
        Job(
            "bert-tiny-laptop", [laptop], _steady(Load(46, 1, collate_ms=6), 80, num_workers=0), "mira",
            project="text", ended_h=3, end=FINISHED, batch_size=16, ranks_a_host=1, busy_cores=4,
        ),
        Job(
            "fineweb-stream", [gpu(13)], _steady(Load(500, 20), 90), "jonas", project="text", ended_h=11,
            end=FINISHED,
            loader={
                "dataset_type": "TokenStream", "dataset_kind": "iterable", "dataset_length": None,
                "sampler_type": None, "shards": False, "compared_batches": 256, "repeated_batches": 256,
                "why_unsharded": "__iter__ does not ask get_worker_info()",
            },
        ),
        Job(
            "eval-only", [gpu(4)], [], "wei", ended_h=1, end=FINISHED,
            run={"not_measured": {"loader": NO_LOADER}}, ranks_a_host=1,
        ),
    ]  # fmt: skip


def _of_last_week() -> list[Job]:
    mild, heavy = Load(600, 8), Load(1_400, 10)
    people = ("mira", "wei", "lena", "jonas", "arjun", "sofia")
    return [
        Job(
            f"vit-s16-sweep-{day:02d}", [gpu(3 + day % 4)], _steady(mild if day % 3 else heavy, 200, 2, 300),
            people[day % len(people)], tags={"imagenet": "", "sweep": ""}, ended_h=24.0 * day + 2, end=FINISHED,
            mount=NVME,
        )
        for day in range(1, 13)
    ]  # fmt: skip


def answer(advised: Mapping[str, Any]) -> Job:
    """The run with the change that ``BEFORE`` was advised: ``settings`` of an advice."""
    pace = Pace(Load(1_180, 9), 240, int(advised["num_workers"]), int(advised["prefetch_factor"]))
    return Job(
        AFTER, [gpu(9)], [(400, pace)] * 4, "jonas", project="speech", tags={"audio": ""}, ended_h=2, end=FINISHED,
        mount=NVME, run={"job": f"speech/{BEFORE}", "advice_of": BEFORE, "overrides": dict(advised)},
    )  # fmt: skip
