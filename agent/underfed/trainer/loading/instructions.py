"""What the instructions of compiled code say: their lines, and what they call. No source is read."""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

SYMBOLS: list[tuple[str, str]] = getattr(opcode, "_nb_ops", [])
"""Of ``BINARY_OP`` by its argument, as ``dis`` prints them."""

HAS_PLACES = sys.version_info >= (3, 11)
"""It is known where in a line an instruction stands."""

ATTRIBUTE_SHIFT = sys.version_info >= (3, 12)
"""An attribute's argument has the number of its name from the second bit on."""


class _Instruction(NamedTuple):
    name: str
    argument: int
    start: tuple[int, int] | None
    """Line and column in which what it computes begins; ``None``: not known."""


def line_at(code: CodeType, at: int) -> int | None:
    return next((line for start, end, line in code.co_lines() if start <= at < end), None)


def called_at(code: CodeType, at: int) -> str | None:
    """The name of what is called there, or of the operator that is applied: ``np.random.rand``, ``astype``,
    ``operator *``.

    Of what begins with a global name all parts are named; of an attribute of anything else, its own name alone.
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
