"""A file that is read for as long as the program runs: a program may close every number that it does not know, as code
that makes a daemon does, and then the number is another file's."""

from __future__ import annotations

import os

from underfed.host.signal_handlers import let_through


class OwnFile:
    """Reads and closes the number only while it is the file that was opened. A check takes about a microsecond."""

    __slots__ = ("_file", "_identity")

    def __init__(self, path: str) -> None:
        self._file = -1
        self._identity = (-1, -1)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._identity = _identity(file)
            self._file = file
        except OSError as error:
            let_through(error)

    def read(self, size: int) -> bytes | None:
        """Its beginning. ``None``: it could not be opened, or is no longer open.

        Raises:
            OSError: as ``os.pread``.
        """
        return os.pread(self._file, size, 0) if self._is_own() else None

    def close(self) -> None:
        if self._is_own():
            os.close(self._file)
        self._file = -1

    def __del__(self) -> None:
        if hasattr(self, "_identity"):  # not there where a signal interrupted the constructor
            self.close()

    def _is_own(self) -> bool:
        if self._file < 0:
            return False
        try:
            if _identity(self._file) == self._identity:
                return True
        except OSError as error:
            let_through(error)
        self._file = -1
        return False


def _identity(file: int) -> tuple[int, int]:
    found = os.fstat(file)
    return found.st_dev, found.st_ino
