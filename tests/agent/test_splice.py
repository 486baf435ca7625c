"""Calls of ours within a function: it answers, raises, warns and is traced as before, and comes back as it was."""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from underfed.trainer.splice import Around, AtCall, Replaced, Spliced, splice, wrap

AROUND = Around(("value",), "entered", "left", "stopped")


class Calls:
    """Notes what it is called with. ``token`` is what ``entered`` gives."""

    def __init__(self, token: Any = "token") -> None:
        self.token = token
        self.seen: list[tuple[Any, ...]] = []

    def entered(self, value: Any) -> Any:
        self.seen.append(("entered", value))
        return self.token

    def left(self, token: Any, value: Any, result: Any) -> Any:
        self.seen.append(("left", token, value, result))
        return result

    def stopped(self, token: Any, value: Any) -> None:
        self.seen.append(("stopped", token, value, type(sys.exc_info()[1]).__name__))

    def instead(self, value: Any) -> Any:
        return "instead" if value == 7 else None

    def before(self, value: Any) -> Any:
        self.seen.append(("before", value))
        return "before"

    def after(self, token: Any, result: Any) -> Any:
        self.seen.append(("after", token, result))
        return result


def helper(value: int) -> int:
    if value < 0:
        raise ValueError(value)
    return value * 2


def plain(value: int) -> Any:  # noqa: RET503 – the end without return is part of the test
    """Its documentation."""
    if value == 1:
        return helper(value)

    def inner() -> str:
        return "inner"

    if value == 2:
        warnings.warn("two", stacklevel=2)
        return inner(), helper(value)
    helper(-value if value == 3 else value)


class Base:
    def method(self, value: int) -> str:
        return f"base {value}"


class Derived(Base):
    def method(self, value: int) -> str:
        return "derived " + super().method(value)


def several(value: int) -> list[int]:
    return [helper(value), *(helper(each) for each in range(value))]


def generator(value: int) -> Iterator[int]:
    yield value


@pytest.fixture
def spliced() -> Iterator[list[Spliced]]:
    made: list[Spliced] = []
    yield made
    for each in made:
        each.undo()


def put(made: list[Spliced], function: Any, seam: Around | AtCall, calls: Calls) -> Calls:
    found = splice(function, seam, calls)
    assert found is not None
    made.append(found)
    return calls


def outcome(value: int) -> list[Any]:
    """Everything that a caller can see: the result or traceback, and where warnings point."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = repr(plain(value))
        except ValueError:
            result = traceback.format_exc()
    return [result, [(each.filename, each.lineno, str(each.message)) for each in warned]]


def test_result_traceback_and_place_of_warnings_are_the_same(spliced: list[Spliced]) -> None:
    before = [outcome(value) for value in range(5)]
    calls = put(spliced, plain, AROUND, Calls())
    assert [outcome(value) for value in range(5)] == before
    assert [each[0] for each in calls.seen] == ["entered", "left"] * 3 + ["entered", "stopped"] + ["entered", "left"]


def test_what_is_returned_passes_through_and_what_is_raised_is_seen(spliced: list[Spliced]) -> None:
    calls = put(spliced, plain, AROUND, Calls())
    plain(1)
    plain(4)
    with pytest.raises(ValueError, match="-3"):
        plain(3)
    assert calls.seen == [
        ("entered", 1), ("left", "token", 1, 2),
        ("entered", 4), ("left", "token", 4, None),
        ("entered", 3), ("stopped", "token", 3, "ValueError"),
    ]  # fmt: skip


def test_without_a_token_nothing_more_is_called(spliced: list[Spliced]) -> None:
    calls = put(spliced, plain, AROUND, Calls(token=None))
    assert plain(1) == 2
    with pytest.raises(ValueError, match="-3"):
        plain(3)
    assert calls.seen == [("entered", 1), ("entered", 3)]


def test_the_body_may_be_left_out(spliced: list[Spliced]) -> None:
    seam = Around(("value",), "entered", "left", "stopped", instead="instead")
    calls = put(spliced, plain, seam, Calls())
    assert plain(7) == "instead"
    assert calls.seen == []
    assert plain(1) == 2


def test_a_method_finds_its_base(spliced: list[Spliced]) -> None:
    calls = put(spliced, Derived.method, Around(("self", "value"), "entered_pair", "left_pair"), PairCalls())
    assert Derived().method(3) == "derived base 3"
    assert calls.seen == [("entered", 3), ("left", "derived base 3")]


class PairCalls(Calls):
    def entered_pair(self, owner: Any, value: int) -> str:
        self.seen.append(("entered", value))
        return "token"

    def left_pair(self, token: str, owner: Any, value: int, result: str) -> str:
        self.seen.append(("left", result))
        return result


def test_a_method_is_looked_up_as_it_is_put_in_and_not_in_each_call(spliced: list[Spliced]) -> None:
    calls = put(spliced, plain, AROUND, Calls())
    vars(calls)["entered"] = None
    assert plain(1) == 2
    assert [each[0] for each in calls.seen] == ["entered", "left"]


def test_a_call_is_timed_where_it_stands(spliced: list[Spliced]) -> None:
    calls = put(spliced, several, AtCall("helper", ("value",), "before", "after"), Calls())
    assert several(2) == [4, 0, 2]
    assert [each[0] for each in calls.seen] == ["before", "after"] * 3


def test_undone_it_is_the_very_code_it_was() -> None:
    code = plain.__code__
    found = splice(plain, AROUND, Calls())
    assert found is not None
    assert plain.__code__ is not code
    assert inspect.getsource(plain).startswith("def plain")
    found.undo()
    assert plain.__code__ is code


def test_what_was_put_in_after_us_stays() -> None:
    code = plain.__code__
    ours = splice(plain, AROUND, Calls())
    assert ours is not None
    plain.__code__ = theirs = code.replace(co_name="theirs")
    ours.undo()
    assert plain.__code__ is theirs
    plain.__code__ = code


def closure() -> Any:
    outside = 1

    def inner(value: int) -> int:
        return value + outside

    return inner


def without_source() -> Any:
    space: dict[str, Any] = {}
    exec(compile("def made(value): return value", "nowhere.py", "exec"), space)
    return space["made"]


@pytest.mark.parametrize(
    ("function", "seam"),
    [
        (generator, AROUND),
        (plain, Around(("other",), "entered", "left")),
        (plain, AtCall("absent", ("value",), "before", "after")),
        (several, AtCall("helper", ("absent",), "before", "after")),
        (without_source(), AROUND),
        (len, AROUND),
        (Calls, AROUND),
    ],
)
def test_what_is_not_as_expected_is_left_alone(function: Any, seam: Around | AtCall) -> None:
    code: CodeType | None = getattr(function, "__code__", None)
    assert splice(function, seam, Calls()) is None
    assert getattr(function, "__code__", None) is code


def test_a_closure_keeps_its_variables_or_is_left_alone() -> None:
    inner = closure()
    calls = Calls()
    found = splice(inner, AROUND, calls)
    assert inner(2) == 3
    assert (found is None) == (calls.seen == [])


BODY = """import os
def made(value):
    def inner(number):
        return number + 1
    try:
        return inner(value), "text", os.sep.join(["a", "b"])
    except ValueError:
        return None
