"""Whether an iterable data set is sharded among workers, as its code shows: if not, each worker loads all of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from underfed.trainer.settings.dataset_shards import has_stage, hugging_face_shards, is_of, of_package, stages_of
from underfed.trainer.settings.loader_parts import attributes_of
from underfed.trainer.settings.worker_share import ASKS, divides_by_worker

FOREIGN = frozenset({"torch", "numpy", "builtins", *sys.stdlib_module_names})
"""Packages whose code is not searched: it does not know this data set."""

VISITED = 400
"""Most objects that are searched: a data set that reaches more is not analysed."""

LISTED = 16
"""Entries of a list that are looked at."""

MOST_READ = 16
"""Functions whose source is read, each in about a millisecond."""


WRAPPED = 4
"""Depth to which data sets that a data set holds are looked at."""

DIVIDED = (
    ("litdata", "StreamingDataset"), ("litdata", "CombinedStreamingDataset"), ("litdata", "ParallelStreamingDataset"),
    ("streaming", "StreamingDataset"),
)  # fmt: skip
"""Packages and classes whose workers each read a part of their own: of litdata and of mosaicml-streaming."""

Sharding = tuple["bool | None", "str | None"]
"""Whether it is sharded, and why not or why that is not known."""


def sharding_with(loader: Any, workers: int) -> Sharding:
    """Whether so many workers of this loader share its iterable data set out, as far as code shows, and why not or why
    that is not known."""
    dataset = loader.dataset
    if is_datapipe(dataset) and has_sharding_filter(dataset):
        return True, None
    if is_datapipe(dataset) and loader.worker_init_fn is None:
        return False, "its datapipe has no sharding_filter: each worker would load it all"
    inside = inside_accelerates(dataset)
    if is_hugging_faces(inside) and (shards := hugging_face_shards(inside)) is not None and workers > shards:
        return False, f"{type(inside).__name__} has {shards} shards, which {workers} workers cannot share"
    sharding = shards_itself(loader)
    if sharding[0] is None and loader.worker_init_fn is None and never_counts(dataset):
        return False, f"{type(inside).__name__} asks {ASKS}(), and never how many workers there are"
    return sharding


def shards_itself(loader: Any) -> Sharding:
    """Whether its iterable data set gives each worker its own part, as far as that is sure, and why not or why that is
    not known.

    Runs none of the user's code, so a datapipe's graph is not followed.
    """
    if is_datapipe(loader.dataset):
        return None, "a datapipe is divided as its graph says, which is known when it runs"
    dataset = inside_accelerates(loader.dataset)
    if loader.worker_init_fn is not None and not is_divided(dataset):
        return None, "a worker_init_fn may divide it"
    return sharding_of(dataset)


def never_counts(dataset: Any) -> bool:
    """Whether it divides by nothing: none of its functions names the number of workers."""
    search = FunctionSearch(dataset)
    names = {name for function in search.functions() for name in names_in(function.__code__)}
    return not search.is_broken_off and not is_datapipe(dataset) and "num_workers" not in names


def sharding_of(dataset: Any) -> Sharding:
    kind = type(dataset).__name__
    if is_divided(dataset):
        return True, None
    if is_of(dataset, "webdataset", "DataPipeline") and (unsplit := why_unsplit(dataset)) is not None:
        return False, unsplit
    search = FunctionSearch(dataset)
    if any(asks(function) for function in search.functions()):
        return None, f"{kind} asks {ASKS}(), and whether it divides its data by that is not known"
    if search.is_broken_off:
        return None, f"{kind} reaches more than {VISITED} objects, which are not searched for {ASKS}()"
    return False, f"{kind} does not ask {ASKS}(), so each worker would load all of it"


def is_divided(dataset: Any, depth: int = WRAPPED) -> bool:
    """Whether it is sure that each worker gets its own part: by a package that is known to, by the data set's own code,
    or by each of the data sets that it holds."""
    if is_known_to_divide(dataset):
        return True
    if is_of(dataset, "webdataset", "DataPipeline"):
        return has_stage(dataset, "split_by_worker") or any(map(draws_shards, stages_of(dataset)[:1]))
    if any(map(divides_by_worker, asking(FunctionSearch(type(dataset)).functions()))):
        return True
    held = held_datasets(dataset) if depth else []
    return bool(held) and all(is_divided(each, depth - 1) for each in held)


def is_known_to_divide(dataset: Any) -> bool:
    return any(is_of(dataset, package, name) for package, name in DIVIDED) or is_hugging_faces(dataset)


def asking(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Those that ask which worker they are in, or name one that does; few, since the source of each is read."""
    found = list(functions)
    askers = {function.__name__ for function in found if asks(function)}
    return [each for each in found if asks(each) or not askers.isdisjoint(names_in(each.__code__))][:MOST_READ]


