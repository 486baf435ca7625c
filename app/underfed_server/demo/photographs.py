"""A few hundred JPEG photographs with classes, cut once from six that the package ships.

Each is a seeded crop of one of the six, enlarged to 800×600 or more: real photographic content at the size a
camera or the web delivers, so that decoding costs what it costs in a real job.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from PIL import Image

CLASSES = ("astronaut.png", "cat.png", "coffee.png", "hubble.jpg", "retina.jpg", "rocket.jpg")
PER_CLASS = 50
SMALLEST = (800, 600)
LARGEST = (1120, 840)
QUALITY = 90
VERSION = 1
"""Part of the directory's name: another way of cutting them writes another set, and never mixes with an older one."""


@dataclass(frozen=True, slots=True)
class Photograph:
    path: Path
    label: int


def photograph_files(data_dir: Path) -> list[Photograph]:
    """The set under ``data_dir``, written first when it is not there yet (about 60 MB, ten seconds).

    An interrupted write leaves nothing that looks complete: the directory appears under its name when it is whole.
    """
    target = data_dir / f"photographs-{VERSION}"
    if not (target / "classes.json").is_file():
        _write_set(target)
    return [
        Photograph(path, label)
        for label, name in enumerate(json.loads((target / "classes.json").read_text()))
        for path in sorted((target / name).glob("*.jpg"))
    ]


def _write_set(target: Path) -> None:
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    for name in CLASSES:
        folder = unfinished / Path(name).stem
        folder.mkdir(parents=True)
        for number, crop in enumerate(_crops(name)):
            crop.save(folder / f"{number:03}.jpg", quality=QUALITY)
    (unfinished / "classes.json").write_text(json.dumps([Path(name).stem for name in CLASSES]))
    unfinished.rename(target)


def _crops(name: str) -> Iterator[Image.Image]:
    generator = random.Random(name)
    with files("underfed_server.demo").joinpath("photographs", name).open("rb") as stream:
        photograph = Image.open(stream).convert("RGB")
    for _ in range(PER_CLASS):
        share = generator.uniform(0.5, 1.0)
        width, height = round(photograph.width * share), round(photograph.height * share)
        left, top = generator.randint(0, photograph.width - width), generator.randint(0, photograph.height - height)
        scale = generator.random()
        size = tuple(round(a + (b - a) * scale) for a, b in zip(SMALLEST, LARGEST, strict=True))
        box = (left, top, left + width, top + height)
        yield photograph.resize((size[0], size[1]), Image.Resampling.BICUBIC, box=box)
