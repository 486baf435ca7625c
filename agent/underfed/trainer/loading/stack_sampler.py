"""In a worker: a thread that looks what the loading thread executes, in short bursts, and which samples are slow.

The thread takes the interpreter lock for some microseconds, reads where each frame is, and sleeps again. While a burst
lasts the lock is asked for after a tenth of a millisecond, not five: else a look that falls on Python code would wait
until that code calls a library which gives the lock back, and count for the library. No signal is used, no system call
is interrupted, and nothing of the program is called. It is not among ``threading.enumerate()``.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from underfed.exchange.guard import Guard
from underfed.exchange.stacks import Frame, SeenStacks, Stage, write_stacks
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import passing
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.frame_names import FrameNames, is_beginning
from underfed.trainer.loading.slow_samples import SlowSamples, sample_of

LOOK_NS = 10_000_000
"""Between two looks of a burst, on average."""

IDLE_LOOK_S = 0.1
"""Between bursts it is only looked which sample is being loaded."""

BURST_NS = 1_000_000_000
EARLY_NS, EARLY_PERIOD_NS, PERIOD_NS = 20_000_000_000, 4_000_000_000, 20_000_000_000
"""A burst every 4 s in the loader's first 20 s, then every 20 s: a short run is seen, too."""

GOLDEN = 0.618034
"""The fractions of its multiples are spread evenly: workers do not all look at once, and looks fall into no step with
what they look at. No random number is drawn."""

SWITCH_S = 0.0001

MOST_FRAMES = 64
"""Of a stack; of a deeper one, half of them at either end."""

CLOSING_S = 1.0
"""Waited for a look to end."""

OURS = str(Path(__file__).with_name("worker.py"))
"""The file whose function calls torch's loop."""

Raw = tuple[Stage, tuple[int, ...]]
"""By turns a code's identity and a place in it, the innermost first."""


def is_burst(age_ns: int, worker: int) -> bool:
    """``age_ns``: since the loader's first iterator."""
    period = EARLY_PERIOD_NS if age_ns < EARLY_NS else PERIOD_NS
    return (age_ns / period + worker * GOLDEN) % 1 < BURST_NS / period


