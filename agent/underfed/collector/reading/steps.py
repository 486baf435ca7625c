"""Turns the requests of one loader into steps and epochs: a step ends when the next batch is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

from underfed.collector.wire import LONGEST_US, STEPS, Epoch, Steps
from underfed.exchange.ring_format import LATER_COLUMNS, NOT_MEASURED

IsPause = Callable[[int, int], bool]
"""Whether something else than this step's own work happened between two instants (run clock, µs)."""

PATIENCE = 3
"""Windows for which steps wait for their device times, which come seconds later at most."""

DEVICE_STEPS = 8192
"""Steps whose device times are remembered: more than two windows hold."""

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
    sampler_us: int = NOT_MEASURED
    """Sampler time within the request."""
    is_timed: bool = False
    """Its device times are still to come."""


DeviceTimes = dict[str, int | None]
"""Columns of one step in µs. ``None`` or absent: not measured in it."""


@dataclass(slots=True)
class Stretch:
    """Steps of one epoch that follow each other without a pause, in one window."""

    epoch_index: int
    requests: list[Request] = field(default_factory=list)
    step_us: list[int | None] = field(default_factory=list)
    patience: int = PATIENCE

    def split(self, at: int) -> Stretch:
        """Keep the steps before the index, and return the rest."""
        rest = Stretch(self.epoch_index, self.requests[at:], self.step_us[at:], self.patience - 1)
        del self.requests[at:], self.step_us[at:]
        return rest

    def wire(self, loader: str, device: Mapping[int, DeviceTimes]) -> Steps:
        first = self.requests[0]
        times = [device.get(request.step_index, {}) for request in self.requests]
        later = {name: [each.get(name) for each in times] for names in LATER_COLUMNS.values() for name in names}
        sampled = [request.sampler_us for request in self.requests]
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
            sampler_us=[min(LONGEST_US, each) for each in sampled] if min(sampled) >= 0 else None,
            **{name: column for name, column in later.items() if any(value is not None for value in column)},
        )


@dataclass(slots=True)
class OpenEpoch:
    """An epoch that goes on, as far as is known."""

    epoch_index: int
    start_us: int
    first_step_index: int
    iterator_us: int | None = None
    startup_us: int | None = None
    steps: int = 0
    pending: Request | None = None
    """The newest request, whose step has not ended yet."""
    last_us: int = 0
    """Instant of its last record."""
    sampler_us: int | None = None
    """Sampler time while the iterator was constructed or reset."""
    fetches_ahead: bool = False
    """Its consumer asks for the batch after the one that it hands out."""
    requests_a_step: int = 1
    """More where one rank asks for others, too."""
    grad_enabled: bool | None = None
    graph_built: bool | None = None
    """Between its batches, so far."""
    in_background: bool | None = None
    ending_us: int | None = None
    """The request that found no more batches; ``None``: there was none, or it handed one out."""
    program_epoch: int | None = None
    """Which of the program's own epochs it is of; ``None``: each so far was one."""
    ahead: Request | None = None
    """The request whose batch such a consumer has not handed out yet."""


