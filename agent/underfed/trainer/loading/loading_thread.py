"""In a worker: what its loading thread executes, within torch's fetcher, and which sample it loads."""

from __future__ import annotations

import _thread
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from underfed.exchange.stacks import Stage
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.caught_stack import Caught
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.instructions import line_at
from underfed.trainer.loading.own_frames import Places
from underfed.trainer.loading.resized_pictures import resized_at
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.slow_samples import Sample, SlowSamples, sample_of
from underfed.trainer.loading.thread_times import ThreadTimes

ENTRY = str(Path(__file__).with_name("worker.py"))
"""The file whose function calls torch's loop."""

NOTHING = (False, 0, 0, 0)

_state = attrgetter("is_loading", "started_ns", "pass_index", "batch_index")
"""Of a :class:`BatchTimer`."""


@dataclass(slots=True, eq=False)
class LoadingThread:
    """The one that creates it."""

    timer: BatchTimer
    code: SeenCode
    worker: int
    _slow: SlowSamples | None = None
    _fetchers: str = ""
    """The file with torch's fetchers."""
    _names: FrameNames = field(default_factory=FrameNames)
    ident: int = field(default_factory=_thread.get_ident)
    _native_id: int = field(default_factory=_thread.get_native_id)

    @property
    def state(self) -> Callable[[], Any]:
        return partial(_state, self.timer)

    def look(self, due_ns: int, looked_ns: int, stack: Caught, state: Any, bursts: Bursts) -> None:
        slow = self._slow
        if slow is None:
            slow = self._begin()
        is_loading, started_ns, pass_index, batch_index = state or NOTHING
        if not is_loading:
            stack.clear()
            slow.look(None, None, looked_ns, looked_ns)
            return
        # The lock may have been taken for as long as this look waited, by what it sees.
        due_ns = min(looked_ns, max(due_ns, started_ns))
        fetcher, places = within_fetcher(stack, self._fetchers, ENTRY)
        stage, sample = loaded_in(fetcher, stack)
        count = bursts.looks(due_ns, looked_ns)
        resized = resized_at(stack[0][0], fetcher) if count and fetcher is not None else None
        del fetcher
        # What follows may give the lock away: a function that ends meanwhile has its values freed by its own thread.
        stack.clear()
        if sample is None:
            slow.look(None, None, due_ns, looked_ns)
        else:
            slow.look((pass_index, batch_index, sample[0]), sample[1], due_ns, looked_ns)
        if count:
            group, is_there = bursts.group(looked_ns), bursts.found_lock_free
            self.code.add(stage, places, count, group, resized, is_there=is_there)

    def keep(self) -> None:
        self.code.keep(self._names)

    def _begin(self) -> SlowSamples:
        """By then torch's fetchers are imported."""
        from torch.utils.data._utils import fetch

        self._fetchers = str(fetch.__file__)
        self._slow = SlowSamples(self.code.seen, self.worker, ThreadTimes(self._native_id))
        return self._slow


def loaded_in(fetcher: FrameType | None, stack: Caught) -> tuple[Stage, Sample | None]:
    """What torch's fetcher is at, and the sample that it loads; ``None``: none, or it is not known which."""
    if fetcher is None:
        return "other", None
    is_collating = any(frame is fetcher and _is_last_line(*place) for frame, place in stack)
    return ("collate", None) if is_collating else ("getitem", sample_of(fetcher))


def _is_last_line(code: CodeType, at: int) -> bool:
    """There torch's fetchers collate, in each release since 2.1."""
    return code.co_name == "fetch" and line_at(code, at) == max(line or 0 for *_, line in code.co_lines())


def within_fetcher(stack: Caught, fetchers: str, end: str) -> tuple[FrameType | None, Places]:
    """The innermost frame of torch's fetcher, if there is one, and what is within; else all up to the file ``end``.

    Of several fetchers the outermost counts: a data set may iterate a loader itself.
    """
    places: Places = []
    fetcher, within = None, 0
    for frame, place in stack:
        file = place[0].co_filename
        if file == fetchers:
            if fetcher is None or len(places) > within:
                fetcher, within = frame, len(places)
        elif file == end:
            break
        else:
            places.append(place)
    return fetcher, places if fetcher is None else places[:within]