@dataclass(slots=True, eq=False)
class StackSampler:
    """Created, started and closed by the thread that loads; everything else runs on its own."""

    timer: BatchTimer
    path: Path
    """For the collector, which removes it once it is read."""
    guard: Guard
    worker: int
    since_ns: int
    """When the loader's first iterator was constructed."""
    seen: SeenStacks = field(default_factory=SeenStacks)
    _raw: dict[Raw, int] = field(default_factory=dict)
    _codes: dict[int, CodeType] = field(default_factory=dict)
    """Those in ``_raw``, by their identity."""
    _names: FrameNames = field(default_factory=FrameNames)
    _fetchers: str = ""
    """The file with torch's fetchers."""
    _loading: int = field(default_factory=_thread.get_ident)
    _phase: float = 0.0
    _lock: _thread.LockType = field(default_factory=_thread.allocate_lock)
    _is_over: bool = False
    _before_s: float | None = None
    """The switch interval before this burst; ``None``: there is none."""

    def start(self) -> None:
        """Once the first batch is on its way: by then torch's own thread that sends batches is there, too."""
        try:
            from torch.utils.data._utils import fetch

            self._fetchers = str(fetch.__file__)
            # A child that is forked in a burst has no such thread, which would end it.
            os.register_at_fork(after_in_child=self._calm)
            _thread.start_new_thread(self._run, ())
        except Exception as error:
            self.guard.failed("stacks", error)

    def close(self) -> None:
        """The worker has loaded its last batch."""
        try:
            if self._lock.acquire(timeout=CLOSING_S):
                self._is_over = True
                self._calm()
                self._keep()
        except Exception as error:
            self.guard.failed("stacks", error)

    def _run(self) -> None:
        try:
            slow = SlowSamples(self.seen)
            while self._look_once(slow):
                pass
        except Exception as error:
            self._calm()
            self.guard.count("stacks", error)

    def _look_once(self, slow: SlowSamples) -> bool:
        due_ns = self._sleep()
        with self._lock:
            if self._is_over:
                return False
            self._look(slow, due_ns)
            if self._before_s is None:
                if self._raw:
                    self._keep()
                self._codes.clear()
            return True

    def _sleep(self) -> int:
        """Until the next look. Returns when that was due."""
        if is_burst(now_ns() - self.since_ns, self.worker):
            self._hurry()
            self._phase = (self._phase + GOLDEN) % 1
            pause_s = LOOK_NS / 1e9 * (0.5 + self._phase)
        else:
            self._calm()
            pause_s = IDLE_LOOK_S
        due_ns = now_ns() + round(pause_s * 1e9)
        time.sleep(pause_s)
        return due_ns

    def _look(self, slow: SlowSamples, due_ns: int) -> None:
        timer, looked_ns = self.timer, now_ns()
        if not timer.is_loading:
            slow.look(None, None, looked_ns, looked_ns)
            return
        # The lock may have been taken for as long as this look waited, by what it sees.
        due_ns = min(looked_ns, max(due_ns, timer.started_ns))
        is_collating = timer.collate.is_collating
        fetcher, stack = self._read(sys._current_frames().get(self._loading))
        sample = None if fetcher is None or is_collating else sample_of(fetcher)
        stage: Stage = "collate" if is_collating else "other" if fetcher is None else "getitem"
        del fetcher
        if sample is None:
            slow.look(None, None, due_ns, looked_ns)
        else:
            slow.look((timer.pass_index, timer.batch_index, sample[0]), sample[1], due_ns, looked_ns)
        if self._before_s is not None:
            key = stage, stack
            self._raw[key] = self._raw.get(key, 0) + 1 + (looked_ns - due_ns) // LOOK_NS

    def _read(self, frame: FrameType | None) -> tuple[FrameType | None, tuple[int, ...]]:
        """The innermost frame of torch's fetcher, if there is one, and the stack within; else that within torch's loop.

        Of several fetchers the outermost counts: a data set may iterate a loader itself.
        """
        stack: list[int] = []
        fetcher, within = None, 0
        while frame is not None:
            code = frame.f_code
            if code.co_filename == self._fetchers:
                if fetcher is None or len(stack) > within:
                    fetcher, within = frame, len(stack)
            elif code.co_filename == OURS:
                break
            else:
                self._codes[id(code)] = code
                stack += (id(code), frame.f_lasti)
            frame = frame.f_back
        return fetcher, tuple(stack if fetcher is None else stack[:within])

    def _keep(self) -> None:
        """Name what was seen, and write it; where the collector has not read the last yet, with the next."""
        raw, self._raw = self._raw, {}
        codes, self._codes = self._codes, {}
        for (stage, stack), looks in raw.items():
            places = [(codes[place], at) for place, at in zip(stack[::2], stack[1::2], strict=True)]
            self.seen.add(stage, named(places, self._names), looks)
        if self.seen and not self.path.exists():
            with passing(OSError):  # memory is full: later, if there is room again
                write_stacks(self.path, self.seen)
                self.seen.samples.clear()
                self.seen.slow.clear()

    def _hurry(self) -> None:
        if self._before_s is None:
            self._before_s = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_S)

    def _calm(self) -> None:
        """Not where the program has set the interval meanwhile."""
        before_s, self._before_s = self._before_s, None
        if before_s is not None and abs(sys.getswitchinterval() - SWITCH_S) < SWITCH_S / 10:
            sys.setswitchinterval(before_s)


def named(places: list[tuple[CodeType, int]], names: FrameNames) -> tuple[Frame, ...]:
    """The outermost first, and last what the innermost calls. ``places``: the innermost first."""
    has_begun = not (places and is_beginning(*places[0]))
    if not has_begun:
        places = places[1:]
    frames = [names.frame(*place) for place in reversed(places)]
    called = names.called(*places[0]) if places and has_begun else None
    if called is not None:
        frames.append(called)
    if len(frames) > MOST_FRAMES:
        frames = [*frames[: MOST_FRAMES // 2], *frames[-MOST_FRAMES // 2 :]]
    return tuple(frames)
