"""Turns the requests of one loader into steps and epochs: a step ends when the next batch is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from underfed.collector.wire import LONGEST_US, STEPS, Epoch, Steps
from underfed.record import NOT_MEASURED

IsPause = Callable[[int, int], bool]
"""Whether something else than this step's own work happened between two instants (run clock, µs)."""

LEFT_EPOCHS = 8
"""Two iterators of one loader may take turns, so an epoch that seemed left behind can go on."""


@dataclass(frozen=True, slots=True)
class Request:
    """A batch that was asked for and given. Instants are of the run clock."""

    step_index: int
    batch_index: int
    entered_us: int
    left_us: int
    depth: int


@dataclass(slots=True)
class Stretch:
    """Steps of one epoch that follow each other without a pause, in one window."""

    epoch_index: int
    requests: list[Request] = field(default_factory=list)
    step_us: list[int | None] = field(default_factory=list)

    def wire(self, loader: str) -> Steps:
        first = self.requests[0]
        batch_index = [request.batch_index for request in self.requests]
        depths = [request.depth for request in self.requests]
        is_consecutive = batch_index == list(range(first.batch_index, first.batch_index + len(batch_index)))
        return Steps(
            loader=loader,
            epoch_index=self.epoch_index,
            first_step_index=first.step_index,
            first_batch_index=first.batch_index,
            start_us=first.entered_us,
            step_us=self.step_us,
            data_wait_us=[min(LONGEST_US, request.left_us - request.entered_us) for request in self.requests],
            queue_depth=depths if min(depths) >= 0 else None,
            batch_index=None if is_consecutive else batch_index,
        )


@dataclass(slots=True)
class OpenEpoch:
    """An epoch that goes on, as far as is known."""

    epoch_index: int
    start_us: int
    iterator_us: int | None
    first_step_index: int
    startup_us: int | None = None
    steps: int = 0
    pending: Request | None = None
    """Given, and its step not ended yet."""
    last_us: int = 0
    """When something was last seen of it."""


class LoaderSteps:
    """Steps and epochs of one loader; ``take_…`` hands out what became known since it was last called."""

    def __init__(self, loader: str, is_pause: IsPause, next_step: int = 0) -> None:
        self.loader = loader
        self.dropped_steps = 0
        self.next_step = next_step
        self.open: dict[int, OpenEpoch] = {}
        self._left: dict[int, OpenEpoch] = {}
        self._is_pause = is_pause
        self._stretches: list[Stretch] = []
        self._growing: dict[int, Stretch] = {}
        self._news: dict[int, Epoch] = {}

    def begin_epoch(self, epoch: OpenEpoch) -> None:
        """What else this loader had going on seems to be left behind."""
        for other in list(self.open.values()):
            self._leave(other)
        self.open[epoch.epoch_index] = epoch
        self._tell(epoch)

    def step(self, epoch_index: int, request: Request) -> None:
        epoch = self._find(epoch_index)
        missing = max(0, request.step_index - self.next_step)
        self.next_step = request.step_index + 1
        if missing:
            self.dropped_steps += missing
            self._break(epoch)
        self._end_step(epoch, request.entered_us)
        is_first = epoch.steps == 0
        epoch.steps += 1 + missing
        epoch.pending = request
        epoch.last_us = request.left_us
        if is_first and not missing:
            epoch.startup_us = request.left_us - epoch.start_us
            self._tell(epoch)

    def end_epoch(self, epoch_index: int, entered_us: int, left_us: int, ended: str) -> None:
        """A request that gave no batch: it ends the step before it, and the epoch. A second one says nothing new."""
        epoch = self.open.pop(epoch_index, None) or self._left.pop(epoch_index, None)
        if epoch is None:
            return
        self._end_step(epoch, entered_us)
        self._break(epoch)
        self._tell(epoch, left_us, ended)
        if ended == "error":
            self._keep(epoch)  # a program may catch it and go on

    def finish(self) -> None:
        """The process is gone: nothing that is open will go on."""
        for epoch in list(self.open.values()):
            self._leave(epoch)

    def take_steps(self) -> list[Steps]:
        """Complete steps, oldest first, at most ``wire.STEPS`` in one object."""
        stretches, self._stretches = self._stretches, []
        self._growing.clear()
        return [stretch.wire(self.loader) for stretch in stretches]

    def take_epochs(self) -> list[Epoch]:
        """Those that began, gave their first batch, or ended."""
        news, self._news = self._news, {}
        return list(news.values())

    def _find(self, epoch_index: int) -> OpenEpoch:
        """An epoch whose beginning was overwritten in the ring has steps, and is never told of itself."""
        if epoch_index in self._left:
            self.open[epoch_index] = self._left.pop(epoch_index)
        if epoch_index not in self.open:
            self.open[epoch_index] = OpenEpoch(epoch_index, NOT_MEASURED, None, NOT_MEASURED)
        return self.open[epoch_index]

    def _end_step(self, epoch: OpenEpoch, ended_us: int) -> None:
        request = epoch.pending
        if request is None:
            return
        step_us = ended_us - request.entered_us
        if step_us > LONGEST_US or self._is_pause(request.left_us, ended_us):
            self._break(epoch)
            return
        self._add(epoch, request, step_us)
        epoch.pending = None

    def _break(self, epoch: OpenEpoch) -> None:
        """The pending step ends unseen, and what comes next does not join on."""
        if epoch.pending is not None:
            self._add(epoch, epoch.pending, None)
            epoch.pending = None
        self._growing.pop(epoch.epoch_index, None)

    def _add(self, epoch: OpenEpoch, request: Request, step_us: int | None) -> None:
        stretch = self._growing.get(epoch.epoch_index)
        if stretch is None or len(stretch.requests) >= STEPS:
            stretch = self._growing[epoch.epoch_index] = Stretch(epoch.epoch_index)
            self._stretches.append(stretch)
        stretch.requests.append(request)
        stretch.step_us.append(step_us)

    def _leave(self, epoch: OpenEpoch) -> None:
        """Nobody saw it end, so it ended when it was last seen."""
        del self.open[epoch.epoch_index]
        self._break(epoch)
        self._tell(epoch, epoch.last_us, "broken_off")
        self._keep(epoch)

    def _keep(self, epoch: OpenEpoch) -> None:
        self._left[epoch.epoch_index] = epoch
        if len(self._left) > LEFT_EPOCHS:
            del self._left[min(self._left)]

    def _tell(self, epoch: OpenEpoch, end_us: int | None = None, ended: str | None = None) -> None:
        if epoch.start_us == NOT_MEASURED:
            return
        self._news[epoch.epoch_index] = Epoch(
            loader=self.loader,
            epoch_index=epoch.epoch_index,
            start_us=epoch.start_us,
            iterator_us=epoch.iterator_us,
            startup_us=epoch.startup_us,
            first_step_index=epoch.first_step_index,
            steps=epoch.steps if ended is not None else None,
            end_us=end_us,
            ended=ended,
        )
