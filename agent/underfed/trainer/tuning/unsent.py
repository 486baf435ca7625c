"""Whether a worker can send a batch: what cannot be pickled (an inner function, a lock, an open file) stays in the
process that loaded it.

Tensors and arrays are left out, and so is all else that ``multiprocessing`` has a way of its own for: its pickler would
move the program's tensors into shared memory.
"""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

from underfed.host.signal_handlers import let_through
from underfed.trainer.batch import tensor_type

MOST_BYTES = 1 << 20
"""Are pickled of what is no tensor and no array: some milliseconds. What lies behind is not looked at."""


SENT_AS_DATA = "; it could have workers if its batches held data alone, and what belongs to a process were made from it"
"""The usual cure."""

WITH_GRADIENT = (
    "its batches cannot be sent by a worker: a tensor in them has a gradient history (requires_grad); it could have "
    "workers if its data set or collate_fn called detach() on it"
)


class _EnoughError(Exception):
    """So much of it could be pickled."""


class _GradientError(Exception):
    """Torch refuses to send a tensor that was computed from others that need a gradient."""


class _Counted:
    """In a file's place."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def write(self, part: bytes) -> None:
        self._left -= len(part)
        if self._left < 0:
            raise _EnoughError


class _Pickler(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, tensor_type()) and thing.requires_grad and not thing.is_leaf:
            raise _GradientError
        return (int, ()) if _has_own_way(thing) else NotImplemented


def _has_own_way(thing: Any) -> bool:
    kind = type(thing)
    if isinstance(thing, tensor_type()) or kind in getattr(ForkingPickler, "_extra_reducers", ()):
        return True
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray" and not thing.dtype.hasobject


def why_unsent(batch: Any) -> str | None:
    """``None``: nothing was found that speaks against it. Runs code of the program where a batch holds objects of its
    classes."""
    try:
        _Pickler(_Counted()).dump(batch)
    except _EnoughError:
        return None
    except _GradientError:
        return WITH_GRADIENT
    except Exception as error:
        let_through(error)
        return f"its batches cannot be sent by a worker: {type(error).__name__}: {error}"[:300] + SENT_AS_DATA
    return None