"""


def made_of(path: Path, source: str) -> Any:
    space: dict[str, Any] = {}
    path.write_text(source)
    exec(compile(source, str(path), "exec"), space)
    return space["made"]


def test_a_function_whose_file_is_its_own_is_spliced(tmp_path: Path, spliced: list[Spliced]) -> None:
    made = made_of(tmp_path / "own.py", BODY)
    expected = made(1)
    calls = put(spliced, made, AROUND, Calls())
    assert made(1) == expected
    assert len(calls.seen) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("os.sep", "os.pathsep"),
        ('"text"', '"test"'),
        ("number + 1", "number - 1"),
        ("number + 1", "number + 2"),
        ("number + 1", "number + 1.0"),
        ("ValueError", "TypeError"),
        ("    try:", "\n    try:"),
        *([("inner(value), ", "inner( value), ")] if sys.version_info >= (3, 11) else []),  # 3.10 knows no columns
    ],
)
def test_a_file_that_was_replaced_under_the_program_is_not_put_in(tmp_path: Path, old: str, new: str) -> None:
    """However little it differs: another instruction, another constant within a function within, another line."""
    path = tmp_path / "replaced.py"
    made = made_of(path, BODY)
    path.write_text(BODY.replace(old, new))
    code = made.__code__
    assert splice(made, AROUND, Calls()) is None
    assert made.__code__ is code


# Statements of ours may stand in the function instead of calls.

TAKEN_OVER = Around(("value",), "entered_here", "left_here", "stopped", is_taken_over=True)
SECOND, WORD, LIST = 2, "word", [1]


class Taken(Calls):
    """Its statements use what statements may: their own variables, attributes, numbers and texts of the module."""

    def entered_here(self, value: Any) -> Any:
        """This is no statement."""
        token: Any = self.token
        if token is not None:
            try:
                self.seen.append(("entered", value, SECOND))
                if value == self.refused:
                    {"": 0}[WORD]
            except KeyError as error:
                self.seen.append(("failed", value, str(error)))
                token = None
        return token

    def left_here(self, token: Any, value: Any, result: Any) -> None:
        number = self.seen
        number.append(("left", token, value, result))

    def early(self, value: Any) -> Any:
        if value:
            return None
        return value

    def with_a_list(self, value: Any) -> Any:
        return LIST

    refused: Any = None


def test_statements_in_a_function_do_what_calls_would(spliced: list[Spliced]) -> None:
    before = [outcome(value) for value in range(5)]
    names = plain.__code__.co_varnames
    calls = Taken()
    put(spliced, plain, TAKEN_OVER, calls)
    assert [outcome(value) for value in range(5)] == before
    assert [each[0] for each in calls.seen] == ["entered", "left"] * 3 + ["entered", "stopped"] + ["entered", "left"]
    assert calls.seen[2:4] == [("entered", 1, 2), ("left", "token", 1, 2)]
    assert all(name.startswith("_underfed") for name in set(plain.__code__.co_varnames) - set(names))


def test_statements_may_give_no_token(spliced: list[Spliced]) -> None:
    calls = Taken()
    calls.refused = 1
    put(spliced, plain, TAKEN_OVER, calls)
    assert (plain(1), plain(4)) == (2, None)
    assert calls.seen == [
        ("entered", 1, 2), ("failed", 1, "'word'"),
        ("entered", 4, 2), ("left", "token", 4, None),
    ]  # fmt: skip


@pytest.mark.parametrize("entered", ["early", "with_a_list"])
def test_statements_that_cannot_stand_elsewhere_are_not_put_anywhere(entered: str) -> None:
    code = plain.__code__
    seam = Around(("value",), entered, "left_here", is_taken_over=True)
    assert splice(plain, seam, Taken()) is None
    assert plain.__code__ is code


def test_a_call_is_left_alone_while_nothing_is_timed(spliced: list[Spliced]) -> None:
    seam = AtCall("helper", ("value",), "before", "after", only_while="token")
    calls = put(spliced, several, seam, Calls(token=None))
    assert several(2) == [4, 0, 2]
    assert calls.seen == []
    calls.token = True
    assert several(2) == [4, 0, 2]
    assert [each[0] for each in calls.seen] == ["before", "after"] * 3


# Where the source is not known, a function of ours goes around.


class Sourceless:
    exec("def method(self, value, *more, **named):\n    return helper(value), more, named", globals(), locals())
    method: Any


METHOD = Around(("self", "value"), "entered_pair", "left_pair", "stopped_pair")


class WrappedCalls(PairCalls):
    def left_pair(self, token: str, owner: Any, value: int, result: Any) -> Any:
        self.seen.append(("left", token, value, result))
        return result

    def stopped_pair(self, token: str, owner: Any, value: int) -> None:
        self.seen.append(("stopped", token, value, type(sys.exc_info()[1]).__name__))


@pytest.fixture
def wrapped() -> Iterator[tuple[type[Any], WrappedCalls]]:
    calls = WrappedCalls()
    original = vars(Sourceless)["method"]
    assert splice(original, METHOD, calls) is None
    change = wrap(Sourceless, "method", METHOD, calls)
    assert change is not None
    yield Sourceless, calls
    change.undo()
    assert vars(Sourceless)["method"] is original


def test_what_cannot_be_spliced_is_wrapped(wrapped: tuple[type[Any], WrappedCalls]) -> None:
    kind, calls = wrapped
    assert kind().method(2, 3, a=4) == (4, (3,), {"a": 4})
    assert kind().method(value=2) == (4, (), {})
    with pytest.raises(ValueError, match="-3"):
        kind().method(-3)
    assert [each[0] for each in calls.seen] == ["entered", "left", "entered", "left", "entered", "stopped"]
    assert str(inspect.signature(kind.method)) == "(self, value, *more, **named)"


def test_what_was_put_around_us_stays(wrapped: tuple[type[Any], WrappedCalls]) -> None:
    kind, _ = wrapped
    ours = vars(kind)["method"]
    change = Replaced(kind, "method", None, ours)
    kind.method = lambda *arguments: [*ours(*arguments)]
    theirs = vars(kind)["method"]
    change.undo()
    assert vars(kind)["method"] is theirs
    assert kind().method(2)[0] == 4
    kind.method = ours


@pytest.mark.parametrize("names", [("value",), ("self", "other"), ("self", "value", "more", "x")])
def test_a_method_called_otherwise_is_not_wrapped(names: tuple[str, ...]) -> None:
    assert wrap(Sourceless, "method", Around(names, "entered"), Calls()) is None
    assert wrap(Sourceless, "absent", METHOD, Calls()) is None


def test_code_that_a_tool_watches_is_watched_with_our_calls_in_it(spliced: list[Spliced]) -> None:
    """``sys.monitoring`` of Python 3.12: coverage, debuggers and profilers see the lines that they would have seen."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        pytest.skip("this Python has no sys.monitoring")
    lines: list[int] = []

    def line(code: CodeType, number: int) -> None:
        if code.co_name == "plain":
            lines.append(number - code.co_firstlineno)

    monitoring.use_tool_id(monitoring.PROFILER_ID, "test")
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.LINE, line)
    monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.LINE)
    try:
        plain(1)
        seen, calls = set(lines), put(spliced, plain, AROUND, Calls())
        lines.clear()
        plain(1)
    finally:
        monitoring.set_events(monitoring.PROFILER_ID, 0)
        monitoring.free_tool_id(monitoring.PROFILER_ID)
    assert seen <= set(lines) <= {*seen, 0}
    assert len(calls.seen) == 2
