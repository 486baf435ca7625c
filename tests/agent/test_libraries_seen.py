"""Of pipelines as people write them both are named: the line of their own, and the library's function that it calls.

Libraries that are not installed are left out: of the development environment those that are.
"""

from __future__ import annotations

import copy
import gc
import io
import json
import re
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset
from torch.utils.data._utils.collate import default_collate
from torch.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher

from underfed.exchange.stacks import Frame
from underfed.host.clock import now_ns
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.bursts import LOOK_NS, Bursts
from underfed.trainer.loading.caught_stack import caught_after
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.loading_thread import LoadingThread
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.seen_code import SeenCode

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="this Python does not show what is called")

HERE = "tests/agent/test_libraries_seen.py"
RANDOM = np.random.default_rng(5)
PIXELS = RANDOM.integers(0, 255, (400, 500, 3), np.uint8)

Stacks = list[tuple[Frame, ...]]


class Mapped(Dataset[Any]):
    """The function is the user's own."""

    def __init__(self, load: Callable[[int], Any]) -> None:
        self.load = load

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> Any:
        return self.load(index)


class Streamed(IterableDataset[Any]):
    def __init__(self, samples: Callable[[], Iterator[Any]]) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from self.samples()


def fetching(dataset: Any, collate: Callable[[list[Any]], Any] = default_collate) -> Callable[[], Any]:
    """What torch's loop does for each batch."""
    is_streamed = isinstance(dataset, IterableDataset)
    kind: Any = _IterableDatasetFetcher if is_streamed else _MapDatasetFetcher
    fetcher = kind(dataset, True, collate, False)
    return lambda: fetcher.fetch([None] * 2 if is_streamed else [0, 1])


def seen(fetch: Callable[[], Any], tmp_path: Path, is_enough: Callable[[Stacks], bool]) -> Stacks:
    """Stacks of a thread that loads, looked at until that is enough."""
    timer = BatchTimer(ring=None, collate=CollateTimer(Probe()))  # type: ignore[arg-type]
    timer.is_loading = True
    code, over, failed = SeenCode(tmp_path / "loader-0.0.0.stacks"), threading.Event(), []

    def load() -> None:
        try:
            while not over.is_set():
                fetch()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    looked = LoadingThread(timer, code, worker=0, ident=thread.ident or 0)
    bursts = Bursts(now_ns(), is_always=True)
    bursts.begin()
    code.path.touch()  # as though the collector had not read it: all stays here
    deadline = time.monotonic() + 30
    stacks: Stacks = []
    try:
        while not is_enough(stacks) and time.monotonic() < deadline and not failed:
            stack, state = caught_after(0.003, looked.ident, looked.state)
            looked.look(now_ns() - LOOK_NS, now_ns(), stack, state, bursts)
            del stack
            looked.keep()
            stacks = [frames for _, frames in code.seen.samples]
    finally:
        bursts.end()
        over.set()
        thread.join()
    assert failed == []
    return stacks


def by_pillow(index: int) -> Tensor:
    image = Image.fromarray(PIXELS).resize((224, 224), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(image).astype(np.float32))


def by_numpy(index: int) -> Any:
    normalised = (PIXELS - 0.45) / 0.22
    return np.ascontiguousarray(np.transpose(normalised, (2, 0, 1)))


def by_torch(index: int) -> Tensor:
    image = torch.from_numpy(PIXELS).permute(2, 0, 1).float()
    return torch.nn.functional.interpolate(image[None], size=(224, 224), mode="bilinear")[0]


def by_python(index: int) -> int:
    total = 0
    for number in range(20_000):
        total = (total * 31 + number) & 0xFFFF
    return total


def by_regular_expression(index: int) -> int:
    return len(re.sub(r"(\w+) (\w+)", r"\2 \1", "one two " * 3_000))


def by_deepcopy(index: int) -> int:
    return len(copy.deepcopy([{"box": [1, 2, 3, 4]} for _ in range(300)]))


def by_json(index: int) -> int:
    return len(json.loads(json.dumps([{"box": [1.5, 2.5]}] * 2_000)))


def by_opencv(index: int) -> Tensor:
    import cv2  # type: ignore[import-not-found,unused-ignore]

    return torch.from_numpy(cv2.GaussianBlur(cv2.resize(PIXELS, (1024, 1024)), (31, 31), 0))


def by_torchvision() -> Callable[[int], Tensor]:
    from torchvision import transforms  # type: ignore[import-not-found,unused-ignore]

    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    return lambda _: transform(Image.fromarray(PIXELS))


