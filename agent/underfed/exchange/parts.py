"""Small files of JSON by which processes of one run tell each other facts: how they are read, and made into what they
hold."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

Part = TypeVar("Part")


def read_small(path: str, most_bytes: int) -> Any:
    """A training loop calls this: no ``pathlib``, no stream.

    Raises:
        OSError, ValueError: it cannot be read, or is larger.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return json.loads(os.read(file, most_bytes))
    finally:
        os.close(file)


def parse(kind: type[Part], part: Mapping[str, Any]) -> Part:
    """The dataclass ``kind``. Keys of a newer or older release are left out or take their default.

    Raises:
        TypeError: a key without a default is missing.
    """
    known = {each.name: part[each.name] for each in fields(kind) if each.name in part}  # type: ignore[arg-type]
    return kind(**known)
