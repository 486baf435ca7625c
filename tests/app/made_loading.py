"""What loading was seen to execute, written as ``Photos.__getitem__ data.py:41 > Image.resize PIL/Image.py:2440``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.fakes.looks import evenly
from underfed_server.facts.hotspots import hotspots_of
from underfed_server.facts.loading import LEAST_SAMPLES, LoaderHotspots
from underfed_server.model import PictureSize, SlowSample, Stage
from underfed_server.store.reading.stacks import Place

OWN = frozenset({"data.py", "train.py"})


def made_loading(
    samples: Mapping[str, int],
    *,
    slow_samples: list[SlowSample] | None = None,
    missing: str | None = None,
    picture_sizes: Sequence[PictureSize] = (),
) -> LoaderHotspots:
    """``samples``: how often each stack was seen; one of collating begins with ``collate:``. Files of the program:
    data.py and train.py.
    """
    seen = {_stack(text): np.array(evenly(count)) for text, count in samples.items()}
    few = sum(samples.values()) < LEAST_SAMPLES
    return LoaderHotspots(
        hotspots_of(seen, OWN), missing or ("few" if few else None), slow_samples or [], seen, OWN,
        picture_sizes=tuple(picture_sizes),
    )  # fmt: skip


def _stack(text: str) -> tuple[Stage, tuple[Place, ...]]:
    stage, colon, rest = text.partition("collate: ")
    places = tuple(_place(each) for each in (rest if colon else text).split(" > ") if each)
    return "collate" if colon and not stage else "getitem", places


def _place(text: str) -> Place:
    function, _, at = text.rpartition(" ")
    file, _, line = at.partition(":")
    return function, file, int(line) if line else None


def resized(decoded: tuple[int, int], used: tuple[int, int], count: int) -> PictureSize:
    (width, height), (used_width, used_height) = decoded, used
    return PictureSize(
        decoded_width=width, decoded_height=height, used_width=used_width, used_height=used_height, count=count
    )


def slow_sample(index: int | None, load_s: float, file: str | None = None, file_bytes: int | None = None) -> SlowSample:
    return SlowSample(index=index, file=file, file_bytes=file_bytes, load_us=round(load_s * 1e6), rank=0)
