"""The iterator that the program holds, and which of several loads for it: one until it has handed out all that it was
asked for, then the next.

At a switch the sampler's iterator goes to the next one, which loads ahead at once, while the batches that the one
before was asked for are handed out first. So each index is asked for once, and batches keep their order. What changes
is which random numbers a data set uses: each worker has its own.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from underfed.trainer.attached import attach, attached, detach
from underfed.trainer.hooks.session import KEY
from underfed.trainer.tuning.feeders import EMPTY, Feeder, Feeders, close
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.own_errors import AskedSampler, OwnErrors, plain
from underfed.trainer.tuning.unseen_workers import without_torchs_handler

TUNED = "_underfed_tuned"
"""Name of ``Switched`` among an iterator's attributes. The class of all iterators has ``None`` there."""

HELD = "_underfed_held"
"""Of ``Switched.held``, also in the iterators that load for the program's."""


class _State(NamedTuple):
    """Replaced as a whole: what a signal handler raises between two changes leaves the one or the other."""

    active: Feeder
    successor: Feeder | None = None
    is_primed: bool = False


@dataclass(slots=True, eq=False)
class Switched:
    """Of one iterator of the program, which is passed to each method: held here it would never be freed at once."""

    feeders: Feeders
    own: Feeder
    errors: OwnErrors | None = None
    """Where the script has no workers."""
    pass_batches: int | None = None
    """``None``: not known."""
    state: _State = field(init=False)
    parked: dict[LoaderSetting, Feeder] = field(default_factory=dict)
    held: list[tuple[Any]] = field(default_factory=list)
    """A batch that was loaded and not handed out yet, at most one: a signal handler may raise in between. The next
    request gets it."""

    def __post_init__(self) -> None:
        self.state = _State(self.own)

    @property
    def setting(self) -> LoaderSetting:
        """The one that is in use, or will be as soon as the batches before it are handed out."""
        return (self.state.successor or self.state.active).setting

    @property
    def is_switching(self) -> bool:
        return self.state.successor is not None

    def begin(self, iterator: Any, setting: LoaderSetting) -> None:
        """Have this setting load what the sampler gives next. Not while another switch goes on.

        Raises:
            Exception: whatever torch raises where workers cannot be started. Nothing has changed then.
        """
        feeder = self.parked.pop(setting, None)
        if feeder is not None and not feeder.is_usable(iterator):
            close(feeder)
            feeder = None
        if feeder is None:
            with without_torchs_handler() if self.errors is not None else nullcontext():
                feeder = self.feeders.construct(setting, iterator)
            attach(feeder.iterator, HELD, self.held)
        else:
            self.feeders.reuse(feeder, iterator)
        after, sampler = feeder.of(iterator), self.state.active.of(iterator)._sampler_iter
        if self.errors is None:
            after._sampler_iter = plain(sampler)
        else:
            feeder.asked_before = self._asked(iterator)
            is_awaited = self.state.active.has_given_all(iterator)
            after._sampler_iter = self.errors.asked(
                setting, sampler, feeder.asked_before, self.pass_batches, is_awaited=is_awaited
            )
            self.errors.watch(after)
        self.state = _State(self.state.active, feeder)

    def _asked(self, iterator: Any) -> int:
        """How often the sampler was asked."""
        active = self.state.active
        before = active.of(iterator)
        sampler = before._sampler_iter
        return sampler.asked if isinstance(sampler, AskedSampler) else active.asked_before + int(before._num_yielded)

    def carry_on(self, iterator: Any) -> Feeder | None:
        """Before each request while a switch goes on: what of it is still to be done. Returns the one that handed out
        until now, where the next one does from now on.

        Raises:
            Exception: what the sampler raises, which the next one is the first to ask.
        """
        active, successor, is_primed = self.state
        if successor is None:
            return None
        before, after = active.of(iterator), successor.of(iterator)
        # The next one asks the sampler below for the first time: nobody else does from here on.
        before._sampler_iter = EMPTY
        if not is_primed:
            for _ in range(
                successor.setting.capacity - (after._tasks_outstanding if successor.setting.capacity else 0)
            ):
                after._try_put_index()
            self.state = _State(active, successor, is_primed=True)
        if not active.has_given_all(iterator):
            return None
        self.parked[active.setting] = active
        self.state = _State(successor)
        return active

    def was_reset(self, iterator: Any) -> bool:
        """Whether torch has begun another pass with the program's iterator itself, which then loads again."""
        active, successor, _ = self.state
        return active is not self.own and successor is not self.own and iterator._sampler_iter is not EMPTY

    def give_up(self, iterator: Any) -> None:
        """The program's iterator loads for itself again, as torch has reset it."""
        others = [self.state.active, *self.parked.values()]
        self.state, self.parked = _State(self.own), {}
        self.held.clear()
        for feeder in others:
            close(feeder)
        if self.own.session is not None:
            attach(iterator, KEY, self.own.session)

    def drop(self, iterator: Any, kept: Collection[LoaderSetting]) -> None:
        """End the workers of all others that load nothing now. Not those of the program's own iterator while another
        setting is compared, nor persistent ones, which torch may use again."""
        for setting, feeder in list(self.parked.items()):
            if setting in kept:
                continue
            if feeder is not self.own:
                del self.parked[setting]
                close(feeder)
            elif len(kept) == 1 and setting.num_workers and not setting.persistent_workers:
                del self.parked[setting]
                iterator._shutdown_workers()


def switched_of(iterator: Any) -> Switched | None:
    found: Switched | None = attached(iterator, TUNED)
    return found


def forget(iterator: Any) -> None:
    detach(iterator, TUNED)
    detach(iterator, HELD)
