"""The keys that runs are searched by, and their values: numbers with units, one of a few words, an age or a date."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal, get_args

from underfed_server.model import Bound, Level, Status
from underfed_server.names import CAUSES
from underfed_server.search.expression import Age, Operator, Period, Value

Kind = Literal["text", "choice", "tag", "flag", "count", "number", "fraction", "factor", "duration", "hours", "instant"]

EQUALS: tuple[Operator, ...] = (":", "=", "!=")
ORDERINGS: tuple[Operator, ...] = ("<", "<=", ">", ">=")
OPERATORS: Mapping[Kind, tuple[Operator, ...]] = {
    "text": EQUALS,
    "choice": EQUALS,
    "tag": EQUALS,
    "flag": (":",),
    **dict.fromkeys(("count", "number", "fraction", "factor", "duration", "hours", "instant"), EQUALS + ORDERINGS),
}


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    kind: Kind
    choices: tuple[str, ...] = ()


TEXTS = (
    "project", "user", "host", "name", "id", "job", "loader", "gpu", "dataset", "mount", "tracker", "slurm",
    "namespace", "pod", "train_job", "queue", "notes", "reason",
)  # fmt: skip

KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        *(Key(name, "text") for name in TEXTS),
        Key("tag", "tag"),
        Key("status", "choice", get_args(Status)),
        Key("bound", "choice", get_args(Bound)),
        Key("level", "choice", get_args(Level)),
        Key("cause", "choice", (*CAUSES, "none")),
        Key("is", "flag", ("archived",)),
        Key("num_workers", "count"),
        Key("step", "count"),
        Key("ranks", "count"),
        Key("stall", "fraction"),
        Key("step_us", "duration"),
        Key("steps_per_s", "number"),
        Key("samples_per_s", "number"),
        Key("hours_lost", "hours"),
        Key("gain", "factor"),
        Key("gained", "factor"),
        Key("started", "instant"),
        Key("ended", "instant"),
        Key("seen", "instant"),
    )
}

_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)([A-Za-z%µ]*)")
_DATE = re.compile(r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:T(?P<time>[0-9]{2}:[0-9]{2}))?")

LONGEST_AGE_S = 1e10
"""Three centuries: what is older than that is older than every run."""

_SPANS: Mapping[str, float] = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3_600, "d": 86_400}
_AGES: Mapping[str, float] = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
UNITS: Mapping[Kind, Mapping[str, float]] = {
    "count": {"": 1},
    "number": {"": 1},
    "fraction": {"": 1, "%": 0.01},
    "factor": {"": 1, "x": 1},
    "duration": {"": 1, **{unit: seconds * 1e6 for unit, seconds in _SPANS.items()}},
    "hours": {"": 1, **{unit: seconds / 3_600 for unit, seconds in _SPANS.items() if seconds >= 1}},
}
"""The factor of each unit behind a number; a number without one is in the unit of the key's name."""

EXAMPLES: Mapping[Kind, str] = {
    "count": "a number, as in 8",
    "number": "a number, as in 2.5",
    "fraction": "a share, as in 20% or 0.2",
    "factor": "a factor, as in 1.5",
    "duration": "a duration, as in 100ms, 1.5s or 250us",
    "hours": "hours, as in 2.5, or a duration such as 30min or 2d",
    "instant": "an age such as 2h, 7d or 4w, or a date such as 2026-11-20 or 2026-11-20T14:30, in UTC",
}


def read_value(key: Key, text: str) -> Value:
    """Raises:
    ValueError: the key takes no such value; the message says what it takes.
    """
    if key.choices:
        return _choice(key, text)
    if key.kind in ("text", "tag"):
        return text
    value = _instant(text) if key.kind == "instant" else _number(text, UNITS[key.kind])
    # 20 means 20 %: no run has a share above 1, so the list would be empty.
    if value is None or (key.kind == "fraction" and isinstance(value, float) and value > 1):
        raise ValueError(f"{key.name} takes {EXAMPLES[key.kind]}, not {text[:60]!r}")
    return value


def _choice(key: Key, text: str) -> str | None:
    word = text.lower()
    if word not in key.choices:
        raise ValueError(f"{key.name} is one of {', '.join(key.choices)}, not {text[:60]!r}")
    return None if word == "none" else word


def _number(text: str, units: Mapping[str, float]) -> float | None:
    found = _NUMBER.fullmatch(text)
    if found is None or found[2] not in units:
        return None
    value = float(found[1]) * units[found[2]]
    # So that 55 % is what 0.55 is, and not the next number beside it.
    return float(f"{value:.15g}") if math.isfinite(value) else None


def _instant(text: str) -> Age | Period | None:
    seconds = _number(text, _AGES)
    if seconds is not None:
        return Age(timedelta(seconds=min(seconds, LONGEST_AGE_S)))
    found = _DATE.fullmatch(text)
    return None if found is None else _period(found["day"], found["time"])


def _period(day: str, time: str | None) -> Period | None:
    try:
        first = datetime.fromisoformat(f"{day}T{time or '00:00'}+00:00").astimezone(timezone.utc)
        return Period(first, first + (timedelta(days=1) if time is None else timedelta(minutes=1)))
    except (ValueError, OverflowError):
        return None
