"""Windows of every shape that is JSON: lengths, sizes, repetition and nesting, each chosen by chance from a seed.

Not broken syntax, which the parser refuses: what is well-formed and unreasonable, and reaches further.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tests.app.made_windows import made_stream, made_window

Window = dict[str, Any]

LENGTHS = (0, 1, 2, 19, 21, 255, 256, 4_095, 4_096, 4_097, 16_384, 16_385, 100_000)
TEXT_LENGTHS = (0, 1, 500, 501, 2_001, 10_000, 10_001, 300_000)
NUMBERS = (0, 1, -1, 2**31, 2**32 - 2, 2**32 - 1, 2**53, 2**53 + 1, 2**63, 10**40, 0.5, -0.0, 1e-300, 1e308)
TIMES = (1, 2, 100, 1_001, 10_001)
LARGEST_BODY = 6 * 2**20
LARGEST_TEXT = 12 * 2**20
ROWS = ("steps", "batches", "worker_samples", "gpus", "process", "host")
LISTS = ("loaders", "steps", "batches", "epochs", "workers", "worker_samples", "storage", "gpus")


class Shaped(NamedTuple):
    body: bytes
    encoding: str
    shapes: tuple[str, ...]
    """What was done to the window."""


def shaped(figures: random.Random, run_ids: tuple[str, ...] = ("fuzz-0", "fuzz-1")) -> Shaped:
    """A body that is not so large that the connection would be ended for it."""
    while (made := _made(figures, run_ids)) is None or len(made.body) > LARGEST_BODY:
        pass
    return made


def _made(figures: random.Random, run_ids: tuple[str, ...]) -> Shaped | None:
    """``None``: it would be larger than it is worth to be written."""
    window = copy.deepcopy(figures.choice(BASES))
    window["run_id"] = figures.choice(run_ids)
    names = figures.choices(tuple(SHAPES), k=figures.randrange(4))
    for name in names:
        # What one shape leaves may be nothing that another applies to.
        with suppress(TypeError, KeyError, AttributeError, IndexError):
            SHAPES[name](figures, window)
        if _size(window) > LARGEST_TEXT:
            return None
    text = json.dumps(window)
    if figures.random() < 0.1:
        names.append("repeated key")
        key = figures.choice(list(window))
        text = (
            "{"
            + ",".join([f"{json.dumps(key)}:{json.dumps(window[key])}"] * figures.choice(TIMES[:3]))
            + ","
            + text[1:]
        )
    if figures.random() < 0.1:
        names.append("white space")
        text = " " * figures.choice(LENGTHS) + text
    encoding = figures.choice(("", "gzip", "deflate"))
    return Shaped(PACKED[encoding](text.encode()), encoding, tuple(names))


def _size(value: Any, most: int = LARGEST_TEXT) -> int:
    """About what it is as text; what is beyond ``most`` is not looked at. Parts may be one object many times."""
    if isinstance(value, str):
        return 2 + 6 * len(value)
    if not isinstance(value, (dict, list)):
        return 8
    size = 0
    for each in value if isinstance(value, list) else (*value, *value.values()):
        size += _size(each, most - size)
        if size > most:
            break
    return size


def _length(figures: random.Random, window: Window) -> None:
    """One column, or all of a part, becomes longer or shorter."""
    part = _part(figures, window)
    columns = [name for name, value in part.items() if isinstance(value, list)]
    length = figures.choice(LENGTHS)
    for name in columns if figures.random() < 0.6 else figures.sample(columns, min(1, len(columns))):
        part[name] = (part[name] or [0]) * (length // max(1, len(part[name])) + 1)
        part[name] = part[name][:length]


def _value(figures: random.Random, window: Window) -> None:
    """A number of any size in a column or a field."""
    part = window if figures.random() < 0.3 else _part(figures, window)
    name = figures.choice(list(part)) if part else "start_us"
    number = figures.choice(NUMBERS)
    part[name] = [number] * len(part[name]) if isinstance(part.get(name), list) else number


def _repetition(figures: random.Random, window: Window) -> None:
    """A part comes many times."""
    name = figures.choice(LISTS)
    window[name] = (window.get(name) or [{}]) * figures.choice(TIMES)


def _text(figures: random.Random, window: Window) -> None:
    text = figures.choice(("x", "é", "\U0001f9ea", "\x00", '"', "\\")) * figures.choice(TEXT_LENGTHS)
    run = window.setdefault("run", {})
    place = figures.choice(("project", "name", "job", "user", "hostname", "script", "exit", "loader", "tag", "config"))
    if place == "exit":
        window["end"] = {"status": "crashed", "exit_reason": text}
    elif place == "loader":
        for part in window.get("steps", []):
            part["loader"] = text
    elif place in ("tag", "config"):
        kind = "tags" if place == "tag" else "config"
        count = figures.choice(TIMES[:4])
        run[kind] = {f"{text[:400]}{number}": text[: LARGEST_BODY // count] for number in range(count)}
    else:
        run[place] = text


def _nesting(figures: random.Random, window: Window) -> None:
    value: Any = 0
    for _ in range(figures.choice((1, 10, 100, 400))):
        value = [value] if figures.random() < 0.5 else {"a": value}
    window[figures.choice((*LISTS, "unknown", "run", "end"))] = value


def _order(figures: random.Random, window: Window) -> None:
    """Windows that are ahead, come again, or say another span."""
    window["window_index"] = figures.choice((0, 1, 2, 3, 7, 2**40, 2**53))
    window["previous_window_index"] = figures.choice((None, 0, 1, 6, 2**40))
    window["incarnation"] = figures.choice((1, 1, 2, 5, 2**53))
    window["rank"] = figures.choice((0, 0, 1, 7, 10_000_000))


def _time(figures: random.Random, window: Window) -> None:
    window["start_us"], window["end_us"] = (figures.choice(NUMBERS[:8]) for _ in range(2))
    window["started_at"] = figures.choice(
        ("2026-11-20T10:00:00Z", "1999-01-01T00:00:00Z", "2199-12-31T23:59:59+23:59", "9999-12-31T23:59:59Z", "", "now")
    )


def _kind(figures: random.Random, window: Window) -> None:
    """A field is of another kind."""
    window[figures.choice(list(window))] = figures.choice((None, True, [], {}, "", "0", [[]], [{}], {"a": []}))


def _less(figures: random.Random, window: Window) -> None:
    del window[figures.choice(list(window))]


def _part(figures: random.Random, window: Window) -> Window:
    found = window.get(figures.choice(ROWS))
    if isinstance(found, list):
        found = figures.choice(found) if found else None
    return found if isinstance(found, dict) else window.setdefault("process", {"at_us": [1]}) or {}


SHAPES: Mapping[str, Callable[[random.Random, Window], None]] = {
    "length": _length, "value": _value, "repetition": _repetition, "text": _text, "nesting": _nesting, "order": _order,
    "time": _time, "kind": _kind, "less": _less,
}  # fmt: skip
PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": lambda body: gzip.compress(body, 1),
    "deflate": lambda body: zlib.compress(body, 1),
}
BASES: list[Window] = [*made_stream(3), made_window(0), made_window(0, end={"status": "finished"})]
