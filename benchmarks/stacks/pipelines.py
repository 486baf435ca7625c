"""Loading with known shares: what a sample costs is in named parts, each a function or, where it says so, a line.

Every pipeline has its parts twice: plain, which is sampled, and timed, which gives the truth. They compute and
wait for nothing, so their time on a CPU gives it, whoever else uses the machine. The plain one reads no clock between
its parts: a call there would be a place where a way may look.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time_ns
from types import CodeType

import numpy as np
import torch
from PIL import Image

Parts = tuple[Callable[[], object], ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    name: str
    plain: Callable[[], None]
    """Loads one sample."""
    timed: Callable[[], tuple[int, ...]]
    """The same; nanoseconds of each part."""
    places: tuple[tuple[CodeType, int | None], ...]
    """Where each part is: its code, and its line, counted from the code's first; ``None``: anywhere in it."""


def of_functions(name: str, parts: Parts) -> Pipeline:
    def plain() -> None:
        for part in parts:
            part()

    def timed() -> tuple[int, ...]:
        took = []
        for part in parts:
            began = thread_time_ns()
            part()
            took.append(thread_time_ns() - began)
        return tuple(took)

    return Pipeline(name, plain, timed, tuple((part.__code__, None) for part in parts))


def _jpeg(size: int) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (size // 8, size // 8, 3), dtype=np.uint8)
    content = io.BytesIO()
    Image.fromarray(noise).resize((size, size)).save(content, "jpeg")
    return content.getvalue()


def pillow() -> Pipeline:
    content = _jpeg(512)
    image = Image.open(io.BytesIO(content)).convert("RGB")

    def decode() -> None:
        Image.open(io.BytesIO(content)).convert("RGB")

    def resize() -> None:
        image.resize((384, 384), Image.Resampling.BICUBIC)

    def as_array() -> None:
        (np.asarray(image).astype(np.float32) / 255.0).transpose(2, 0, 1).copy()

    return of_functions("Pillow", (decode, resize, as_array))


def python() -> Pipeline:
    text = json.dumps([{"caption": f"a photograph of {index} birds", "index": index} for index in range(400)])
    words = re.compile(r"(\w+)\s+(\w+)")
    captions = [f"a photograph of {index} birds over the sea" for index in range(600)]

    def parse() -> None:
        json.loads(text)

    def tokenise() -> None:
        for caption in captions:
            words.findall(caption)

    def count() -> None:
        total = 0
        for number in range(12_000):
            total = (total * 31 + number) & 0xFFFF

    return of_functions("pure Python", (parse, tokenise, count))


def python_then_released() -> Pipeline:
    """Python that keeps the interpreter lock for a millisecond or two, before a call that gives it back."""
    image = Image.open(io.BytesIO(_jpeg(512))).convert("RGB")

    def count() -> None:
        total = 0
        for number in range(25_000):
            total = (total * 31 + number) & 0xFFFF

    def resize() -> None:
        image.resize((384, 384), Image.Resampling.BICUBIC)

    return of_functions("Python, then Pillow", (count, resize))


def torch_operations() -> Pipeline:
    torch.set_num_threads(1)
    image = torch.rand(3, 320, 320)

    def blur() -> None:
        torch.nn.functional.avg_pool2d(image, 5, stride=1)

    def colours() -> None:
        torch.clamp(image * 1.2 - 0.1, 0.0, 1.0)

    def small() -> None:
        for channel in range(200):
            image[channel % 3, 0].add(1.0)

    return of_functions("torch operations", (blur, colours, small))


def operators() -> Pipeline:
    """Lines of one function, without a call between them."""
    image = np.random.default_rng(0).random((512, 512, 3))

    def plain() -> None:
        darker = image * 0.7
        shifted = darker - 0.4
        squared = shifted**2
        small = squared.astype(np.float32)
        small.sum()

    def timed() -> tuple[int, ...]:
        began = thread_time_ns()
        darker = image * 0.7
        first = thread_time_ns()
        shifted = darker - 0.4
        second = thread_time_ns()
        squared = shifted**2
        third = thread_time_ns()
        small = squared.astype(np.float32)
        fourth = thread_time_ns()
        small.sum()
        fifth = thread_time_ns()
        return first - began, second - first, third - second, fourth - third, fifth - fourth

    places = tuple((plain.__code__, line) for line in range(1, 6))
    return Pipeline("operators of NumPy", plain, timed, places)


PIPELINES = (pillow, python, python_then_released, torch_operations, operators)
