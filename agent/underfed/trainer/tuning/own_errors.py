"""Where the script has no workers and ours load: what a data set raises in a worker is raised by the training process,
as the script would have it.

Torch sends a worker's exception as text, and raises one of the same type where that can be made from one text. So the
batch that failed is loaded again where the script would have loaded it: its own exception comes out, at the same place.
Where it loads there, it is handed out, and workers are not for this data set.
"""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from underfed.trainer.tuning.loader_setting import LoaderSetting


class Asked:
    """A sampler's iterator, and what it gave for each task that is not done yet."""

    def __init__(self, sampler: Iterator[Any]) -> None:
        self.sampler = sampler
        self.indices: dict[int, Any] = {}
        self._count = 0

    def __iter__(self) -> Asked:
        return self

    def __next__(self) -> Any:
        index = next(self.sampler)
        self.indices[self._count] = index
        self._count += 1
        return index


class AskedSampler:
    """In a loader's sampler's place while torch constructs an iterator of it."""

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def __iter__(self) -> Asked:
        return Asked(iter(self._sampler))

    def __len__(self) -> int:
        return len(self._sampler)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_sampler"], name)


def plain(sampler: Any) -> Any:
    """The sampler's own iterator."""
    return sampler.sampler if isinstance(sampler, Asked) else sampler


class OwnErrors:
    """``loads_here``: called with the reason where the training process loads a batch that a worker could not."""

    def __init__(self, loads_here: Callable[[str], None]) -> None:
        self._loads_here = loads_here

    def asked(self, setting: LoaderSetting, sampler: Any) -> Any:
        """The sampler's iterator for one that loads under this setting."""
        # In any order it is not known which task failed.
        return Asked(plain(sampler)) if setting.num_workers and setting.in_order else plain(sampler)

    def watch(self, iterator: Any) -> None:
        """It has workers of ours, and its sampler's iterator is an ``Asked``."""
        if isinstance(iterator._sampler_iter, Asked):
            iterator._next_data = _NextData(iterator, iterator._sampler_iter, self._loads_here)
        else:
            vars(iterator).pop("_next_data", None)


class _NextData:
    """Stands for one iterator's method of torch's, and does not keep it alive."""

    def __init__(self, iterator: Any, asked: Asked, loads_here: Callable[[str], None]) -> None:
        self._iterator = weakref.ref(iterator)
        self._asked = asked
        self._loads_here = loads_here

    def __call__(self) -> Any:
        iterator: Any = self._iterator()
        indices = self._asked.indices
        try:
            batch = type(iterator)._next_data(iterator)
        except Exception as error:
            if isinstance(error, StopIteration) or not _is_of_worker(error.__traceback__):
                raise
            reason = f"a worker could not load a batch that the training process could: {error}"
            # Torch's frame that raised it holds it, and by that the iterator and its workers.
            traceback.clear_frames(error.__traceback__)
        else:
            indices.pop(iterator._rcvd_idx - 1, None)
            return batch
        # Outside of the block, so that what is raised has no other exception for its context.
        batch = _loaded_here(iterator, indices.pop(iterator._rcvd_idx - 1))
        self._loads_here(reason[:400])
        return batch


def _is_of_worker(place: TracebackType | None) -> bool:
    """Whether torch raised what a worker had sent, and not a signal handler meanwhile."""
    from torch._utils import ExceptionWrapper

    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_code is ExceptionWrapper.reraise.__code__


def _loaded_here(iterator: Any, index: Any) -> Any:
    """As torch loads without workers.

    Raises:
        Exception: what the data set raises.
    """
    from torch.utils.data import _utils, dataloader

    kind: Any = dataloader._DatasetKind
    pinning: Any = _utils.pin_memory
    fetcher = kind.create_fetcher(
        iterator._dataset_kind,
        iterator._dataset,
        iterator._auto_collation,
        iterator._collate_fn,
        iterator._drop_last,
    )
    batch = fetcher.fetch(index)
    return pinning.pin_memory(batch) if iterator._pin_memory else batch
