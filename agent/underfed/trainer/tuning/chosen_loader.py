"""Which loader is tuned: the first one that a program trains from, or the one that ``watch()`` names."""

from __future__ import annotations

import os
import warnings
import weakref
from typing import Any

from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.hooks.registry import kind_of
from underfed.trainer.settings.loader_parts import start_method
from underfed.trainer.settings.training_loaders import TrainingLoaders
from underfed.trainer.tuning.first_workers import handles_children

START_METHODS = {"fork": 0, "spawn": 2_000_000_000, "forkserver": 2_000_000_000}
"""What starting workers costs where none was started yet: one that is not forked imports torch, for about so long."""


class ChosenLoader:
    """Also one that the program or a framework constructs in its place, and how far it is through its passes."""

    def __init__(self) -> None:
        self._training = TrainingLoaders()
        self._loader: weakref.ref[Any] | None = None
        self._kind: str | None = None
        self._passes = 0
        self._requests = 0
        """In this pass."""
        self._pass_steps: int | None = None
        """Of the pass before: a program may leave its passes early."""
        self._length: int | None = None

    @property
    def is_chosen(self) -> bool:
        return self._loader is not None

    def get(self) -> Any:
        """``None``: there is none, or it is gone."""
        return self._loader() if self._loader is not None else None

    def choose(self, loader: Any) -> None:
        self._loader, self._kind = weakref.ref(loader), kind_of(loader)

    def is_about_to_begin(self, loader: Any) -> bool:
        """Whether it is this loader that begins a pass."""
        if self._loader is None:
            if not self._training.has(loader):
                return False
            self.choose(loader)
        return self.is_known(loader)

    def is_known(self, loader: Any) -> bool:
        if self._loader is None:
            return False
        known = self._loader()
        if loader is known:
            return True
        if kind_of(loader) != self._kind or (known is not None and known.dataset is not loader.dataset):
            return False
        self._loader = weakref.ref(loader)
        return True

    def pass_begun(self, length: int | None) -> None:
        """``length``: its batches; ``None``: not known."""
        self._passes += 1
        if self._requests:
            # The last request of a whole pass finds no more.
            self._pass_steps = min(self._requests, self._length or self._requests)
        self._requests, self._length = 0, length

    def requested(self) -> None:
        self._requests += 1

    @property
    def has_begun(self) -> bool:
        """A first batch of this pass was loaded just now: what a data set sets up with it is there."""
        return self._requests == 2

    @property
    def steps(self) -> int:
        """That are over in this pass, at a request."""
        return max(0, self._requests - 1)

    def pass_steps(self) -> int | None:
        """Of a pass; ``None``: that is not known yet."""
        return self._pass_steps or self._length

    def left_of_pass(self) -> int | None:
        """Steps of this pass; ``None``: the length of a pass is not known."""
        steps = self._pass_steps if self._length is None else min(self._length, self._pass_steps or self._length)
        return max(0, steps - self._requests) if steps is not None else None

    def left_steps(self) -> int | None:
        """Of this pass, and of as many more as there were before it, as long as the one before was: what is known of
        how long a program trains is how long it has. ``None``: the length of a pass is not known."""
        left, steps = self.left_of_pass(), self.pass_steps()
        return left + (self._passes - 1) * steps if left is not None and steps is not None else None


def start_ns(loader: Any) -> int:
    """What starting its workers costs, as far as their start method shows."""
    return START_METHODS.get(start_method(loader), 0)


def fork_ns(loader: Any) -> int:
    """Fork a process that ends at once, and return what that took: the more, the larger the training is, and the more
    processes want this host's cores. 0: workers are not forked, or the program would get a signal at its end."""
    if start_method(loader) != "fork" or handles_children():
        return 0
    began_ns, parent = now_ns(), os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which it does not need
            if child := os.fork():
                os.waitpid(child, 0)
    except OSError as error:
        let_through(error)
        return 0
    finally:
        # Whatever a signal handler raises in it: nothing of the program runs there.
        if os.getpid() != parent:
            os._exit(0)
    return now_ns() - began_ns
