"""One worker where a second core is free: it parses and it resamples, of all loading 75 and 25 %."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import KnownShare, Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

SAMPLE_MS: dict[Strength, float] = {"none": 0.5, "weak": 25, "clear": 60, "strong": 90}
PARSING = 0.75
WORK_MS = 20


class Load:
    """Computes half, and waits half as long as for a server."""

    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms

    def __call__(self, index: int) -> None:
        self.parse()
        self.resample()

    def parse(self) -> None:
        compute(PARSING * self.sample_ms / 2)
        wait(PARSING * self.sample_ms / 2)

    def resample(self) -> None:
        compute((1 - PARSING) * self.sample_ms / 2)
        wait((1 - PARSING) * self.sample_ms / 2)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(100_000, Load(SAMPLE_MS[strength])), batch_size=1, num_workers=1)
    train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline(
    "too_few_workers",
    run,
    shares=(KnownShare("Load.parse", PARSING, "getitem"), KnownShare("Load.resample", 1 - PARSING, "getitem")),
)
