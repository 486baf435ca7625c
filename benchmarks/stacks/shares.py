"""Whether reported intervals hold the truth: thirty-one kinds of loading, each of two parts that are also timed.

``python -m benchmarks.stacks.shares``, three minutes; with names of parts, those pairs alone. Every sample is timed by
the clock. The parts keep the interpreter lock or give it back, for microseconds or for milliseconds: what is reported
must not depend on that.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import pickle
import random
import re
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmarks.stacks.lines import Thread
from underfed.exchange.guard import Guard
from underfed.exchange.stacks import GROUPS
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.stack_sampler import StackSampler
from underfed_server.facts.share_of_looks import whole_of

SECONDS = 6.0

Part = Callable[[], object]

_random = random.Random(0)
_numbers = [_random.random() for _ in range(60_000)]
_words = " ".join(f"word{index} {index * 7}" for index in range(8_000))
_records = json.dumps([{"caption": f"a photograph of {index} birds", "index": index} for index in range(2_000)])
_nested: dict[str, Any] = {"boxes": [1.0, 2.0, 3.0, 4.0], "names": {"a": [1, 2], "b": (1.0, 2.0)}, "rest": [[1], [2]]}
_tensors: dict[str, Any] = {str(index): {**_nested, "mask": torch.zeros(8)} for index in range(20)}
_content = bytes(_random.randrange(32) for _ in range(100_000))
_picture = Image.effect_noise((512, 512), 50).convert("RGB")
_jpeg = io.BytesIO()
_picture.save(_jpeg, "jpeg")
_pixels = np.random.default_rng(0).random((300, 300, 3))
_vector = torch.zeros(10)
_here = Path(__file__)
_square = np.random.default_rng(0).random((200, 200))
_pickled = pickle.dumps([{"caption": f"a photograph of {index} birds", "index": index} for index in range(2_000)])


def loop() -> int:
    total = 0
    for number in range(40_000):
        total = (total * 31 + number) & 0xFFFF
    return total


def loop_less() -> int:
    total = 0
    for number in range(15_000):
        total = (total * 31 + number) & 0xFFFF
    return total


def find() -> object:
    return re.findall(r"(\w+)\s+(\d+)", _words)


def order() -> object:
    return sorted(_numbers[:20_000])


def parse() -> object:
    return json.loads(_records)


def copy_small() -> object:
    return copy.deepcopy(_nested)


def copy_many() -> object:
    return copy.deepcopy(_tensors)


def compress() -> object:
    return zlib.compress(_content, 1)


def resize() -> object:
    return _picture.resize((300, 300), Image.Resampling.BICUBIC)


def decode() -> object:
    return Image.open(io.BytesIO(_jpeg.getvalue())).convert("RGB")


def scale() -> object:
    return (_pixels * 0.5 - 0.1).astype(np.float32)


def from_list() -> object:
    return torch.tensor(_numbers)


def few_small() -> object:
    found = _vector
    for _ in range(8):
        found = found + 1
    return found


def many_small() -> object:
    found = _vector
    for _ in range(500):
        found = found + 1
    return found


def rest_briefly() -> None:
    time.sleep(0.00005)


def rest() -> None:
    time.sleep(0.003)


def shuffle() -> object:
    return len(random.Random(0).sample(_numbers, 3_000))


def unpickle() -> object:
    found = pickle.loads(_pickled)
    del found  # freeing it is found at the next call, which is to be in here
    return abs(1)


def split() -> object:
    found = _words.split()
    del found  # as above
    return abs(1)


def add_up() -> object:
    return sum(_numbers[:500])


def look_up() -> object:
    return _here.stat()


def look_up_many() -> None:
    for _ in range(100):
        _here.stat()


def checksum() -> object:
    return zlib.crc32(_content[:8_000])


def digest() -> object:
    return hashlib.sha256(_content).digest()


def stack_small() -> object:
    return torch.stack([_vector] * 4)


def multiply() -> object:
    return _square @ _square


def read() -> object:
    return Path(__file__).read_bytes()


PAIRS: tuple[tuple[Part, Part], ...] = (
    (loop, resize), (loop, many_small), (loop, rest), (loop, find), (find, from_list), (find, many_small),
    (order, compress), (order, rest), (parse, decode), (parse, scale), (copy_small, few_small),
    (copy_small, rest_briefly), (copy_many, from_list), (copy_many, many_small), (compress, from_list),
    (decode, scale), (read, copy_small), (from_list, resize),
)  # fmt: skip


OTHER_PAIRS: tuple[tuple[Part, Part], ...] = (
    (shuffle, digest), (unpickle, look_up_many), (split, look_up), (add_up, checksum), (add_up, stack_small),
    (shuffle, rest_briefly), (split, rest), (unpickle, decode), (copy_small, look_up), (copy_many, digest),
    (shuffle, multiply), (loop, look_up), (loop_less, rest_briefly),
)  # fmt: skip
"""The margin was not chosen by these."""


class ReportedShares:
    """Looks of one loading, by part: share, margin and truth."""

    def __init__(self, parts: tuple[Part, Part]) -> None:
        took = [0, 0]
        with TemporaryDirectory() as directory:
            path = Path(directory) / "stacks"
            path.touch()  # what is seen is kept here
            thread = Thread(path)
            sampler = StackSampler(thread, Bursts(thread.since_ns, is_always=True), Guard())
            sampler.start()
            until = time.perf_counter() + SECONDS
            while time.perf_counter() < until:
                for place, part in enumerate(parts):
                    began_ns = time.perf_counter_ns()
                    part()
                    took[place] += time.perf_counter_ns() - began_ns
            sampler.close()
        samples = thread.code.seen.samples
        whole = whole_of([np.array(looks) for looks in samples.values()])
        self.seen = whole.seen
        self.truth = [each / sum(took) for each in took]
        self.share, self.margin = [], []
        for part in parts:
            found = [
                looks for (_, frames), looks in samples.items() if part.__name__ in {one.function for one in frames}
            ]
            looks = np.array(found, dtype=np.int64).reshape(-1, GROUPS).sum(axis=0)
            self.share.append(whole.share(looks))
            self.margin.append(whole.margin(looks) or 0.0)

    def holds(self) -> list[bool]:
        return [
            abs(share - truth) <= margin
            for share, margin, truth in zip(self.share, self.margin, self.truth, strict=True)
        ]


def main() -> None:
    torch.set_num_threads(1)
    for pairs in (PAIRS, OTHER_PAIRS):
        report([parts for parts in pairs if is_wanted(parts)])


def is_wanted(parts: tuple[Part, Part]) -> bool:
    return not sys.argv[1:] or any(part.__name__ in sys.argv[1:] for part in parts)


def report(pairs: Sequence[tuple[Part, Part]]) -> None:
    held: list[bool] = []
    for parts in pairs:
        reported = ReportedShares(parts)
        held += reported.holds()
        each = ", ".join(
            f"{part.__name__} {share:.0%} ± {100 * margin:.0f} of {truth:.0%}"
            for part, share, margin, truth in zip(parts, reported.share, reported.margin, reported.truth, strict=True)
        )
        print(
            f"{each}; {reported.seen} looks{'' if all(reported.holds()) else '; NOT HELD'}",
            flush=True,
        )
    print(f"{sum(held)} of {len(held)} intervals hold the truth")


if __name__ == "__main__":
    main()
