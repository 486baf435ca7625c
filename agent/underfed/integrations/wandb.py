"""W&B: figures of data loading among a run's system metrics, the verdict and the page's address in its summary.

Below ``underfed run`` that needs no line: W&B's own process asks the launcher for the figures every 15 seconds, and the
training process does nothing for them. The summary is written where an iterator starts, at most once a minute, and
before the run is finished, which waits for the verdict for three seconds at most.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from underfed.exchange.config import is_disabled
from underfed.exchange.launch import FIGURES

ENDPOINTS = "WANDB_X_STATS_OPEN_METRICS_ENDPOINTS"
"""JSON: addresses by name. Read when ``wandb.init()`` is first called; PR 4899 of W&B brought it."""


def ask_for_figures(environ: MutableMapping[str, str]) -> None:
    """Have W&B ask for the figures of this process; nothing where the program's user names endpoints."""
    served, named = environ.get(FIGURES), environ.get(ENDPOINTS, "")
    if not served or is_disabled(environ):
        return
    # A parent of this process has set it for itself.
    if not named or served in named:
        environ[ENDPOINTS] = f'{{"underfed": "{served}/{os.getpid()}"}}'
