"""What is counted of a window's rows as it comes, and what is left of it to wait for its write.

The rows themselves are in its body. Decoded they take fifty kilobytes: of a thousand windows that wait they would be
out of every cache by the time they were looked at again, and freed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from underfed_server.ingest.posted import PostedWindow
from underfed_server.ingest.wire import Steps, Window
from underfed_server.store.columns.gather import row_counts
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.columns.sample_ends import SampleEnds, sample_ends


class CountedSteps(Struct, frozen=True, gc=False):
    lane: str
    rows: int
    next_index: int
    """Of the step after the last."""
    step_us: int
    data_wait_us: int
    gpu_idle_us: int
    """Of the steps that the device was timed in."""


class CountedWindow(Struct, frozen=True, gc=False):
    posted: PostedWindow
    """Without its rows."""
    steps: Sequence[CountedSteps]
    rows: Mapping[str, int]
    """Of every lane."""
    loaders: frozenset[str]
    """Whose steps, batches or epochs it has."""
    samples: SampleEnds
    """Of what it sampled."""

    @property
    def window(self) -> Window:
        return self.posted.window

    @property
    def step_count(self) -> int:
        return sum(each.rows for each in self.steps)


def counted(posted: PostedWindow) -> CountedWindow:
    window = posted.window
    return CountedWindow(
        replace(posted, window=_without_rows(window)),
        [_counted(steps) for steps in window.steps if steps.step_us],
        row_counts(window),
        frozenset(each.loader for parts in (window.steps, window.epochs, window.batches) for each in parts),
        sample_ends(window),
    )


def _without_rows(window: Window) -> Window:
    return replace(window, steps=[], batches=[], worker_samples=[], process=None, host=None, gpus=[])


def _counted(steps: Steps) -> CountedSteps:
    rows = len(steps.step_us)
    step_us = sum(filter(None, steps.step_us))
    if steps.step_us[-1] is None:
        # Of a step before a pause the end was not seen: it lasted as long as its wait. Only the last may be open.
        step_us += steps.data_wait_us[-1]
    return CountedSteps(
        steps_lane(steps.loader),
        rows,
        steps.first_step_index + rows,
        step_us,
        sum(steps.data_wait_us),
        sum(filter(None, steps.gpu_idle_us or ())),
    )
