"""Our failures stay ours: counted, noted in a file that the collector reads, and raised only where tests ask for it."""

from __future__ import annotations

import os
from pathlib import Path

NOTED_FAILURES = 100
"""A session that fails is switched off, so there are few; the rest are counted in the process alone."""


class Guard:
    """Counts what we swallow. The user's code never runs inside a guarded block.

    Use as ``except Exception as error: guard.failed("where", error)``; never around ``BaseException``, which
    is the user's Ctrl-C. A context manager would cost a microsecond a step.
    """

    __slots__ = ("failures", "is_strict", "log")

    def __init__(self, log: str | None = None) -> None:
        self.failures = 0
        self.log = log
        self.is_strict = os.environ.get("UNDERFED_STRICT") == "1"

    def failed(self, where: str, error: Exception) -> None:
        """Count ``error`` and note it. Raises it again when ``UNDERFED_STRICT=1``."""
        self.note(where, error)
        if self.is_strict:
            raise error

    def note(self, where: str, error: Exception) -> None:
        """Count what is a limit of ours, and no mistake in our code."""
        self.failures += 1
        if self.log is not None and self.failures <= NOTED_FAILURES:
            note_failure(self.log, where, error)


def note_failure(log: str, where: str, error: Exception) -> None:
    """Append one line. Appending is atomic, so workers and the training process share the file."""
    line = f"{where}: {type(error).__name__}: {error}".replace("\n", " ")[:400]
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # nowhere to note it; the count in the process stands
    try:
        os.write(file, line.encode(errors="replace") + b"\n")
    except OSError:
        pass
    finally:
        os.close(file)


def count_failures(log: Path) -> int:
    """Failures noted by the training process and its workers."""
    try:
        return log.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
