"""Real trainings as their agents sent them, each with what the program itself saw of its loops: its truth."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"

Window = dict[str, Any]


def names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in RECORDINGS.glob("*.json.gz"))


def windows_of(name: str, *, ended_at: datetime | None = None, run_id: str | None = None) -> list[Window]:
    """In the order in which they are posted, as if the run had ended at ``ended_at``: by default now."""
    windows: list[Window] = json.loads(gzip.decompress((RECORDINGS / f"{name}.json.gz").read_bytes()))
    later = (ended_at or datetime.now(timezone.utc)) - max(_at(each, each["end_us"]) for each in windows)
    moved = ({**each, "started_at": (_at(each) + later).isoformat()} for each in windows)
    return [{**each, "run_id": run_id or each["run_id"]} for each in moved]


def truth_of(name: str) -> list[dict[str, Any]]:
    """Of each process of the run, in the order in which they ended."""
    truth: list[dict[str, Any]] = json.loads((RECORDINGS / f"{name}.truth.json").read_text())
    return truth


def loops_of(name: str) -> dict[str, dict[str, Any]]:
    """By loader, what all processes of the run saw together."""
    return _summed(each for process in truth_of(name) for each in process["loaders"])


def _summed(loops: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for each in loops:
        known = found.setdefault(each["loader"], {**each, "steps": 0, "waited_s": 0.0, "spent_s": 0.0})
        for figure in ("steps", "waited_s", "spent_s"):
            known[figure] += each[figure]
    return found


def _at(window: Window, us: int = 0) -> datetime:
    begun_at = datetime.fromisoformat(window["started_at"].replace("Z", "+00:00"))
    return begun_at + timedelta(microseconds=us)
