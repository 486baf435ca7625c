"""What the writing thread did since the process started."""

from __future__ import annotations

from underfed_server.distribution import SIZES, Distribution
from underfed_server.errors import OutOfOrderError
from underfed_server.ingest.arrival import Ack, Arrival, Outcome


class WriterTally:
    """Raised by that thread, read by any."""

    __slots__ = ("bytes", "commit_seconds", "failures", "group_sizes", "refused", "repeats", "steps", "windows")

    def __init__(self) -> None:
        self.windows = 0
        """New ones, on disk."""
        self.steps = 0
        self.bytes = 0
        """As posted: compressed where the agent compressed."""
        self.repeats = 0
        """Windows that were stored before."""
        self.refused = 0
        """Windows of which an earlier one is missing."""
        self.failures = 0
        """Transactions that were rolled back."""
        self.group_sizes = Distribution(SIZES)
        self.commit_seconds = Distribution()

    def note(self, arrival: Arrival, outcome: Outcome) -> None:
        """A window that was committed, or answered without."""
        if isinstance(outcome, OutOfOrderError):
            self.refused += 1
        elif not isinstance(outcome, Ack):
            return
        elif not outcome.is_new:
            self.repeats += 1
        else:
            self.windows += 1
            self.steps += arrival.window.step_count
            self.bytes += len(arrival.body)
