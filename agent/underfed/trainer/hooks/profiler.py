"""``underfed run --profile``: what the thread that trains executes, where it loads itself and between its batches.

Only with it does the training process get a thread of ours. Which loader a look counts for is seen in the stack:
torch's ``__next__`` is in it while a batch is asked for. Between batches it is the loader that gave the last one, until
that has no more.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from underfed.exchange.guard import Guard
from underfed.exchange.run_files import training_stacks_file
from underfed.host.clock import now_ns
from underfed.trainer.attached import attached
from underfed.trainer.hooks.session import KEY, Session
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.caught_stack import Caught
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.loading_thread import loaded_in, within_fetcher
from underfed.trainer.loading.own_frames import Places, is_ours, is_own_cost
from underfed.trainer.loading.resized_pictures import resized_at
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.slow_samples import SlowSamples
from underfed.trainer.loading.stack_sampler import StackSampler
from underfed.trainer.loading.thread_times import ThreadTimes

SAMPLES, BEGINS = "_next_index", ("__init__", "_reset")
"""Torch's methods of iterators that ask a sampler for indices, and that ask it for its iterator."""


@dataclass(slots=True, eq=False)
class _Seen:
    """Of one loader."""

    loader: WatchedLoader
    code: SeenCode
    slow: SlowSamples
    steps: int
    """That it had at the last look."""
    ended_at_steps: int = -1
    """That it had when a pass ended: what follows is none of its steps, until it has more."""


@dataclass(slots=True, eq=False)
class Profiler:
    """Of one recording. Looking begins with the first pass over a watched loader."""

    directory: Path
    guard: Guard
    is_always: bool
    _sampler: StackSampler | None = None
    _seen: dict[int, _Seen] = field(default_factory=dict)
    """By the loader's index."""
    _giving: int | None = None
    """The loader that gave the last batch."""
    ident: int = 0
    """The thread that asks for batches."""
    _names: FrameNames = field(default_factory=FrameNames)
    _iterators: str = ""
    _fetchers: str = ""
    """Torch's files."""

    def pass_begins(self, loader: WatchedLoader) -> None:
        try:
            self._pass_begins(loader)
        except Exception as error:
            self.guard.failed("profile", error)

    def _pass_begins(self, loader: WatchedLoader) -> None:
        self.ident = _thread.get_ident()
        if loader.index not in self._seen:
            code = SeenCode(training_stacks_file(self.directory, loader.index))
            slow = SlowSamples(code.seen, times=ThreadTimes(_thread.get_native_id()))
            self._seen[loader.index] = _Seen(loader, code, slow, loader.steps)
        self._seen[loader.index].steps = loader.steps
        if self._sampler is None:
            from torch.utils.data import dataloader
            from torch.utils.data._utils import fetch

            self._iterators, self._fetchers = str(dataloader.__file__), str(fetch.__file__)
            self._sampler = StackSampler(self, Bursts(now_ns(), self.is_always), self.guard)
            self._sampler.start()

    def pass_ended(self, loader: WatchedLoader) -> None:
        # One value, written by this thread alone: the one that looks may be anywhere within a look.
        if loader.index in self._seen:
            self._seen[loader.index].ended_at_steps = loader.steps

    def close(self) -> None:
        if self._sampler is not None:
            self._sampler.close()

    @property
    def state(self) -> Callable[[], Any]:
        """Nothing: all is in the frames."""
        return bool

    def look(self, due_ns: int, looked_ns: int, stack: Caught, _state: Any, bursts: Bursts) -> None:
        for seen in tuple(self._seen.values()):
            if seen.steps != seen.loader.steps:
                seen.steps, self._giving = seen.loader.steps, seen.loader.index
        due_ns = min(due_ns, looked_ns)
        loading = self._look_at(stack, due_ns, looked_ns, bursts)
        stack.clear()
        for seen in tuple(self._seen.values()):
            if seen is not loading:
                seen.slow.look(None, None, looked_ns, looked_ns)

    def keep(self) -> None:
        for seen in tuple(self._seen.values()):
            seen.code.keep(self._names)

    def _look_at(self, stack: Caught, due_ns: int, looked_ns: int, bursts: Bursts) -> _Seen | None:
        """Returns the loader that loads a sample."""
        if not stack:
            return None  # the thread has ended
        count, group, is_there = bursts.looks(due_ns, looked_ns), bursts.group(looked_ns), bursts.found_lock_free
        request, places, is_sampling = self._request(stack)
        if request is None:
            between = None if self._giving is None else self._seen.get(self._giving)
            is_step = between is not None and between.ended_at_steps != between.loader.steps
            if (
                between is not None
                and is_step
                and count
                and (is_own_cost(places) or not any(is_ours(code) for code, _ in places))
            ):
                # Within the prefetcher, which is ours, a program waits for its batch.
                between.code.add("step", places, count, group, is_there=is_there)
            return None
        session: Session | None = attached(request.f_locals["self"], KEY)
        del request
        seen = None if session is None else self._seen.get(session.loader.index)
        is_waiting = session is not None and session.probe is None and not is_sampling
        if seen is None or (is_waiting and not is_own_cost(places)):
            return None
        fetcher, within = within_fetcher(stack, self._fetchers, "")
        stage, sample = loaded_in(fetcher, stack)
        resized = resized_at(stack[0][0], fetcher) if count and fetcher is not None else None
        del fetcher
        # What follows may give the lock away: a function that ends meanwhile has its values freed by its own thread.
        stack.clear()
        if count:
            seen.code.add(stage, places if stage == "other" else within, count, group, resized, is_there=is_there)
        if sample is None:
            return None
        seen.slow.look((0, seen.loader.steps, sample[0]), sample[1], due_ns, looked_ns)
        return seen

    def _request(self, stack: Caught) -> tuple[FrameType | None, Places, bool]:
        """Torch's outermost method that asks for a batch or for indices, what is within it, and whether the sampler is;
        else the whole stack.

        The sampler is in this process with workers, too: they are given their first indices as a pass begins.
        """
        places: Places = []
        request, within, is_sampling = None, 0, False
        for frame, place in stack:
            code = place[0]
            if code.co_filename == self._iterators:
                is_asked = code.co_name == SAMPLES or (code.co_name in BEGINS and is_iterating(places))
                is_sampling = is_sampling or is_asked
                if is_asked or code.co_name == "__next__":
                    request, within = frame, len(places) + is_asked
            places.append(place)
        return request, places if request is None else places[:within], is_sampling


def is_iterating(places: Places) -> bool:
    """What was called last, as far as it has a frame, is some ``__iter__``."""
    return bool(places) and places[-1][0].co_name == "__iter__"
