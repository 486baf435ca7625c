"""A file that is read for as long as the program runs: a program may close every number that it does not know, as code
that makes a daemon does, and then the number is another file's."""

from __future__ import annotations

import itertools
import os

from underfed.host.signal_handlers import let_through

FIRST_POSITION = 1 << 40
"""Of the first such file: far beyond any byte that a program reads or writes there."""

_positions = itertools.count(FIRST_POSITION)


class OwnFile:
    """Reads and closes the number only while it is the file that was opened.

    Its position shows that: no other file is at it, and reads here do not move it. To ask for it takes 0.6 µs where a
    read takes 2 to 4 µs; to ask which file it is takes 1.5 to 2.7 µs.
    """

    __slots__ = ("_file", "_position")

    def __init__(self, path: str) -> None:
        self._file = -1
        self._position = next(_positions)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            let_through(error)
            return
        try:
            os.lseek(file, self._position, os.SEEK_SET)
            self._file = file
        except OSError as error:
            let_through(error)
            os.close(file)

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
        if hasattr(self, "_position"):  # not there where a signal interrupted the constructor
            self.close()

    def _is_own(self) -> bool:
        if self._file < 0:
            return False
        try:
            if os.lseek(self._file, 0, os.SEEK_CUR) == self._position:
                return True
        except OSError as error:
            let_through(error)
        self._file = -1
        return False
