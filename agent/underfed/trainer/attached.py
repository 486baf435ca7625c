"""Attributes of ours on objects of torch, set and read without running anything of the object's class.

Nor is its ``__dict__`` asked for: Python then moves its attributes into a dictionary, and each of torch's own accesses
to them takes several times as long from there on (seen on Python 3.11, where they are specialised no more).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def attach(thing: Any, name: str, value: object) -> None:
    object.__setattr__(thing, name, value)


def attached(thing: Any, name: str) -> Any:
    """``None``: there is none."""
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return None


def detach(thing: Any, name: str) -> None:
    with suppress(AttributeError):
        object.__delattr__(thing, name)
