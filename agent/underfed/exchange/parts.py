"""Small files of JSON by which processes of one run tell each other facts: each is a dataclass, replaced as a whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from underfed.host.files import write_atomically

Part = TypeVar("Part")

MOST_BYTES = 64 << 10
"""Of a file that a training loop reads."""


def write_part(path: Path, part: Any) -> None:
    """``part``: a dataclass, or what JSON has.

    Raises:
        OSError: it cannot be written; the earlier one stays.
    """
    write_atomically(path, as_text(part))


def as_text(part: Any) -> str:
    return json.dumps(part, default=_fields, separators=(",", ":"))


def read_part(path: Path, kind: type[Part]) -> Part:
    """
    Raises:
        OSError, ValueError, TypeError: it cannot be read.
    """
    return parse(kind, json.loads(path.read_text()))


def read_small(path: str) -> Any:
    """A training loop calls this: no ``pathlib``, no stream.

    Raises:
        OSError, ValueError: it cannot be read, or is larger.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return json.loads(os.read(file, MOST_BYTES))
    finally:
        os.close(file)


def parse(kind: type[Part], part: Mapping[str, Any]) -> Part:
    """The dataclass ``kind``, with those that it holds. Keys of a newer or older release are left out or take their
    default.

    Raises:
        TypeError: a key without a default is missing.
    """
    made: Any = kind
    known = {each.name: part[each.name] for each in fields(made) if each.name in part}
    inner = {name: _parsed(of, known[name]) for name, of in _inner(made).items() if known.get(name) is not None}
    return kind(**known | inner)


def _parsed(kind: type[Any], value: Any) -> Any:
    return [parse(kind, each) for each in value] if isinstance(value, list) else parse(kind, value)


@cache
def _inner(kind: type[Any]) -> Mapping[str, type[Any]]:
    """By the name of a field the dataclass that it holds, by itself or in a list."""
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(kind).items():
        # As in ``list[TrackerRun] | None``.
        parts = [hint, *get_args(hint), *(inner for part in get_args(hint) for inner in get_args(part))]
        for each in filter(is_dataclass, parts):
            found[name] = each
    return found


def _fields(part: Any) -> dict[str, Any]:
    """A tenth of what ``dataclasses.asdict`` takes, which copies all of it."""
    return {each.name: getattr(part, each.name) for each in fields(part)}
