"""What a loader's loading threads, or the training thread, were seen to execute, as it is judged by and served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from underfed_server.facts.share_of_looks import Whole, whole_of
from underfed_server.model import Hotspot, PictureSize, SlowSample
from underfed_server.store.reading.stacks import Lines, Looks, Place, Samples

__all__ = ["LEAST_SAMPLES", "Lines", "LoaderHotspots", "Looks", "Place", "Samples"]

LEAST_SAMPLES = 100
"""Of fewer a share is known to ten points either way at best (twice its standard error)."""


@dataclass(frozen=True, slots=True)
class LoaderHotspots:
    hotspots: list[Hotspot]
    missing: str | None
    """Why there are none."""
    slow_samples: list[SlowSample]
    samples: Samples
    own_files: frozenset[str] = frozenset()
    """Those of the project among the files of ``samples``."""
    has_step: bool = False
    """The training thread was sampled, too."""
    picture_sizes: tuple[PictureSize, ...] = ()
    """Between which pictures were seen to be resized, most looks first."""
    agent_fraction: float | None = None
    """Of all looks, at the agent itself: they are in no share. ``None``: nothing was looked at."""
    lines: Mapping[Place, Lines] = field(default_factory=dict)
    """Of places whose time may have been spent in other lines of their function: among which."""
    earlier: Samples = field(default_factory=dict)
    later: Samples = field(default_factory=dict)
    """About the first and the second half of the time, where these are distinguished."""

    @property
    def seen(self) -> int:
        """How often loading was looked at."""
        return looks_in(self.samples)

    @property
    def whole(self) -> Whole:
        """Where something was seen."""
        return whole_of(self.samples.values())


def looks_in(samples: Samples) -> int:
    return sum(int(looks.sum()) for looks in samples.values())