REPORTED = {each.name for each in fields(OpenEpoch)} & {each.name for each in fields(Epoch)} - {"steps"}
"""As they are; the number of steps only once there are no more."""


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
        self._unsent: dict[int, Epoch] = {}
        self.continued = 0
        """Epochs so far that went on with the one before them."""
        self._device: dict[int, DeviceTimes] = {}
        self._numbers: dict[int, int] = {}
        """Device times come under the number of the request; the step may have another, see ``_hand_out``."""

    @property
    def held(self) -> int:
        """Complete steps that wait for the device."""
        return sum(len(stretch.requests) for stretch in self._stretches)

    def begin_epoch(self, epoch: OpenEpoch) -> None:
        """Other open epochs of this loader seem to be abandoned."""
        for other in list(self.open.values()):
            self._leave(other)
        self.open[epoch.epoch_index] = epoch
        if self.continued:
            epoch.program_epoch = epoch.epoch_index - self.continued
        self._report(epoch)

    def step(self, epoch_index: int, request: Request) -> None:
        epoch = self._find(epoch_index)
        missing = max(0, request.step_index - self.next_step)
        self.next_step = request.step_index + 1
        if missing:
            self.dropped_steps += missing
            self._break(epoch)
        self._end_step(epoch, request.entered_us)
        if not epoch.fetches_ahead:
            self._begin_step(epoch, request, missing)
        elif epoch.ahead is None:
            epoch.ahead = request
            epoch.last_us = request.left_us
        else:
            self._hand_out(epoch, request, missing)
            epoch.ahead = request

    def _begin_step(self, epoch: OpenEpoch, request: Request, missing: int = 0) -> None:
        self._end_step(epoch, request.entered_us)
        is_first = epoch.steps == 0
        epoch.steps += 1 + missing
        epoch.pending = request
        epoch.last_us = request.left_us
        if is_first and not missing:
            epoch.startup_us = request.left_us - epoch.start_us
            self._report(epoch)

    def _hand_out(self, epoch: OpenEpoch, request: Request, missing: int = 0) -> None:
        """The batch of the previous request is handed out after this one: the consumer waited for this request, and for
        the first batch for both."""
        ahead, is_first = epoch.ahead, epoch.steps == 0
        if ahead is None:
            return
        self._numbers[request.step_index] = ahead.step_index
        if len(self._numbers) > DEVICE_STEPS:
            del self._numbers[next(iter(self._numbers))]
        handed_out = replace(request, step_index=ahead.step_index, batch_index=ahead.batch_index)
        if is_first:
            sampler_us = request.sampler_us + ahead.sampler_us if request.sampler_us >= 0 else NOT_MEASURED
            handed_out = replace(handed_out, entered_us=ahead.entered_us, depth=ahead.depth, sampler_us=sampler_us)
        self._begin_step(epoch, handed_out, missing)

    def end_epoch(self, epoch_index: int, entered_us: int, left_us: int, ended: str) -> None:
        """A request that gave no batch: it ends the step before it, and the epoch. A second one changes nothing."""
        epoch = self.open.pop(epoch_index, None) or self._left.pop(epoch_index, None)
        if epoch is None:
            return
        if ended == "exhausted" and epoch.ahead is not None:
            # The consumer of such an epoch learns here that the batch it holds is the last, and hands it out.
            found_none = replace(epoch.ahead, entered_us=entered_us, left_us=left_us, sampler_us=0, is_timed=False)
            self._hand_out(epoch, replace(found_none, depth=min(0, epoch.ahead.depth)))
            epoch.ahead = None
            left_us = max(left_us, epoch.last_us)
        else:
            self._end_step(epoch, entered_us)
            epoch.ending_us = left_us - entered_us if ended == "exhausted" else None
        self._break(epoch)
        self._report(epoch, left_us, ended)
        if ended == "error":
            self._remember(epoch)  # a program may catch it and go on

    def graph(self, epoch_index: int, is_built: bool, in_background: bool) -> None:
        """Whether an autograd graph was built between the batches of this epoch. ``in_background``: not by the thread
        that requests them, which is not the main one."""
        epoch = self.open.get(epoch_index) or self._left.get(epoch_index)
        if epoch is not None:
            epoch.graph_built, epoch.in_background = None if in_background else is_built, in_background
        if epoch_index in self.open:
            self._report(self.open[epoch_index])

    def goes_on(self, epoch_index: int) -> None:
        """This epoch is a part of the program's epoch that the one before it is of."""
        epoch = self.open.get(epoch_index)
        if epoch is not None:
            self.continued += 1
            epoch.program_epoch = epoch.epoch_index - self.continued
            self._report(epoch)

    def later(self, step_index: int, times: DeviceTimes) -> None:
        """Columns of this step that became known after it, see ``ring_format.LATER_COLUMNS``."""
        self._device.setdefault(self._numbers.get(step_index, step_index), {}).update(times)
        if len(self._device) > DEVICE_STEPS:
            del self._device[next(iter(self._device))]

    def take_steps(self) -> list[Steps]:
        """Complete steps, oldest first, at most ``wire.STEPS`` in one object.

        Steps from the first that waits for its device times are held back, for a while.
        """
        taken, self._stretches = self._stretches, []
        self._growing.clear()
        for place, stretch in enumerate(taken):
            ready = self._ready(stretch)
            if ready < len(stretch.requests):
                self._stretches = [stretch.split(ready), *taken[place + 1 :]]
                taken = taken[: place + bool(ready)]
                break
        wired = [stretch.wire(self.loader, self._device) for stretch in taken]
        for stretch in taken:
            for request in stretch.requests:
                self._device.pop(request.step_index, None)
        return wired

    def _ready(self, stretch: Stretch) -> int:
        """How many of the first steps need not wait."""
        if stretch.patience <= 0:
            return len(stretch.requests)
        waiting = (
            place
            for place, request in enumerate(stretch.requests)
            if request.is_timed and request.step_index not in self._device
        )
        return next(waiting, len(stretch.requests))

    def finish(self) -> None:
        """The process is gone: no open epoch will go on, and no device times will come."""
        for epoch in list(self.open.values()):
            self._leave(epoch)
        for stretch in self._stretches:
            stretch.patience = 0

    def take_epochs(self) -> list[Epoch]:
        """Those that began, gave their first batch, or ended."""
        unsent, self._unsent = self._unsent, {}
        return list(unsent.values())

    def _find(self, epoch_index: int) -> OpenEpoch:
        """Steps of an epoch whose beginning was overwritten in the ring are kept, but no epoch is reported."""
        if epoch_index in self._left:
            self.open[epoch_index] = self._left.pop(epoch_index)
        if epoch_index not in self.open:
            self.open[epoch_index] = OpenEpoch(epoch_index, NOT_MEASURED, NOT_MEASURED)
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
        """The pending step is dropped, and the next one begins a new stretch."""
        if epoch.pending is not None:
            self._add(epoch, epoch.pending, None)
            epoch.pending = None
        self._growing.pop(epoch.epoch_index, None)

    def _add(self, epoch: OpenEpoch, request: Request, step_us: int | None) -> None:
        stretch = self._growing.get(epoch.epoch_index)
        # Another iterator of the loader may have recorded a step in between.
        follows = stretch is not None and request.step_index == stretch.requests[-1].step_index + 1
        if stretch is None or not follows or len(stretch.requests) >= STEPS:
            stretch = self._growing[epoch.epoch_index] = Stretch(epoch.epoch_index)
            self._stretches.append(stretch)
        stretch.requests.append(request)
        stretch.step_us.append(step_us)

    def _leave(self, epoch: OpenEpoch) -> None:
        """The epoch's end was not recorded, so its last record counts as its end."""
        del self.open[epoch.epoch_index]
        self._break(epoch)
        self._report(epoch, epoch.last_us, "broken_off")
        self._remember(epoch)

    def _remember(self, epoch: OpenEpoch) -> None:
        self._left[epoch.epoch_index] = epoch
        if len(self._left) > LEFT_EPOCHS:
            del self._left[min(self._left)]

    def _report(self, epoch: OpenEpoch, end_us: int | None = None, ended: str | None = None) -> None:
        if epoch.start_us == NOT_MEASURED:
            return
        known = {name: getattr(epoch, name) for name in REPORTED}
        steps = epoch.steps if ended is not None else None
        self._unsent[epoch.epoch_index] = Epoch(self.loader, steps=steps, end_us=end_us, ended=ended, **known)
