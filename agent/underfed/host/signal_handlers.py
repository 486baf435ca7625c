"""Recognises what a signal handler of the program raised while our code ran: that is the program's, not ours to handle.

A handler in Python runs between two instructions of the main thread, wherever that is: with an alarm it raises
``TimeoutError``, torch's raises ``RuntimeError`` when a worker was killed. What it raises seems to come from our line.
"""

from __future__ import annotations

import signal
from types import CodeType, FrameType, TracebackType
from typing import Any


def let_through(error: BaseException) -> None:
    """Raise it again where a signal handler raised it. Called first in each of our handlers that could catch such."""
    if _is_a_handlers(error.__traceback__):
        raise error


class passing:  # noqa: N801 - in the place of ``suppress``
    """``contextlib.suppress``, but for what a signal handler raised."""

    __slots__ = ("_kinds",)

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        return isinstance(error, self._kinds) and not _is_a_handlers(error.__traceback__)


def _is_a_handlers(traceback: TracebackType | None) -> bool:
    """Whether one of its frames is a handler's: installed as one, or called with the frame that it interrupted."""
    interrupted: FrameType | None = None
    installed: set[CodeType] | None = None
    while traceback is not None:
        frame = traceback.tb_frame
        if interrupted is not None:
            if _is_called_with(frame, interrupted):
                return True
            if installed is None:
                installed = _installed()
            if frame.f_code in installed:
                return True
        interrupted, traceback = frame, traceback.tb_next
    return False


def _is_called_with(frame: FrameType, interrupted: FrameType) -> bool:
    """As ``handler(number, frame)``: also where it is a method, or has restored the handler before it."""
    code = frame.f_code
    count = code.co_argcount + bool(code.co_flags & 0x04)  # with *arguments
    given: list[Any] = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    return any(each is interrupted or (isinstance(each, tuple) and interrupted in each) for each in given)


def _installed() -> set[CodeType]:
    """The code of all handlers in Python. One installed in a C function's place has none."""
    handlers: list[Any] = [signal.getsignal(number) for number in signal.valid_signals()]
    plain = [getattr(each, "func", each) for each in handlers if callable(each)]
    named = [getattr(each, "__func__", each) for each in plain]
    codes = [getattr(each, "__code__", None) or getattr(type(each).__call__, "__code__", None) for each in named]
    return {code for code in codes if isinstance(code, CodeType)}
