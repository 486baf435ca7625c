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
        if line is not None and not opcode.opname[content[before]].startswith(MOVES):
            lines.append(line)
    first, last = min(lines), max(lines)
    return None if first == last else (first, last)


def is_check(code: CodeType, at: int) -> bool:
    if at < 0:
        return False
    name = opcode.opname[code.co_code[at]]
    if not name.startswith(CHECKS) or name.startswith(UNCHECKED):
        return False
    called = called_at(code, at) if name.startswith("CALL") else None
    return called is None or called.rpartition(".")[2] not in UNCHECKED_CALLS
