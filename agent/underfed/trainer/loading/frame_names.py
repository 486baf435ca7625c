"""What a place in compiled code is called: its function, its file, its line, and the function that it calls there.

A function in C has no frame. Its name is taken from the instruction that calls it, as the program wrote it:
``cv2.resize``, ``astype``. Nothing is imported, no object is looked at, and no source is read.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from types import CodeType

from underfed.exchange.stacks import TEXT_LENGTH, Frame
from underfed.host.signal_handlers import let_through
from underfed.trainer.loading.checked_lines import lines_since_check
from underfed.trainer.loading.instructions import called_at, line_at

BEGINNINGS = ("RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR")
"""A thread that is seen at one of these has done nothing in this function yet: the time is its caller's."""

INSTALLED = ("/site-packages", "/dist-packages", "/lib/python")

MOST_CODES = 5_000
"""Kept with their names. A program may compile code for each sample."""


class FrameNames:
    """Of one process. Names are kept: the same places come again and again."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}
        """By identity: code of two files is equal where it does the same."""
        self._frames: dict[tuple[int, int, bool], Frame] = {}
        self._called: dict[tuple[int, int, bool], Frame | None] = {}
        self._files: dict[str, tuple[str, bool]] = {}
        """As they are shown, and whether they are the project's own."""
        self._roots: list[str] = []

    def frame(self, code: CodeType, at: int, *, is_there: bool = True) -> Frame:
        """``at``: the frame's ``f_lasti``. ``is_there``: it was executing that, not only found there."""
        key = self._key(code, at, is_there)
        if key not in self._frames:
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            file, is_own = self._file(code.co_filename)
            lines = (None if is_there else lines_since_check(code, at)) or (None, None)
            self._frames[key] = Frame(name[:TEXT_LENGTH], file, line_at(code, at), is_own, *lines)
        return self._frames[key]

    def called(self, code: CodeType, at: int, *, is_there: bool = True) -> Frame | None:
        """What the innermost frame calls there; ``None``: nothing, or it is not known."""
        key = self._key(code, at, is_there)
        if key not in self._called:
            name, frame = called_at(code, at), self.frame(code, at, is_there=is_there)
            self._called[key] = None if name is None else replace(frame, function=name[:TEXT_LENGTH])
        return self._called[key]

    def _key(self, code: CodeType, at: int, is_there: bool) -> tuple[int, int, bool]:
        if len(self._codes) > MOST_CODES:
            self._codes.clear()
            self._frames.clear()
            self._called.clear()
            self._files.clear()
        self._codes[id(code)] = code
        return id(code), at, is_there

    def _file(self, path: str) -> tuple[str, bool]:
        self._roots = self._roots or _roots()
        if path not in self._files:
            self._files[path] = relative(path, self._roots)[-TEXT_LENGTH:], is_own(path)
        return self._files[path]


def is_beginning(code: CodeType, at: int) -> bool:
    return at < 0 or opcode.opname[code.co_code[at]] in BEGINNINGS


def relative(path: str, roots: Sequence[str]) -> str:
    """To the first of ``roots`` that it lies in; else its last two parts. What is no file stays as it is named."""
    if path.startswith("<"):
        return path
    path = str(Path(path).absolute())
    inside = next((path.removeprefix(root) for root in roots if path.startswith(root)), None)
    return inside or str(PurePath(*PurePath(path).parts[-2:]))


def is_own(path: str) -> bool:
    """Below the script, wherever that lies, or outside of where Python and packages are installed."""
    if path.startswith("<frozen"):
        return False
    within = path.removeprefix(str(Path(sys.path[0]).absolute())) if sys.path else path
    return not any(part in within for part in INSTALLED)


def working_directory() -> list[str]:
    """Empty where it was deleted."""
    try:
        return [str(Path.cwd())]
    except OSError as error:
        let_through(error)
        return []


def _roots() -> list[str]:
    """Where packages are installed, then the working directory, then other places that modules are imported from."""
    places = {str(Path(place).absolute()) for place in sys.path}
    installed = {place for place in places if any(part in place for part in INSTALLED)}
    others = sorted(places - installed, key=len, reverse=True)
    ordered = [*sorted(installed, key=len, reverse=True), *working_directory(), *others]
    return [place.rstrip("/") + "/" for place in ordered]
