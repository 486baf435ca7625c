"""The log: a JSON object a line, or a line for a person, and with each the request that it is about."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime, timezone
from typing import Any, Literal, get_args

LogFormat = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]
FORMATS: tuple[str, ...] = get_args(LogFormat)
LEVELS: tuple[str, ...] = get_args(LogLevel)

MINUTE_S = 60.0
MOST_OF_A_KIND = 10
"""Warnings and errors a minute that say the same."""

MOST_KINDS = 1_000

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request that this code works for; threads that a request's work is handed to have it too."""

_WELL_FORMED = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# What a terminal or a reader of lines would take for more than text: control characters, and Unicode's own line ends.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# Unlike any other process's. To ask the kernel for each request would hand the interpreter to another thread each time.
_PROCESS = os.urandom(4).hex()
_NUMBERS = itertools.count(1)


def request_id_of(given: bytes | None) -> str:
    """The one that a proxy in front gave, where it is harmless; else a new one."""
    if given is not None and _WELL_FORMED.fullmatch(given):
        return given.decode("ascii")
    return f"{_PROCESS}{next(_NUMBERS):08x}"


class JsonLines(logging.Formatter):
    """``at`` (RFC 3339 UTC), ``level``, ``logger``, ``message``; ``request_id``, ``traceback`` and fields if any."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": _at(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (asked := request_id.get()) is not None:
            line["request_id"] = asked
        line.update(_fields(record))
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        # In ASCII: no character of a value can end the line or move a terminal's cursor.
        return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """``TIME LEVEL LOGGER: MESSAGE key=value… [request]``, and an indented traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        asked = request_id.get()
        belongs = f" [{asked}]" if asked is not None else ""
        said = printable(f"{record.getMessage()}{fields}{belongs}")
        lines = [f"{_at(record)} {record.levelname.lower()} {record.name}: {said}"]
        if record.exc_info:
            # Indented: an exception's text may pretend to be a line of the log.
            lines += [f"    {printable(line)}" for line in self.formatException(record.exc_info).split("\n")]
        return "\n".join(lines)


class Seldom(logging.Filter):
    """Whoever may send requests must not fill the disk with warnings of them: of each kind some a minute are written.

    The next one after that minute says in ``left_out`` how many were not.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}
        """Since when each is counted, and how many there were."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Lines of usual requests are written where somebody asked for each.
        if record.levelno < logging.WARNING:
            return True
        fields = _fields(record)
        # What was said, not of what: there are as many addresses as anybody likes.
        kind = (record.name, record.levelno, record.msg, fields.get("status"), _raised(record))
        now = self._clock()
        with self._lock:
            since, count = self._kinds.get(kind, (now, 0))
            left_out = 0
            if now - since >= MINUTE_S:
                since, count, left_out = now, 0, max(0, count - MOST_OF_A_KIND)
            if len(self._kinds) >= MOST_KINDS and kind not in self._kinds:
                self._kinds.clear()
            self._kinds[kind] = since, count + 1
        if left_out:
            record.fields = {**fields, "left_out": left_out}
        return count < MOST_OF_A_KIND


def _raised(record: logging.LogRecord) -> object:
    """What was raised, and where: of one message in the code there are many failures."""
    if not record.exc_info or record.exc_info[0] is None:
        return None
    kind, _, raised = record.exc_info
    *_, place = None, *((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(raised))
    return kind, place


def printable(text: str) -> str:
    """``text`` on one line, with nothing in it that a terminal obeys."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def start_logging(form: LogFormat | None, level: LogLevel) -> None:
    """Everything that this process logs goes to stderr. ``form`` ``None``: text on a terminal, else JSON."""
    as_text = form == "text" or (form is None and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Seldom())
    handler.setFormatter(TextLines() if as_text else JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)


def _at(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    """What was logged with ``extra={"fields": …}``."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return fields
