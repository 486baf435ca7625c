"""Lines that advice prints are Python, before and after, and run with the samples that they are offered for."""

from __future__ import annotations

import copy
import json
import math
import re
import textwrap
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from underfed_server.advice.catalogue import all_changes, cheaper_transform
from underfed_server.advice.known_costs import KNOWN_COSTS

OF_A_SHELL = {"shm_size", "tmpfs", "cpu_allocation", "fix_rank"}
"""Changes that are no lines of Python."""


def sketches() -> Iterator[tuple[str, str]]:
    """Of each file of the catalogue its texts that are lines of a diff, and the known ways of cheaper loading."""
    for name in all_changes():
        module = import_module(f"underfed_server.advice.catalogue.{name}")
        texts = {key: text for key, text in vars(module).items() if key.isupper() and isinstance(text, str)}
        for key, text in texts.items():
            if name not in OF_A_SHELL and "\n" in f"{text}\n" and re.match(r"[ +-]", text):
                yield f"{name}.{key}", text.replace("{shards}", "8")
    yield "cheaper_transform.ANY", cheaper_transform.ANY.write
    yield "cheaper_transform.ANY_RANDOM", cheaper_transform.ANY_RANDOM.write
    yield from ((cost.name, cost.write) for cost in KNOWN_COSTS)


SKETCHES = dict(sketches())


def side(sketch: str, sign: str) -> str:
    """The code before (``-``) or after (``+``). What a sketch leaves to the program does nothing."""
    lines = [line[1:] for line in sketch.splitlines() if line[:1] in (" ", sign, "")]
    code = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if code and code[-1].partition("  #")[0].rstrip().endswith(":"):
        lines.append(" " * (4 + len(code[-1]) - len(code[-1].lstrip())) + "pass")
    return textwrap.dedent("\n".join(lines))


def after(sketch: str, **known: Any) -> dict[str, Any]:
    """What running it leaves. ``known``: what the program has there."""
    given = {"torch": torch, "np": np, "math": math, "copy": copy, "zipfile": zipfile, "Image": Image}
    place: dict[str, Any] = given | {"Dataset": Dataset, "Sampler": Sampler, "IterableDataset": IterableDataset} | known
    exec(compile(side(sketch, "+"), "<sketch>", "exec"), place)
    return place


def returned(sketch: str, **known: Any) -> Any:
    """Of lines that are the end of a function."""
    code = "def sketch():\n" + textwrap.indent(side(sketch, "+"), "    ")
    place: dict[str, Any] = {"torch": torch, "np": np} | known
    exec(compile(code, "<sketch>", "exec"), place)
    return place["sketch"]()


@pytest.mark.parametrize("name", SKETCHES)
@pytest.mark.parametrize("sign", ["-", "+"])
def test_a_sketch_is_python_before_and_after(name: str, sign: str) -> None:
    code = side(SKETCHES[name], sign)
    compile("def sketch():\n" + textwrap.indent(f"{code}\npass", "    "), name, "exec")


def test_every_change_that_is_written_in_python_was_found() -> None:
    assert {"fewer_tensors.FUNCTION", "vectorize_collate.FUNCTION", "vectorize_getitem.DIFF", "faster_sampler.DIFF",
            "shard_iterable.DIFF", "smaller_dtype.DIFF", "cheaper_transform.WRITE_SLOW"} <= SKETCHES.keys()  # fmt: skip


# --- joining -------------------------------------------------------------------------------------

Make = Callable[[Any], Any]

Pair = namedtuple("Pair", "image label")
KINDS: dict[str, Callable[[int], Any]] = {
    "tensors": lambda index: torch.full((3, 2), float(index)),
    "arrays": lambda index: np.full((3, 2), index, dtype=np.float32),
    "integers": lambda index: index,
    "numbers": lambda index: index / 2,
    "numbers_of_numpy": np.float32,
    "tuples": lambda index: (torch.full((3, 2), float(index)), index),
    "tuples_of_arrays": lambda index: (np.full((3, 2), index, dtype=np.uint8), np.int64(index), f"{index}.jpg"),
    "tuples_of_one_kind": lambda index: (np.full(3, index), np.full(2, index)),
    "named_tuples": lambda index: Pair(np.full(3, index), index),
    "dicts": lambda index: {"image": torch.full((3, 2), float(index)), "label": index, "name": f"{index}.jpg"},
    "dicts_of_arrays": lambda index: {"image": np.full((3, 2), index), "boxes": (np.full(4, index), index)},
}


def parts(value: Any) -> list[Any]:
    """Tensors, arrays, numbers and texts, in order."""
    if isinstance(value, dict):
        return [each for one in value.values() for each in parts(one)]
    if isinstance(value, (tuple, list)):
        return [each for one in value for each in parts(one)]
    return [value]


