"""The demo's own job with two workers: its ``__getitem__`` decodes, crops and changes colours with Pillow."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from underfed_server.demo.train import train


def run(strength: Strength) -> None:
    train(Path(tempfile.gettempdir()) / "underfed-photographs", num_workers=2, prefetch_factor=None, seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run)
