"""A plugin for pytest in the recorded pass: each of the hundreds of loaders of one process is recorded.

A training has few, and the agent records no more than a bounded number of them.
"""

from __future__ import annotations

from underfed.trainer.hooks import registry

vars(registry)["WATCHED_LOADERS"] = 10_000