@pytest.mark.parametrize("name", ["vectorize_collate.FUNCTION", "collating with one call"])
@pytest.mark.parametrize("kind", [*KINDS, "lists"])
def test_samples_of_every_kind_are_joined_as_torch_joins_them(name: str, kind: str) -> None:
    samples = [
        (KINDS | {"lists": lambda index: [torch.full((3, 2), float(index)), index]})[kind](index) for index in range(5)
    ]
    collate = after(SKETCHES[name], samples=samples)["collate"]
    found, usual = parts(collate(samples)), parts(torch.utils.data.default_collate(samples))
    assert len(found) == len(usual)
    for own, other in zip(found, usual, strict=True):
        if isinstance(other, str):
            assert own == other
        else:
            assert torch.equal(own, other.to(own.dtype))


@pytest.mark.parametrize("name", ["vectorize_collate.FUNCTION", "collating with one call"])
@pytest.mark.parametrize("make", [np.arange, torch.arange, lambda length: list(range(length))],
                         ids=["arrays", "tensors", "lists"])  # fmt: skip
def test_samples_of_several_lengths_are_padded(name: str, make: Make) -> None:
    collate = after(SKETCHES[name], samples=[np.zeros(1)])["collate"]
    samples = [(make(length), length) for length in (2, 4, 3)]
    padded, lengths = collate(samples)
    assert padded.tolist() == [[0, 1, 0, 0], [0, 1, 2, 3], [0, 1, 2, 0]] and lengths.tolist() == [2, 4, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_joined_into_few_tensors_is_split_again(kind: str) -> None:
    """In the worker joined, through its queue, and split in the loop."""
    place = after(SKETCHES["fewer_tensors.FUNCTION"])
    samples = [KINDS[kind](index) for index in range(5)]
    fields = [[parts(sample)[at] for sample in samples] for at in range(len(parts(samples[0])))]
    (batch,) = DataLoader(cast("Dataset[Any]", samples), batch_size=5, collate_fn=place["join"])
    for given, found in zip(fields, joined_fields(batch), strict=True):
        if isinstance(found[0], str):
            assert found == given
        else:
            pairs = zip(given, place["split"](*found), strict=True)
            assert all(torch.equal(torch.as_tensor(one), other) for one, other in pairs)


def joined_fields(batch: Any) -> list[Any]:
    if isinstance(batch, dict):
        return [each for one in batch.values() for each in joined_fields(one)]
    is_leaf = isinstance(batch, tuple) or isinstance(batch[0], str)
    return [batch] if is_leaf else [each for one in batch for each in joined_fields(one)]


def test_samples_of_several_shapes_are_joined_into_one_tensor() -> None:
    place = after(SKETCHES["fewer_tensors.FUNCTION"])
    samples = [torch.rand(2, 3), torch.rand(4, 1), torch.rand(5)]
    assert all(torch.equal(*pair) for pair in zip(samples, place["split"](*place["join"](samples)), strict=True))


# --- fetching and choosing -----------------------------------------------------------------------


MAKERS = pytest.mark.parametrize("make", [torch.as_tensor, np.asarray], ids=["tensors", "arrays"])


def made_of(sketched: type, **given: Any) -> Any:
    """One of what a sketch declares, with what the program has beside it; it has six samples."""
    known: dict[str, Any] = given if issubclass(sketched, IterableDataset) else given | {"__len__": lambda _self: 6}
    return type("Sketched", (sketched,), known)()


def settings_of(_dataset: object, **settings: Any) -> dict[str, Any]:
    """In place of the program's ``DataLoader``."""
    return settings


@MAKERS
def test_a_batch_is_fetched_with_one_call(make: Make) -> None:
    place = after(SKETCHES["vectorize_getitem.DIFF"], dataset=None, DataLoader=settings_of)
    rows = made_of(
        place["YourDataset"], features=make([[index, index + 1] for index in range(6)]), labels=make(list(range(6)))
    )
    (features, labels), *_ = DataLoader(rows, batch_size=2, **place["loader"])
    assert isinstance(features, torch.Tensor)
    assert (features.tolist(), labels.tolist()) == ([[0, 1], [1, 2]], [0, 1])


@MAKERS
def test_all_indices_are_chosen_at_once(make: Make) -> None:
    sampler = after(SKETCHES["faster_sampler.DIFF"])["YourSampler"]
    chosen = list(made_of(sampler, weights=make([0.0, 1.0, 0.0, 3.0])))
    assert len(chosen) == 6 and set(chosen) <= {1, 3} and all(isinstance(each, int) for each in chosen)


def test_workers_of_an_iterable_data_set_share_its_files() -> None:
    files = made_of(
        after(SKETCHES["shard_iterable.DIFF"])["YourDataset"],
        files=(0, 10, 20, 30, 40), samples_of=lambda _self, file: [file, file + 1],
    )  # fmt: skip
    loader: DataLoader[int] = DataLoader(files, batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert sorted(loader) == [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]


def test_threads_are_limited_in_a_worker_that_has_none_of_the_named_libraries() -> None:
    now = torch.get_num_threads()
    try:
        after(SKETCHES["threads_per_worker.DIFF"])["limit_threads"](0)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(now)


# --- pictures and numbers ------------------------------------------------------------------------

MEAN, DEVIATION = (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.jpg"
    Image.effect_mandelbrot((1_600, 1_200), (-2, -1, 1, 1), 20).convert("RGB").save(path)
    return path


def test_a_jpeg_is_decoded_at_the_smallest_scale_that_is_not_below(picture: Path) -> None:
    place = after(SKETCHES["reduced decoding"], path=picture, needed_width=300, needed_height=200)
    assert place["image"].size == (400, 300)


def test_any_other_picture_is_decoded_as_before(picture: Path, tmp_path: Path) -> None:
    Image.open(picture).save(tmp_path / "picture.png")
    place = after(SKETCHES["reduced decoding"], path=tmp_path / "picture.png", needed_width=300, needed_height=200)
    assert place["image"].size == (1_600, 1_200)


def test_copies_are_saved_once_at_the_size_that_is_used(picture: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    known = {"paths": [picture], "path": picture, "copies": copies, "width": 64, "height": 48}
    with after(SKETCHES["resized copies"], **known)["image"] as image:
        assert image.size == (64, 48)
    with Image.open(copies / picture.name) as copied, Image.open(picture) as whole:
        expected = np.asarray(whole.resize((64, 48), Image.Resampling.BICUBIC), dtype=float)
        assert np.abs(np.asarray(copied) - expected).mean() < 8, "as JPEG"


def test_a_picture_is_decoded_straight_into_a_tensor(picture: Path) -> None:
    io = SimpleNamespace(decode_image=lambda path, mode: (path, mode))
    place = after(SKETCHES["another decoder"], torchvision=SimpleNamespace(io=io), path=picture)
    assert place["image"] == (picture, "RGB")


@pytest.mark.parametrize("kind", [tuple, list, np.array, torch.tensor], ids=lambda kind: kind.__name__)
def test_arithmetic_in_place_gives_the_same_and_changes_nothing_else(picture: Path, kind: Callable[..., Any]) -> None:
    whole = Image.open(picture).resize((8, 6))
    pixels = np.asarray(whole)
    expected = (pixels / 255.0 - np.array(MEAN)) / np.array(DEVIATION)
    images, names = (whole, pixels, pixels.astype(np.float32)), ("arrays in place", "arrays in float32")
    for image, name in product(images, names):
        before = np.array(image)
        place = after(SKETCHES[name], image=image, mean=kind(MEAN), deviation=kind(DEVIATION))
        assert place["image"].dtype == np.float32
        assert np.allclose(place["image"], expected, atol=1e-5)
        assert np.array_equal(np.array(image), before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_random_numbers_come_as_float32(dtype: type) -> None:
    stored: Any = np.zeros((3, 4), dtype=dtype)
    drawing = SimpleNamespace(generator=np.random.default_rng(0))
    wave = after(SKETCHES["a generator of random numbers"], wave=stored, self=drawing)["wave"]
    assert wave.shape == (3, 4) and wave.any() and not stored.any()


@pytest.mark.parametrize(
    "values", [np.arange(3.0), [np.arange(2), np.arange(2)], [1, 2, 3], [0.5, 1.5], torch.arange(3)],
    ids=["an_array", "arrays", "whole_numbers", "numbers", "a_tensor"],
)  # fmt: skip
def test_a_tensor_is_made_of_an_array_that_is_made_once(values: Any) -> None:
    rows = after(" class Rows:\n" + SKETCHES["one array to one tensor"])["Rows"]([values])
    assert torch.equal(rows[0], torch.as_tensor(np.asarray(values)))
    assert rows[0].data_ptr() == rows[0].data_ptr(), "no copy"


CHANGED = {"augmenting batches": 4, "augmenting in collate_fn": 4, "cheaper_transform.ANY_RANDOM": 2}
"""Sketches that change whole batches, and how many axes a tensor has at least that is changed."""


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("kind", [*KINDS, "lists", "pictures"])
def test_a_whole_batch_is_changed_and_stays_made_up_as_it_is(name: str, kind: str) -> None:
    """Whatever the data set returns: one tensor, a pair, a dict."""
    made = KINDS | {
        "lists": lambda index: [torch.full((3, 2), float(index)), index],
        "pictures": lambda index: {"image": torch.full((3, 2, 2), float(index)), "label": (index, f"{index}.jpg")},
    }
    samples = [made[kind](index) for index in range(5)]
    usual = torch.utils.data.default_collate(samples)
    known = {"augment": lambda batch: batch + 1, "the_call": lambda batch: batch + 1, "loader": [usual]}
    place = after(SKETCHES[name], dataset=None, DataLoader=settings_of, **known)
    changed = place["loader"]["collate_fn"](samples) if name != "augmenting batches" else place["batch"]
    assert type(changed) is type(usual)
    assert len(parts(changed)) == len(parts(usual))
    for own, other in zip(parts(changed), parts(usual), strict=True):
        is_changed = isinstance(other, torch.Tensor) and other.ndim >= CHANGED[name]
        assert own == other if isinstance(other, str) else torch.equal(own, other + is_changed)


@pytest.mark.parametrize("name", ["bytes to the device", "smaller_dtype.DIFF"])
def test_bytes_become_numbers_on_the_device(name: str) -> None:
    images = torch.randint(256, (2, 3, 4, 4), dtype=torch.uint8)
    mean, deviation = torch.tensor(0.5), torch.tensor(0.25)
    functional = SimpleNamespace(to_image=lambda image: image)
    known = {
        "torchvision": SimpleNamespace(transforms=SimpleNamespace(v2=SimpleNamespace(functional=functional))),
        "image": images[0], "loader": [(images, 0)], "device": "cpu", "mean": mean, "deviation": deviation,
        "normalize": lambda numbers: (numbers - mean) / deviation,
    }  # fmt: skip
    assert torch.allclose(after(SKETCHES[name], **known)["images"], (images / 255 - mean) / deviation, atol=1e-5)


def test_operations_are_done_for_a_batch_at_once() -> None:
    known = {"samples": torch.tensor([[1.0, 4.0], [2.0, 0.1]]), "scales": torch.tensor([[0.5], [0.2]])}
    expected = torch.tensor([[0.5, 1.0], [0.4, 0.02]])
    assert torch.allclose(after(SKETCHES["fewer tensor operations"], **known)["samples"], expected)


# --- samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [torch.ones, np.ones], ids=["tensors", "arrays"])
def test_only_what_is_changed_is_copied(make: Make) -> None:
    kept = {"boxes": make((2, 4)), "image": make((8, 8))}
    sample = after(SKETCHES["no deep copies"], self=SimpleNamespace(samples=[kept]), index=0)["sample"]
    sample["boxes"] += 1
    sample["name"] = "another"
    assert kept["boxes"].sum() == 8 and "name" not in kept
    assert sample["image"] is kept["image"]


def test_an_archive_is_opened_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for index in range(3):
            archive.writestr(str(index), json.dumps(index))
    sketch = " class Data:\n" + SKETCHES["archive opened once"]
    data = after(sketch, decode=json.loads)["Data"]()
    data.path, data.names = tmp_path / "all.zip", ["0", "1", "2"]
    assert [data[index] for index in range(3)] == [0, 1, 2]
    data.archive.close()


def test_texts_are_tokenised_by_the_batch() -> None:
    def tokenizer(texts: list[str], **_how: Any) -> list[int]:
        return [len(text) for text in texts]

    known = {"tokenizer": tokenizer, "samples": [{"text": "a"}, {"text": "bcd"}]}
    mapped = SimpleNamespace(map=lambda function, **_how: function({"text": ["ab"]}))
    assert returned(SKETCHES["tokens prepared"].replace("dataset = ", "prepared = "), dataset=mapped, **known) == [1, 3]


def test_rows_are_taken_from_arrays() -> None:
    columns = {"path": np.array(["a", "b"]), "label": np.array([3, 4])}
    table = {name: SimpleNamespace(to_numpy=lambda values=values: values) for name, values in columns.items()}
    sketch = " class Data:\n" + SKETCHES["columns as arrays"] + "\n+        return path, label"
    assert after(sketch)["Data"](table)[1] == ("b", 4)


def test_what_is_the_same_in_every_epoch_is_computed_once() -> None:
    data = after(SKETCHES["cheaper_transform.ANY"], the_call=lambda sample: 2 * sample)["YourDataset"]([1, 2])
    assert [data[0], data[1]] == [2, 4]


def test_slow_samples_may_be_left_out() -> None:
    sketch = SKETCHES["cheaper_transform.WRITE_SLOW"].replace("set()", "{1}")
    assert list(after(sketch, dataset=[10, 11, 12])["dataset"]) == [10, 12]


def test_what_was_parsed_once_is_looked_up() -> None:
    known = SimpleNamespace(words=[["a"]], labels=[7])
    assert after(SKETCHES["parsed once"], self=known, index=0)["label"] == 7
    assert after(SKETCHES["regular expressions"], self=known, index=0)["words"] == ["a"]
