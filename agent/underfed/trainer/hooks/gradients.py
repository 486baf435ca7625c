"""What a pass over a loader is for, as autograd shows it: a loop that trains builds a graph between its batches.

Whether gradients are enabled does not tell it alone: some frameworks evaluate with gradients enabled around the loop
and disabled within each step. A thread that only fetches batches builds none: another one trains with them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

from underfed.exchange.ring_format import NOT_MEASURED


class GraphWatch:
    """Of one pass. Autograd counts the nodes of graphs that a thread builds; here only the count is read."""

    __slots__ = ("_has_begun", "_nodes", "is_in_background", "was_built")

    def __init__(self) -> None:
        self.was_built: bool | None = None
        """``None``: not known yet, or not in this thread."""
        self.is_in_background = False
        """Another thread than the main one requests the batches, and built nothing so far."""
        self._has_begun = False
        self._nodes = NOT_MEASURED

    def begin(self) -> bool:
        """After a request: what its loading built does not count. Returns whether it is the first of the pass."""
        is_first, self._has_begun = not self._has_begun, True
        if not self.was_built:
            self._nodes = nodes_built()
        return is_first

    def has_changed(self) -> bool:
        """Before a request, or after the last one. Returns whether what is known is other than before."""
        if self.was_built or self._nodes == NOT_MEASURED:
            return False
        before = self.was_built, self.is_in_background
        built = nodes_built() != self._nodes
        self.is_in_background = not built and threading.current_thread() is not threading.main_thread()
        self.was_built = None if self.is_in_background else built
        return before != (self.was_built, self.is_in_background)


def grad_enabled() -> bool:
    import torch

    return torch.is_grad_enabled()


def nodes_built() -> int:
    """By the calling thread; ``NOT_MEASURED`` where this torch does not tell."""
    return _counter()()


@cache
def _counter() -> Callable[[], int]:
    import torch

    counter = getattr(getattr(torch._C, "_autograd", None), "_get_sequence_nr", None)
    return counter if counter is not None else lambda: NOT_MEASURED