def why_unsplit(pipeline: Any) -> str | None:
    """``None``: not sure, since one of its stages may split it."""
    stages = stages_of(pipeline)
    own = [stage for stage in stages if of_package(stage) != "webdataset"]
    if not any(is_of(stage, "webdataset", "SimpleShardList") for stage in stages[:1]) or any(
        asks(each) for each in FunctionSearch(own).functions()
    ):
        return None
    return f"{type(pipeline).__name__} has no split_by_worker, so each worker would load all of its shards"


def draws_shards(stage: Any) -> bool:
    """Whether it is one of webdataset's that draws shards, in each worker others."""
    return is_of(stage, "webdataset", "ResampledShards")


def held_datasets(dataset: Any) -> list[Any]:
    from torch.utils.data import IterableDataset

    values = list(attributes_of(dataset).values())
    values += [each for value in values if isinstance(value, (list, tuple)) for each in value[:LISTED]]
    # ``isinstance`` would ask a stand-in for the class of what is inside it.
    return [value for value in values if issubclass(type(value), IterableDataset)]


def inside_accelerates(dataset: Any) -> Any:
    """Accelerate puts a data set of its own around the program's, for ranks alone."""
    inside = attributes_of(dataset).get("dataset") if is_of(dataset, "accelerate", "IterableDatasetShard") else None
    return dataset if inside is None else inside


def is_hugging_faces(dataset: Any) -> bool:
    return is_of(dataset, "datasets", "IterableDataset")


def is_datapipe(dataset: Any) -> bool:
    from torch.utils.data import IterDataPipe

    return isinstance(dataset, IterDataPipe)


def has_sharding_filter(dataset: Any) -> bool:
    """As torch itself looks for one when a worker starts."""
    from torch.utils.data.graph import traverse_dps
    from torch.utils.data.graph_settings import get_all_graph_pipes

    return any(hasattr(pipe, "apply_sharding") for pipe in get_all_graph_pipes(traverse_dps(dataset)))


class FunctionSearch:
    """Functions of a class, of what a data set holds, and those that these name."""

    def __init__(self, *roots: Any) -> None:
        self._waiting: list[Any] = list(roots)
        self._seen: dict[int, Any] = {}
        self.is_broken_off = False
        """There was more than is searched."""

    def functions(self) -> Iterator[FunctionType]:
        while self._waiting:
            if len(self._seen) == VISITED:
                self.is_broken_off = True
                return
            thing = self._waiting.pop(0)
            if id(thing) in self._seen:
                continue
            self._seen[id(thing)] = thing
            if isinstance(thing, FunctionType):
                yield thing
                self._waiting += named_by(thing)
            elif isinstance(thing, type):
                self._waiting += [
                    part for kind in thing.__mro__ if not is_foreign(kind) for part in vars(kind).values()
                ]
            else:
                self._waiting += held_by(thing)


def asks(function: FunctionType) -> bool:
    return any(name.endswith(ASKS) for name in names_in(function.__code__))


def named_by(function: FunctionType) -> list[Any]:
    """Functions and classes that it can reach by a name of its module, or by one of a module that it names."""
    names, reachable = names_in(function.__code__), function.__globals__
    found = [reachable[name] for name in names if name in reachable]
    modules = [
        thing for thing in found if isinstance(thing, ModuleType) and thing.__name__.partition(".")[0] not in FOREIGN
    ]
    found += [vars(module)[name] for module in modules for name in names if name in vars(module)]
    return [thing for thing in found if isinstance(thing, (FunctionType, type)) and not is_foreign(thing)]


def names_in(code: CodeType) -> list[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return [*code.co_names, *(name for each in inner for name in names_in(each))]


def held_by(thing: Any) -> list[Any]:
    """What a descriptor, a partial, a container or an object is made of. Runs no code of the user's."""
    if isinstance(thing, (staticmethod, classmethod, MethodType)):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget]
    if isinstance(thing, (partial, cached_property)):
        return [thing.func]
    if isinstance(thing, (list, tuple)):
        return list(thing[:LISTED])
    if is_foreign(type(thing)) and not hasattr(thing, "__dict__"):
        return []
    attributes = getattr(thing, "__dict__", {})
    return [type(thing), *(attributes.values() if isinstance(attributes, dict) else ())]


def is_foreign(thing: Any) -> bool:
    return getattr(thing, "__module__", "builtins").partition(".")[0] in FOREIGN
