"""A job that may use one core of many, with two workers that compute: the other cores are idle."""

from __future__ import annotations

from tests.scenarios.pipelines.pipeline import Pipeline
from tests.scenarios.pipelines.sick import cpu_limited

PIPELINE = Pipeline("cpu_limited", cpu_limited.run, cpus=1)
