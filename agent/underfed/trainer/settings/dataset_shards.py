"""How many shards an iterable data set is stored in, as its own attributes say: no file is listed, and no data read.

webdataset, litdata, mosaicml-streaming and Hugging Face's datasets each keep them in another place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from underfed.exchange.rank import joined_world
from underfed.trainer.settings.loader_parts import attributes_of, nested

Kind = tuple[str, str]
"""Package and class."""


def dataset_shards(dataset: Any) -> int | None:
    """Those that the workers of this rank share. ``None``: it has none, or nothing says so."""
    for each in nested(dataset):
        if (kind := _known_kind(each)) is not None:
            return COUNTS[kind](each)
        if isinstance(shards := attributes_of(each).get("shards"), (list, tuple)):
            return len(shards)
    return None


def takes_whole_shards(dataset: Any) -> bool | None:
    """Whether each worker reads shards of its own, so that more workers than shards idle. ``None``: not known."""
    kinds = (_known_kind(each) for each in nested(dataset))
    return next((kind in WHOLE for kind in kinds if kind is not None), None)


def _known_kind(dataset: Any) -> Kind | None:
    return next((kind for kind in COUNTS if is_of(dataset, *kind)), None)


def is_of(thing: Any, package: str, name: str) -> bool:
    """Whether its class is one of this name and package, or derived from it."""
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(thing).__mro__)


def hugging_face_shards(dataset: Any) -> int | None:
    """A property of theirs, which counts files or the arguments of a generator. Of a data set that is split by node,
    those of this rank."""
    shards = getattr(dataset, "num_shards", None) or getattr(dataset, "n_shards", None)
    return shards if isinstance(shards, int) else None


def stages_of(pipeline: Any) -> list[Any]:
    """The stages of a pipeline of webdataset's; one stands for its own stages."""
    stages = attributes_of(pipeline).get("pipeline")
    found: list[Any] = []
    for stage in stages if isinstance(stages, list) else []:
        inner = stages_of(stage) if is_of(stage, "webdataset", "DataPipeline") else []
        found += inner or [stage]
    return found


def has_stage(pipeline: Any, name: str) -> bool:
    """Whether this function of webdataset's is one of its stages."""
    return any((of_package(stage), _function(stage).__name__) == ("webdataset", name) for stage in stages_of(pipeline))


def of_package(stage: Any) -> str:
    """The package that defines a stage's function or class."""
    return str(_function(stage).__module__).partition(".")[0]


def _function(stage: Any) -> Any:
    """The function that a stage is or calls, else its class."""
    stage = stage.func if isinstance(stage, partial) else stage
    return stage if isinstance(stage, FunctionType) else type(stage)


def _webdataset_shards(pipeline: Any) -> int | None:
    """A list of shards at its beginning. One that draws its shards anew has none to share."""
    for stage in stages_of(pipeline)[:1]:
        urls = attributes_of(stage).get("urls")
        if is_of(stage, "webdataset", "SimpleShardList") and isinstance(urls, list):
            rank, ranks = place() if has_stage(pipeline, "split_by_node") else (0, 1)
            return len(range(rank, len(urls), ranks))
    return None


def place() -> tuple[int, int]:
    """Rank and number of ranks, where webdataset looks for them."""
    if {"RANK", "WORLD_SIZE"} <= os.environ.keys():
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return joined_world() or (0, 1)


def _litdata_chunks(dataset: Any) -> int | None:
    """A chunk that is taken more than once, to make an epoch longer, is one."""
    chunks = attributes_of(dataset).get("subsampled_files")
    return len(set(chunks)) if isinstance(chunks, list) and chunks else None


def _mosaicml_shards(dataset: Any) -> int | None:
    shards = attributes_of(dataset).get("shards")
    return len(shards) if isinstance(shards, list) else None


COUNTS: Mapping[Kind, Callable[[Any], int | None]] = {
    ("datasets", "IterableDataset"): hugging_face_shards,
    ("webdataset", "DataPipeline"): _webdataset_shards,
    ("litdata", "StreamingDataset"): _litdata_chunks,
    ("streaming", "StreamingDataset"): _mosaicml_shards,
}

WHOLE = frozenset({("datasets", "IterableDataset"), ("webdataset", "DataPipeline")})
"""Workers of the others share out samples."""
