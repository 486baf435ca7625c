"""Where a page of runs ended: by its sort values, so that changes of other runs neither skip nor repeat one."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, get_args

import msgspec
from msgspec import Meta

from underfed_server.errors import InvalidError
from underfed_server.model import Status

MOST_CHARACTERS = 4_000
LARGEST = 2**63 - 1
"""The integers that a database column can hold."""


Text = Annotated[str, Meta(pattern=r"^[^\x00]*\Z")]
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]


class Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The last run of a page."""

    sort: Text
    value: Text | Whole | float | None
    """Value of the sort key, an instant in microseconds; ``None``: the run lacks it."""
    started_us: Whole
    """Unix microseconds."""
    run_id: Text


def write_cursor(cursor: Cursor) -> str:
    """Opaque, and safe in a URL."""
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def read_cursor(written: str, sort: str) -> Cursor:
    """Raises:
    InvalidError: this service did not issue it, or its page was sorted by another key.
    """
    cursor = _read(written)
    if cursor is None:
        raise InvalidError("cursor: this service did not issue it", field="cursor")
    if cursor.sort != sort:
        raise InvalidError(f"cursor: it is of runs sorted by {cursor.sort!r}, not by {sort!r}", field="cursor")
    if not _fits(cursor.value, sort.removeprefix("-")):
        raise InvalidError("cursor: this service did not issue it", field="cursor")
    return cursor


def _read(written: str) -> Cursor | None:
    if len(written) > MOST_CHARACTERS or not written.isascii():
        return None
    try:
        body = base64.b64decode(written + "=" * (-len(written) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(body, type=Cursor)
    except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _fits(value: object, key: str) -> bool:
    """Whether it is a value of the key."""
    if key == "status":
        return value in get_args(Status)
    if key == "name":
        return isinstance(value, str)
    if key.startswith("config:"):
        return value is None or isinstance(value, str | int | float)
    if key in ("step_us", "started_at", "deleted_at"):
        return (value is None and key != "started_at") or isinstance(value, int)
    return value is None or isinstance(value, int | float)
