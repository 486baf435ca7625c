"""Time that was found at a line, but may have been spent in those before it, is reported for all of them."""

from __future__ import annotations

import opcode
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from underfed.exchange.stacks import Frame
from underfed.trainer.loading.bursts import Bursts, times_blocked
from underfed.trainer.loading.checked_lines import is_check, lines_since_check
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.instructions import line_at
from underfed.trainer.loading.seen_code import SeenCode, named


def mixed(numbers: list[int], found: list[int]) -> int:
    total = 0
    for number in numbers:
        squared = number * number
        rest = squared % 7
        whole = abs(rest)
        same = whole
        found.append(same)
        total += whole * rest
    return total


def written(text: str) -> str:
    return str(
        text,
    )


def replaced(image: list[int]) -> float:
    image = sorted(image)
    began = time.perf_counter()
    small = sorted(image)
    ended = time.perf_counter()
    small = image
    return abs((ended - began) * len(small))


def checks(of: Callable[..., Any]) -> dict[int, tuple[int, int] | None]:
    """By line, counted from the function's first: among which lines what is found there was."""
    code = of.__code__
    first = code.co_firstlineno
    found: dict[int, tuple[int, int] | None] = {}
    for at in range(0, len(code.co_code), 2):
        line = line_at(code, at)
        if is_check(code, at) and line is not None and line > first:
            among = lines_since_check(code, at)
            found[line - first] = among and (among[0] - first, among[1] - first)
    return found


def test_a_call_is_found_with_the_operators_before_it_back_to_the_last_check() -> None:
    found = checks(mixed)
    assert found[5] == (2, 5), "the loop's next item, two operators, and the call"
    if sys.version_info >= (3, 11):
        assert 7 not in found, "the interpreter appends by itself, and does not look"
        assert (7, 8) in found.values(), "as the loop begins anew: since the call, but for what only moves a value"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the only one with such an instruction")
def test_a_call_is_found_where_it_begins_too() -> None:
    code = mixed.__code__
    at = next(at for at in range(0, len(code.co_code), 2) if opcode.opname[code.co_code[at]] == "PRECALL")
    assert lines_since_check(code, at) == lines_since_check(code, place_of_call(code))


def test_what_freeing_a_value_takes_may_be_found_at_the_next_call() -> None:
    """As the variable is given another one: ``now = time.time()`` after that was reported for it."""
    found = checks(replaced)
    assert found[2] == (1, 2), "what was given is freed"
    assert found[4] is None, "nothing was stored there before"
    assert found[6] == (5, 6)


def test_a_call_that_is_written_in_several_lines_is_one_line() -> None:
    assert set(checks(written).values()) == {None}


def place_of_call(code: CodeType) -> int:
    return next(at for at in range(0, len(code.co_code), 2) if is_check(code, at) and lines_since_check(code, at))


def test_what_was_being_executed_keeps_its_line(tmp_path: Path) -> None:
    code = mixed.__code__
    at, names = place_of_call(code), FrameNames()
    line, among = line_at(code, at), lines_since_check(code, at)
    sure, unsure = (named([(code, at)], names, is_there=is_there) for is_there in (True, False))
    assert {(each.line, each.first_line, each.last_line) for each in sure} == {(line, None, None)}
    assert among is not None
    assert {(each.line, each.first_line, each.last_line) for each in unsure} == {(line, *among)}
    seen = SeenCode(tmp_path / "stacks")
    seen.path.touch()  # not read yet: what is seen is kept until it is
    for is_there in (True, False, False):
        seen.add("getitem", [(code, at)], 1, 0, is_there=is_there)
    seen.keep(names)
    counts = {frames[-1].first_line: sum(samples) for (_, frames), samples in seen.seen.samples.items()}
    assert counts == {None: 1, among[0]: 2}


def test_a_caller_is_where_it_called() -> None:
    code, names = mixed.__code__, FrameNames()
    at = place_of_call(code)
    caller, *_ = named([(code, at), (code, at)], names, is_there=False)
    assert caller == Frame(caller.function, caller.file, line_at(code, at), caller.is_own)


@contextmanager
def looking(found: list[bool]) -> Iterator[None]:
    """Another thread that notes after each sleep whether the lock was free."""
    bursts, is_over = Bursts(0, is_always=True), threading.Event()

    def look() -> None:
        while not is_over.is_set():
            bursts.sleep(threading.get_ident())
            found.append(bursts.found_lock_free)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        bursts.end()


@pytest.mark.skipif(times_blocked() == 0, reason="this system does not say how often a thread was blocked")
@pytest.mark.parametrize("is_free", [True, False])
def test_it_is_known_whether_the_thread_had_released_the_lock(is_free: bool) -> None:
    found: list[bool] = []
    with looking(found):
        while is_free not in found[2:]:
            if is_free:
                time.sleep(0.5)
            else:
                sum(range(20_000))
    assert is_free in found
