"""What a place in compiled code is called: its function, its file, its line, and the function that it calls there.

A function in C has no frame. Its name is taken from the instruction that calls it, as the program wrote it:
``cv2.resize``, ``astype``. Nothing is imported, no object is looked at, and no source is read.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from types import CodeType
from typing import NamedTuple

from underfed.exchange.stacks import TEXT_LENGTH, Frame
from underfed.host.signal_handlers import let_through

BEGINNINGS = ("RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR")
"""A thread that is seen at one of these has done nothing in this function yet: the time is its caller's."""

SYMBOLS: list[tuple[str, str]] = getattr(opcode, "_nb_ops", [])
"""Of ``BINARY_OP`` by its argument, as ``dis`` prints them."""

INSTALLED = ("/site-packages", "/dist-packages", "/lib/python")

HAS_PLACES = sys.version_info >= (3, 11)
"""It is known where in a line an instruction stands."""

ATTRIBUTE_SHIFT = sys.version_info >= (3, 12)
"""An attribute's argument has the number of its name from the second bit on."""

MOST_CODES = 5_000
"""Kept with their names. A program may compile code for each sample."""


class _Instruction(NamedTuple):
    name: str
    argument: int
    start: tuple[int, int] | None
    """Line and column in which what it computes begins; ``None``: not known."""


class FrameNames:
    """Of one process. Names are kept: the same places come again and again."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}
        """By identity: code of two files is equal where it does the same."""
        self._frames: dict[tuple[int, int], Frame] = {}
        self._called: dict[tuple[int, int], Frame | None] = {}
        self._files: dict[str, tuple[str, bool]] = {}
        """As they are told, and whether they are the project's own."""
        self._roots: list[str] = []

    def frame(self, code: CodeType, at: int) -> Frame:
        """``at``: the frame's ``f_lasti``."""
        key = self._key(code, at)
        if key not in self._frames:
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            file, is_own = self._file(code.co_filename)
            self._frames[key] = Frame(name[:TEXT_LENGTH], file, _line(code, at), is_own)
        return self._frames[key]

    def called(self, code: CodeType, at: int) -> Frame | None:
        """What the innermost frame calls there; ``None``: nothing, or it is not known."""
        key = self._key(code, at)
        if key not in self._called:
            name, frame = called_at(code, at), self.frame(code, at)
            self._called[key] = None if name is None else replace(frame, function=name[:TEXT_LENGTH])
        return self._called[key]

    def _key(self, code: CodeType, at: int) -> tuple[int, int]:
        if len(self._codes) > MOST_CODES:
            self._codes.clear()
            self._frames.clear()
            self._called.clear()
            self._files.clear()
        self._codes[id(code)] = code
        return id(code), at

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


def _line(code: CodeType, at: int) -> int | None:
    return next((line for start, end, line in code.co_lines() if start <= at < end), None)


def called_at(code: CodeType, at: int) -> str | None:
    """The name of what is called there, or of the operator that is applied: ``np.random.rand``, ``astype``,
    ``operator *``.

    Of what begins with a global name all parts are told; of an attribute of anything else, its own name alone.
    """
    if not HAS_PLACES or at < 0:
        return None
    *before, last = _instructions(code, at)
    if last.name == "BINARY_OP":
        return f"operator {SYMBOLS[last.argument][1]}" if last.argument < len(SYMBOLS) else None
    if not last.name.startswith(("CALL", "PRECALL")) or last.start is None:
        return None
    # The callee begins where its call does, and so does each part of it; its arguments begin later.
    parts = _parts(code, [each for each in before if each.start == last.start])
    return ".".join(parts) or None


def _parts(code: CodeType, instructions: list[_Instruction]) -> list[str]:
    """Names that these put together; empty: they end in something without a name."""
    parts: list[str] = []
    is_global = False
    for each in instructions:
        if each.name == "LOAD_GLOBAL":
            parts, is_global = [code.co_names[each.argument >> 1]], True
        elif each.name in ("LOAD_ATTR", "LOAD_METHOD"):
            name = code.co_names[each.argument >> ATTRIBUTE_SHIFT]
            parts = [*parts, name] if is_global else [name]
        elif each.name.startswith(("LOAD_", "CALL", "BINARY_")):
            parts, is_global = [], False
    return parts


def _instructions(code: CodeType, last: int) -> Iterator[_Instruction]:
    """Up to the one at ``last``."""
    content, argument = code.co_code, 0
    for at, (line, _, column, _) in zip(range(0, last + 2, 2), code.co_positions(), strict=False):
        name = opcode.opname[content[at]]
        argument = argument << 8 | content[at + 1]
        if name == "EXTENDED_ARG":
            continue
        start = None if line is None or column is None else (line, column)
        yield _Instruction(name, argument, start)
        argument = 0
