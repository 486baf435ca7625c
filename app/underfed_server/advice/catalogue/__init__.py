"""The changes, a file each. A new file here is a new change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from underfed_server.advice.change import Change
from underfed_server.names import CHANGES, ChangeName


@cache
def all_changes() -> Mapping[ChangeName, Change]:
    """In order of name."""
    return {name: import_module(f"{__name__}.{name}").CHANGE for name in CHANGES}
