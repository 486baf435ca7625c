"""From the bytes of a post to a window: types, ranges, and the relations between fields that types cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from underfed_server.errors import InvalidError, MalformedError, UnknownVersionError
from underfed_server.ingest.wire import (
    MOST_BATCHES,
    MOST_SAMPLES,
    MOST_STEPS,
    VERSION,
    Part,
    Rows,
    Stacks,
    Steps,
    Window,
    WindowRows,
)

EARLIEST, LATEST = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2000, 2200))
"""A ``started_at`` outside comes from a wrong clock, and would overflow when moved to another time zone."""


class _Versioned(Struct):
    version: int


class _StepsAlone(Struct, gc=False):
    steps: list[Steps] = []


_decoder = msgspec.json.Decoder(Window)
_rows_decoder = msgspec.json.Decoder(WindowRows)
_steps_decoder = msgspec.json.Decoder(_StepsAlone)
_version_decoder = msgspec.json.Decoder(_Versioned)
_ESCAPE = re.compile(rb"\\(?:u0000|.)", re.DOTALL)
"""From the left and in pairs: in ``\\\\u0000`` the second backslash escapes nothing."""

_PLACE = re.compile(r" - at (`key` in )?`\$\.?(?P<field>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]*)`")


def decode(body: bytes) -> Window:
    """One window, every field within its limits.

    Raises:
        MalformedError: ``body`` is not one JSON value in UTF-8.
        UnknownVersionError: it is of another wire version.
        InvalidError: a field is missing or out of its range; ``field`` names it.
    """
    try:
        window = _decoder.decode(without_nul(body))
    except msgspec.ValidationError as error:
        _require_version(body)
        raise _invalid(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedError(f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise MalformedError("the body is nested too deeply") from error
    check(window)
    return window


def decode_rows(body: bytes) -> WindowRows:
    """The rows of a window that was checked before."""
    return _rows_decoder.decode(without_nul(body))


def decode_steps(body: bytes) -> WindowRows:
    """Likewise, of its rows the steps alone: with the samples of a host that is a tenth of what is in it."""
    return WindowRows(steps=_steps_decoder.decode(without_nul(body)).steps)


def without_nul(body: bytes) -> bytes:
    """JSON with U+FFFD for every NUL in its texts: PostgreSQL rejects NUL, and no step shall be lost for it."""
    # One byte is looked for in a tenth of the time that six take.
    if b"\\" not in body or b"\\u0000" not in body:
        return body
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[0] == b"\\u0000" else found[0], body)


def _require_version(body: bytes) -> None:
    """A window of another version is refused as such, whatever else in it this version would refuse."""
    try:
        version = _version_decoder.decode(body).version
    except (msgspec.DecodeError, RecursionError):
        return
    if version != VERSION:
        raise UnknownVersionError(
            f"wire version {version} is not known to this service, which reads version {VERSION}", field="version"
        )


def _invalid(message: str) -> InvalidError:
    """msgspec's ``Expected `int`, got `str` - at `$.steps[0].epoch_index``` as an error that names the field."""
    place, missing = _PLACE.search(message), _MISSING.search(message)
    parts = [place["field"].replace("[...]", "") if place else "", missing["name"] if missing else ""]
    field = ".".join(filter(None, parts))
    said = message[: place.start()] if place else message
    return InvalidError(f"{field}: {said}" if field else f"the body: {said}", field=field or None)


def check(window: Window) -> None:
    """The relations between fields that types cannot say.

    Raises:
        InvalidError: naming the field.
    """
    _check_order(window)
    for index, steps in enumerate(window.steps):
        _check_open(f"steps[{index}]", steps)
    for index, stacks in enumerate(window.stacks):
        _check_frames(f"stacks[{index}]", stacks)
    if _rows("steps[{}]", window.steps, _STEPS) > MOST_STEPS:
        raise _refused("steps", f"more than {MOST_STEPS} steps in a window")
    if _rows("batches[{}]", window.batches, _BATCHES) > MOST_BATCHES:
        raise _refused("batches", f"more than {MOST_BATCHES} batches in a window")
    sampled = _rows("worker_samples[{}]", window.worker_samples, _SAMPLES) + _rows("gpus[{}]", window.gpus, _SAMPLES)
    for place, samples in (("process", window.process), ("host", window.host)):
        sampled += 0 if samples is None else _rows(place, (samples,), _SAMPLES)
    if sampled > MOST_SAMPLES:
        raise _refused("samples", f"more than {MOST_SAMPLES} samples in a window")


_STEPS, _BATCHES, _SAMPLES = map(attrgetter, ("step_us", "load_us", "at_us"))
"""Of a part, the column that it always has."""


def _rows(place: str, parts: Sequence[Rows], counted: Callable[[Any], list[Any]]) -> int:
    """Of all these parts together; ``place``: what an error calls the part of an index.

    Raises:
        InvalidError: the columns of a part differ in length.
    """
    rows = 0
    for index, part in enumerate(parts):
        expected = len(counted(part))
        # All fields at once, and nothing for each but this: a window has two hundred.
        for column in astuple(part):
            if type(column) is list and len(column) != expected:
                raise _of_wrong_length(place.format(index), part, expected)
        rows += expected
    return rows


def _check_frames(place: str, stacks: Stacks) -> None:
    for index, stack in enumerate(stacks.stacks):
        if max(stack.frames, default=-1) >= len(stacks.frames):
            raise _refused(f"{place}.stacks[{index}].frames", "names a frame that is not there")


def _check_order(window: Window) -> None:
    previous, started = window.previous_window_index, window.started_at
    if previous is not None and previous >= window.window_index:
        raise _refused("previous_window_index", f"{previous} does not come before window_index {window.window_index}")
    if window.start_us > window.end_us:
        raise _refused("end_us", "lies before start_us")
    if not EARLIEST <= started <= LATEST:
        raise _refused("started_at", f"{started.isoformat()} is not a time to start at")


def _check_open(place: str, steps: Steps) -> None:
    if None not in steps.step_us[:-1]:
        return
    place = f"{place}.step_us[{steps.step_us.index(None)}]"
    raise InvalidError(f"{place}: only the last step may be open", field=place)


def _of_wrong_length(place: str, part: Part, expected: int) -> InvalidError:
    fields = zip(part.__struct_fields__, astuple(part), strict=True)
    name, size = next((name, len(each)) for name, each in fields if type(each) is list and len(each) != expected)
    return InvalidError(f"{place}.{name}: {size} values beside columns of {expected}", field=f"{place}.{name}")


def _refused(field: str, message: str) -> InvalidError:
    return InvalidError(f"{field}: {message}", field=field)
