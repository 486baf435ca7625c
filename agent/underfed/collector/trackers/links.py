"""Where a run's trackers show it: addresses without names and passwords of users."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from underfed.exchange.facts import TrackerRun
from underfed.exchange.trackers import MLFLOW, Target


def tracker_runs(targets: Iterable[Target]) -> list[TrackerRun]:
    return [TrackerRun(each.tracker, each.run, page_of(each)) for each in targets]


def page_of(target: Target) -> str | None:
    """``None``: it is in files, or in a database."""
    address = without_user(target.url)
    if address is None or target.tracker != MLFLOW:
        return address
    return f"{address.rstrip('/')}/#/experiments/{target.experiment}/runs/{target.run}"


def without_user(address: str | None) -> str | None:
    """Without what stands before its host or behind its path; ``None`` for what no browser opens."""
    try:
        parts = urlsplit(address or "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return None
