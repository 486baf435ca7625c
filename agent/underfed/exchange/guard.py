"""Failures of the agent: counted, kept in a file that the collector reads, and raised only where tests ask for it."""

from __future__ import annotations

import os
from pathlib import Path

from underfed.host.signal_handlers import let_through, passing

LOGGED_FAILURES = 100
"""Most failures in the file. A session that fails is switched off, so there are few; the rest are only counted."""


class Guard:
    """Counts exceptions that the agent swallows. The user's code never runs inside a guarded block.

    Use as ``except Exception as error: guard.failed("where", error)``; never around ``BaseException``, which
    is the user's Ctrl-C. A context manager would cost a microsecond a step.
    """

    __slots__ = ("failures", "is_strict", "log")

    def __init__(self, log: str | None = None) -> None:
        self.failures = 0
        self.log = log
        self.is_strict = os.environ.get("UNDERFED_STRICT") == "1"

    def failed(self, where: str, error: Exception) -> None:
        """Count ``error`` and log it. Raises it again when ``UNDERFED_STRICT=1``."""
        let_through(error)
        self.count(where, error)
        if self.is_strict:
            raise error

    def count(self, where: str, error: Exception) -> None:
        """Count a limit of the agent that is no error in its code."""
        self.failures += 1
        if self.log is not None and self.failures <= LOGGED_FAILURES:
            append_line(self.log, f"{where}: {type(error).__name__}: {error}")


def append_line(path: str | Path, line: str, largest_bytes: int | None = None) -> None:
    """Append at most 400 characters in one piece, also while others append. A file of ``largest_bytes`` or more is not
    appended to. Raises nothing: a line that cannot be written is lost."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        let_through(error)
        return
    with passing(OSError), os.fdopen(file, "wb", buffering=0) as opened:
        if largest_bytes is None or os.fstat(file).st_size < largest_bytes:
            opened.write(line.replace("\n", " ")[:400].encode(errors="replace") + b"\n")


def count_failures(log: Path) -> int:
    """Failures noted by the training process and its workers."""
    try:
        return log.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
