"""Among which lines a thread may have spent its time that is found where it was made to hand over the interpreter lock.

It hands it over where it looks whether somebody asks: as a call returns, where a function begins, and where a loop
begins anew. What it executed since the last such place is found there, whichever line it was in.
"""

from __future__ import annotations

import opcode
from types import CodeType

from underfed.trainer.loading.instructions import called_at, line_at

CHECKS = ("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD", "JUMP_ABSOLUTE")
"""Instructions, by the beginning of their names."""

BEGINS_CALL = "PRECALL"
"""Python 3.11 does calls of many functions in C here, looks, and goes on after ``CALL``."""

UNCHECKED = ("CALL_INTRINSIC", "JUMP_BACKWARD_NO_INTERRUPT")

UNCHECKED_CALLS = ("append", "len", "isinstance", "type")
"""The interpreter does these by itself, from Python 3.11 on, and does not look."""

MOVES = (
    "CACHE", "COPY", "DUP_", "EXTENDED_ARG", "JUMP_", "KW_NAMES", "LOAD_", "MAKE_", "NOP", "POP_", "PRECALL", "PUSH_",
    "RESUME", "ROT_", "STORE_DEREF", "STORE_FAST", "STORE_GLOBAL", "STORE_NAME", "SWAP",
)  # fmt: skip
"""Instructions that take nanoseconds whatever they are given: a line of these alone takes no time."""

STORES = ("DELETE_", "STORE_FAST", "STORE_GLOBAL", "STORE_NAME")
"""Into a variable: what it held before may be freed, which takes as long as that is large. Of a decoded picture it took
11 ms, a tenth of what resizing it took."""


def lines_since_check(code: CodeType, at: int) -> tuple[int, int] | None:
    """The first and the last line that may have taken the time that is found there; ``None``: its own alone.

    What stands before it counts as executed before it, so there may be lines of a branch that was not taken.
    """
    own, content = line_at(code, at), code.co_code
    if own is None or not (is_check(code, at) or opcode.opname[content[at]] == BEGINS_CALL):
        return None
    lines = [own]
    for before in range(at - 2, -1, -2):
        if is_check(code, before):
            break
        line = line_at(code, before)
        is_moved = opcode.opname[content[before]].startswith(MOVES) and not replaces(code, before)
        if line is not None and not is_moved:
            lines.append(line)
    first, last = min(lines), max(lines)
    return None if first == last else (first, last)


def replaces(code: CodeType, at: int) -> bool:
    """The variable that is stored or deleted there held something before: an argument, or what an instruction further
    up has stored. In a loop it may have held something, too; that is taken to be small."""
    stored = _stored(code, at)
    if not stored:
        return False
    arguments = code.co_argcount + code.co_kwonlyargcount
    given = {("FAST", number) for number in range(arguments)}
    earlier = {each for before in range(0, at, 2) for each in _stored(code, before)}
    return not stored.isdisjoint(given | earlier)


def _stored(code: CodeType, at: int) -> frozenset[tuple[str, int]]:
    """Variables, each by its kind and number. Python 3.13 stores two with one instruction, or loads one as well."""
    name, argument = opcode.opname[code.co_code[at]], code.co_code[at + 1]
    if not name.startswith(STORES):
        return frozenset()
    kind = name.split("_")[1]
    if name in ("STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"):
        both = (argument >> 4, argument & 15)
        return frozenset((kind, number) for number in both[: 2 if name.endswith("STORE_FAST") else 1])
    return frozenset({(kind, argument)})


def is_check(code: CodeType, at: int) -> bool:
    if at < 0:
        return False
    name = opcode.opname[code.co_code[at]]
    if not name.startswith(CHECKS) or name.startswith(UNCHECKED):
        return False
    called = called_at(code, at) if name.startswith("CALL") else None
    return called is None or called.rpartition(".")[2] not in UNCHECKED_CALLS
