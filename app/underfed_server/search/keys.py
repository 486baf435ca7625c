"""The keys that runs are searched by: the kind of their values, and the words that some of them take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from underfed_server.model import Bound, Level, Status
from underfed_server.names import CAUSES
from underfed_server.search.expression import Operator

Kind = Literal["text", "choice", "tag", "flag", "count", "number", "fraction", "factor", "duration", "hours", "instant"]

EQUALS: tuple[Operator, ...] = (":", "=", "!=")
ORDERS: tuple[Operator, ...] = ("<", "<=", ">", ">=")
OPERATORS: Mapping[Kind, tuple[Operator, ...]] = {
    "text": EQUALS,
    "choice": EQUALS,
    "tag": EQUALS,
    "flag": (":",),
    **dict.fromkeys(("count", "number", "fraction", "factor", "duration", "hours", "instant"), EQUALS + ORDERS),
}


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    kind: Kind
    choices: tuple[str, ...] = ()


def _texts(*names: str) -> tuple[Key, ...]:
    return tuple(Key(name, "text") for name in names)


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        *_texts("project", "user", "host", "name", "id", "job", "loader", "gpu", "dataset", "mount", "notes", "reason"),
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
