"""Watches any iterable of batches that is not a DataLoader, through a stand-in that passes everything on.

Wait and step are measured. How its batches are loaded cannot be seen from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import now_ns
from underfed.trainer.hooks.session import Session

NO_DATALOADER = "not a torch DataLoader"

SPECIAL = (
    "__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__reversed__", "__call__", "__bool__",
    "__enter__", "__exit__", "__aenter__", "__aexit__", "__length_hint__",
)  # fmt: skip
"""Methods that Python looks up in the type: the stand-in has those that the original's type has."""

OpenPlain = Callable[[Any], "Session | None"]
"""Called with the stand-in when a pass over it begins."""

ITERABLE, OPEN, PASS = "_underfed_iterable", "_underfed_open", "_underfed_pass"


def stand_in(iterable: Any, open_session: OpenPlain) -> Any:
    """An object that iterates like ``iterable`` and measures how long each ``next()`` takes.

    Attributes, ``isinstance``, ``len()`` and whatever else its type offers are those of the original.
    """
    kind = type(iterable)
    special: dict[str, Any] = {name: _passed_on(name) for name in SPECIAL if hasattr(kind, name)}
    if hasattr(kind, "__next__"):
        special["__next__"] = _next
        same = getattr(getattr(kind, "next", None), "__code__", None)
        if same is not None and same.co_argcount == 1:  # DALI's iterators have a ``next()`` of their own
            special["next"] = _next
    special["__dict__"] = property(lambda self: _iterable(self).__dict__)
    derived = type(kind.__name__, (StandIn,), {**special, "__slots__": (), "__doc__": kind.__doc__})
    return derived(iterable, open_session)


def is_stand_in(thing: Any) -> bool:
    return StandIn in type(thing).__mro__


class StandIn:
    """See ``stand_in``, which derives from it."""

    # The dictionary stays empty: Dynamo asks the object for one without asking the type, which shows the original's.
    __slots__ = (ITERABLE, OPEN, PASS, "__dict__", "__weakref__")

    def __init__(self, iterable: Any, open_session: OpenPlain) -> None:
        object.__setattr__(self, ITERABLE, iterable)
        object.__setattr__(self, OPEN, open_session)
        object.__setattr__(self, PASS, None)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(_iterable(self))

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(_iterable(self))
        return WatchedIterator(iterator, object.__getattribute__(self, OPEN)(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(_iterable(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_iterable(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_iterable(self), name)

    def __repr__(self) -> str:
        return repr(_iterable(self))

    def __dir__(self) -> list[str]:
        return dir(_iterable(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process, which does not train, gets the original."""
        return _original, (_iterable(self),)


class WatchedIterator:
    """One pass over the original's batches."""

    __slots__ = ("_batches", "_iterator", "_session")

    def __init__(self, iterator: Iterator[Any], session: Session | None) -> None:
        self._iterator = iterator
        self._session = session
        self._batches = 0

    def __iter__(self) -> WatchedIterator:
        return self

    def __next__(self) -> Any:
        session = self._session
        if session is None:
            return next(self._iterator)
        is_timed = _begin(session)
        entered_ns = now_ns()
        try:
            batch = next(self._iterator)
        except BaseException as error:
            _stopped(session, isinstance(error, StopIteration), entered_ns)
            raise
        _left(session, batch, self._batches, entered_ns, is_timed)
        self._batches += 1
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _next(self: StandIn) -> Any:
    """For an iterable that is its own iterator, such as a generator, and is used without ``iter()``. Batches after its
    end, because it was reset, belong to another pass."""
    watched: WatchedIterator | None = object.__getattribute__(self, PASS)
    if watched is None:
        watched = WatchedIterator(_iterable(self), object.__getattribute__(self, OPEN)(self))
        object.__setattr__(self, PASS, watched)
    try:
        return next(watched)
    except StopIteration:
        object.__setattr__(self, PASS, None)
        raise


def _iterable(stand_in: StandIn) -> Any:
    return object.__getattribute__(stand_in, ITERABLE)


def _original(iterable: Any) -> Any:
    return iterable


def _passed_on(name: str) -> Callable[..., Any]:
    def passed_on(self: StandIn, *arguments: Any, **named: Any) -> Any:
        return getattr(type(_iterable(self)), name)(_iterable(self), *arguments, **named)

    passed_on.__name__ = name
    return passed_on


def _begin(session: Session) -> bool:
    """Whether the device is watched in this step."""
    try:
        if session.is_inspected:
            session.begin_inspection(now_ns())
        return session.device is not None and session.device.entered(session.loader.steps, True)
    except Exception as error:
        session.loader.guard.failed("request", error)
        return False


def _left(session: Session, batch: Any, index: int, entered_ns: int, is_timed: bool) -> None:
    left_ns = now_ns()
    try:
        step = session.handed_out(index, entered_ns, left_ns, NOT_MEASURED, session.device, is_timed)
        if session.is_inspected:
            session.end_inspection(batch, index, entered_ns, left_ns, now_ns())
        elif left_ns >= session.next_look_ns:
            session.is_inspected = session.is_due(step, left_ns)
    except Exception as error:
        session.loader.guard.failed("step", error)


def _stopped(session: Session, is_over: bool, entered_ns: int) -> None:
    try:
        session.stopped(None, is_over, entered_ns, now_ns())
    except Exception as error:
        session.loader.guard.failed("end of epoch", error)
