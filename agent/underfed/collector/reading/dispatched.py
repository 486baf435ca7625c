"""What one rank requests for several, as Accelerate's dispatcher does.

So many requests are one step, and what they gave is one batch, of which each rank gets its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from underfed.collector.reading.steps import Request
from underfed.exchange.ring_format import NOT_MEASURED

Row = dict[str, int | None]
"""One batch's values of the columns of ``wire.Batches``."""

SUMS = ("load_us", "cpu_us", "process_cpu_us", "runqueue_us", "blocked_us", "collate_us", "asked_bytes", "read_bytes",
        "samples", "pin_us")  # fmt: skip


@dataclass(slots=True)
class DispatchedRequests:
    """Of one epoch."""

    ranks: int
    first_step: int
    """Of the epoch. The requests are numbered on from it."""
    _begun: Request | None = None
    _made: int = 0

    def step(self, request: Request) -> Request | None:
        """The step whose last request this is; ``None``: it goes on, or its first requests were lost."""
        number = self.first_step + (request.step_index - self.first_step) // self.ranks
        if self._begun is None or self._begun.step_index != number:
            depth = request.depth // self.ranks if request.depth >= 0 else request.depth
            batch_index = request.batch_index // self.ranks
            self._begun, self._made = replace(request, step_index=number, batch_index=batch_index, depth=depth), 1
        else:
            known = self._begun.sampler_us >= 0 and request.sampler_us >= 0
            sampler_us = self._begun.sampler_us + request.sampler_us if known else NOT_MEASURED
            self._begun = replace(self._begun, left_us=request.left_us, sampler_us=sampler_us)
            self._made += 1
        return self.rest() if self._made == self.ranks else None

    def rest(self) -> Request | None:
        """The step of the last requests, where there are fewer: the ranks share what they gave. Device times are of
        single requests, and are left out.
        """
        begun, self._begun = self._begun, None
        return None if begun is None else replace(begun, is_timed=False)


def one_batch(parts: Sequence[Row], ranks: int) -> Row:
    """As if the worker whose part was ready last had loaded them all, one after another."""
    last = max(parts, key=lambda part: (part["start_us"] or 0) + (part["load_us"] or 0))
    ready_us = (last["start_us"] or 0) + (last["load_us"] or 0)
    summed = {name: _sum([part.get(name) for part in parts]) for name in SUMS}
    received = [part["received_us"] for part in parts]
    return {
        **last,
        **summed,
        "batch_index": (last["batch_index"] or 0) // ranks,
        "start_us": max(0, ready_us - (summed["load_us"] or 0)),
        "received_us": None if None in received else max(each for each in received if each is not None),
    }


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