def by_albumentations() -> Callable[[int], Any]:
    import albumentations  # type: ignore[import-not-found,unused-ignore]

    transform = albumentations.Compose(
        [albumentations.RandomCrop(224, 224), albumentations.GaussianBlur((31, 31), p=1)]
    )
    return lambda _: transform(image=PIXELS)["image"]


def own(stack: tuple[Frame, ...], function: str) -> bool:
    return any(frame.function.split(".")[-1] == function and frame.file == HERE and frame.is_own for frame in stack)


def calls(stack: tuple[Frame, ...], function: str) -> bool:
    return any(re.search(rf"(^|\.){re.escape(function)}$", frame.function) for frame in stack)


@pytest.mark.parametrize(
    ("load", "functions"),
    [
        (by_pillow, ("Image.resize", "resize")),
        (by_numpy, ("operator /", "operator -")),
        (by_torch, ("interpolate",)),
        (by_python, ("by_python",)),
        (by_regular_expression, ("sub",)),
        (by_deepcopy, ("deepcopy",)),
        (by_json, ("loads", "dumps")),
    ],
)
def test_own_function_and_library_function_are_named(
    load: Callable[[int], Any], functions: tuple[str, ...], tmp_path: Path
) -> None:
    assert_named(Mapped(load), load.__name__, functions, tmp_path)


def assert_named(dataset: Any, function: str, functions: tuple[str, ...], tmp_path: Path) -> None:
    def found(stacks: Stacks, called: str) -> bool:
        return any(own(stack, function) and calls(stack, called) for stack in stacks)

    stacks = seen(fetching(dataset), tmp_path, lambda stacks: all(found(stacks, called) for called in functions))
    for called in functions:
        assert found(stacks, called), {frame.function for stack in stacks for frame in stack}
    files = {frame.file for stack in stacks for frame in stack}
    assert [file for file in files if file.startswith("/") or "site-packages" in file] == []


@pytest.mark.parametrize(
    ("library", "load", "functions"),
    [
        ("cv2", lambda: by_opencv, ("resize", "GaussianBlur")),
        ("torchvision", by_torchvision, ("RandomResizedCrop.forward", "resize")),
        ("albumentations", by_albumentations, ("GaussianBlur.apply",)),
    ],
)
def test_functions_of_image_libraries_are_named(
    library: str, load: Callable[[], Callable[[int], Any]], functions: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip(library)
    loading = load()
    assert_named(Mapped(loading), loading.__name__, functions, tmp_path)


def decoded(row: dict[str, Any]) -> dict[str, Any]:
    image = Image.open(io.BytesIO(row["image"])).convert("RGB").resize((224, 224))
    return {"pixels": np.array(image)}


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, "jpeg")
    return file.getvalue()


def test_a_map_of_hugging_face_datasets_is_named(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"image": [jpeg()] * 4}).to_iterable_dataset().map(decoded)
    assert_named(Streamed(lambda: ({"x": row["pixels"]} for row in rows)), "decoded", ("resize",), tmp_path)


def test_a_transform_of_hugging_face_datasets_is_named(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")

    def transformed(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"pixels": [decoded({"image": image})["pixels"] for image in rows["image"]]}

    rows = datasets.Dataset.from_dict({"image": [jpeg()] * 4}).with_transform(transformed)
    assert_named(rows, "decoded", ("resize",), tmp_path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves the shard open that it reads
def test_a_webdataset_pipeline_is_named(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    with tarfile.open(tmp_path / "0.tar", "w") as shard:
        for number in range(20):
            member = tarfile.TarInfo(f"{number:03}.image")
            member.size = len(jpeg())
            shard.addfile(member, io.BytesIO(jpeg()))
    data = webdataset.WebDataset(str(tmp_path / "0.tar"), shardshuffle=False).map(decoded)
    assert_named(Streamed(lambda: ({"x": row["pixels"]} for row in data)), "decoded", ("resize",), tmp_path)
    gc.collect()


def collated(samples: list[list[float]]) -> Tensor:
    return torch.stack([torch.tensor([value * 2 for value in sample]) for sample in samples])


def test_an_own_collate_function_is_named(tmp_path: Path) -> None:
    fetch = fetching(Mapped(lambda _: list(map(float, range(3_000)))), collated)

    def named(stacks: Stacks) -> bool:
        return any(own(stack, "collated") and calls(stack, "torch.tensor") for stack in stacks)

    assert named(seen(fetch, tmp_path, named))
