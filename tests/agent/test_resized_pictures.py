"""From which size to which a picture is being resized is read from frames of libraries, and from nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from underfed.exchange.picture_sizes import MOST_HELD, MOST_SIZES, PictureSize, Resized, SeenPictures
from underfed.exchange.stacks import SeenStacks, read_stacks, write_stacks
from underfed.trainer.loading import resized_pictures
from underfed.trainer.loading.resized_pictures import resized_at

Seen = list["Resized | None"]


def picture(width: int = 640, height: int = 480, mode: str = "RGB") -> Image.Image:
    return Image.new(mode, (width, height))


def jpeg(width: int = 640, height: int = 480) -> BytesIO:
    content = BytesIO()
    picture(width, height).save(content, "jpeg")
    content.seek(0)
    return content


def seen_in(load: Callable[[], Any]) -> Seen:
    """What is read at each line that is executed meanwhile, each once."""
    found: Seen = []
    end = sys._getframe()

    def look(frame: FrameType, event: str, argument: object) -> Any:
        resized = resized_at(frame, end)
        if resized not in found:
            found.append(resized)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        load()
    finally:
        sys.settrace(before)
    return [each for each in found if each is not None]


@pytest.mark.parametrize(
    ("load", "resized"),
    [
        (lambda: picture().resize((64, 32)), (640, 480, 64, 32)),
        (lambda: picture().resize([64, 32]), (640, 480, 64, 32)),
        (lambda: picture(mode="LA").resize((64, 32)), (640, 480, 64, 32)),
        (lambda: picture().resize((64, 32), box=(100.0, 100.0, 420.0, 260.0)), (320, 160, 64, 32)),
        (lambda: picture().crop((100, 100, 420, 260)).resize((64, 32)), (320, 160, 64, 32)),
        (lambda: Image.open(jpeg()).resize((64, 32)), (640, 480, 64, 32)),
        (lambda: picture().resize((64, 48), reducing_gap=2.0), (640, 480, 64, 48)),
        (lambda: picture().reduce(4), (640, 480, 160, 120)),
        (lambda: picture().reduce((4, 7)), (640, 480, 160, 69)),
        (lambda: picture().thumbnail((64, 64)), (640, 480, 64, 48)),
        (lambda: torch.nn.functional.interpolate(torch.zeros(1, 3, 480, 640), (32, 64)), (640, 480, 64, 32)),
        (lambda: torch.nn.functional.interpolate(torch.zeros(1, 3, 480, 640), 32), (640, 480, 32, 32)),
    ],
)  # fmt: skip
def test_both_sizes_are_read_from_the_function_that_resizes(load: Callable[[], Any], resized: Resized) -> None:
    assert seen_in(load) == [resized]


def test_what_was_decoded_at_a_part_of_its_size_is_reported_as_that() -> None:
    def load() -> None:
        image = Image.open(jpeg())
        image.draft("RGB", (160, 120))
        image.resize((64, 48))

    assert seen_in(load) == [(160, 120, 64, 48)]


def test_albumentations_resizes_arrays() -> None:
    """As its function does, from a file of its name; the library itself is among ``tests/scenarios/pipelines/hot``."""
    code = compile(
        "def resize(img, target_shape, interpolation):\n    return img[::2]\n",
        "/site-packages/albumentations/augmentations/geometric/functional.py",
        "exec",
    )
    names: dict[str, Any] = {}
    exec(code, names)
    assert seen_in(lambda: names["resize"](np.zeros((480, 640, 3)), (32, 64), 1)) == [(640, 480, 64, 32)]


@pytest.mark.parametrize(
    "load",
    [
        lambda: picture().convert("L").rotate(90),
        lambda: Image.open(jpeg()).load(),
        lambda: torch.nn.functional.interpolate(torch.zeros(1, 64, 8, 8), (4, 4)),
        lambda: torch.nn.functional.interpolate(torch.zeros(1, 3, 8), 4),
        lambda: torch.nn.functional.interpolate(torch.zeros(1, 3, 8, 8), scale_factor=0.5),
        lambda: np.resize(np.zeros((8, 8)), (4, 4)),
    ],
)
def test_what_is_no_picture_or_is_not_resized_is_not_reported(load: Callable[[], Any]) -> None:
    assert seen_in(load) == []


class Loud(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(name)


class Own(Image.Image):
    """A program's own class: whatever is asked of it may run its code."""

    @property
    def _size(self) -> tuple[int, int]:  # type: ignore[override]
        raise AssertionError

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(name)


class OwnTensor(torch.Tensor):
    @property
    def shape(self) -> Any:  # type: ignore[override]
        raise AssertionError


class OwnNumber(int):
    def __index__(self) -> int:
        raise AssertionError


@pytest.mark.parametrize(
    "names",
    [
        {"self": Own.__new__(Own), "size": (1, 2)},
        {"self": Loud("Loud", (), {}), "size": (1, 2)},
        {"self": Loud("Loud", (), {})(), "size": (1, 2)},
        {"self": Image.Image.__new__(Image.Image), "size": (1, 2)},
        {"self": JpegImageFile.__new__(JpegImageFile), "size": (1, 2)},
        {"self": None, "size": (1, 2)},
        {"self": picture(), "size": (OwnNumber(1), OwnNumber(2))},
        {"self": picture(), "size": (1, 2, 3)},
        {"self": picture(), "size": (0, -2)},
        {"self": picture(), "size": None},
        {},
        {"input": torch.zeros(1, 3, 8, 8).as_subclass(OwnTensor), "size": (4, 4)},
        {"input": SimpleNamespace(shape=(1, 3, 8, 8)), "size": (4, 4)},
        {"img": np.zeros((8, 8)).view(np.recarray), "target_shape": (4, 4)},
    ],
)
def test_no_code_of_the_program_runs_and_what_is_unknown_stays_so(names: dict[str, Any]) -> None:
    readers = [read for each in resized_pictures.READERS.values() for _, read in each]
    assert [read(names, None) for read in readers] == [None] * len(readers)


def test_frames_of_the_program_are_not_looked_into() -> None:
    def resize(self: Image.Image, size: tuple[int, int]) -> None:
        pass

    assert seen_in(lambda: resize(picture(), (64, 32))) == []


def test_looks_at_many_sizes_all_count_and_few_kinds_are_kept() -> None:
    seen = SeenPictures()
    for side in range(100, 100 + 4 * MOST_HELD):
        seen.add((side, side, 224, 224), 1)
    seen.add((4000, 3000, 224, 224), 5)
    sizes = seen.sizes()
    assert len(sizes) == MOST_SIZES
    assert sum(each.count for each in sizes) == 4 * MOST_HELD + 5
    assert PictureSize(4000, 3000, 224, 224, 5) in sizes
    assert all(100 <= each.decoded_width < 100 + 4 * MOST_HELD for each in sizes if each.count != 5)


def test_the_rarest_is_merged_into_what_is_most_like_it() -> None:
    seen = SeenPictures()
    for place in range(MOST_SIZES):
        seen.add((1000 * (place + 1), 1000, 224, 224), 3)
    seen.add((1004, 1000, 224, 224), 1)
    assert PictureSize(1001, 1000, 224, 224, 4) in seen.sizes()


def test_sizes_of_workers_are_added_up(tmp_path: Path) -> None:
    one = SeenStacks()
    one.pictures.add((640, 480, 64, 48), 2)
    one.agent_samples = 3
    write_stacks(tmp_path / "one", one)
    both = SeenStacks()
    for _ in range(2):
        both.merge(read_stacks(tmp_path / "one"))
    assert both.counts().picture_sizes == [PictureSize(640, 480, 64, 48, 4)]
    assert both.counts().agent_samples == 6
