"""Which functions of loading changed between runs: in time where it is known, by more than chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.app.comparison.made_side import made_side
from tests.app.made_facts import made_run
from tests.fakes.looks import evenly
from underfed_server.comparison.side import Side
from underfed_server.comparison.side_by_side import compare_sides
from underfed_server.model import ComparedHotspot, Comparison
from underfed_server.store.reading.stacks import Samples
from underfed_server.terminal.comparison import render_comparison

GETITEM, RESIZE, DECODE = ("__getitem__", "data.py", 41), ("resize", "PIL/Image.py", 2440), ("decode", "data.py", 52)


def side(name: str, resizing: int, decoding: int, load_ms: float | None = 20.0, line: int = 41, **changes: Any) -> Side:
    """A run whose loading was seen to resize and to decode so often, and takes so long a batch."""
    rank = made_run(wait_ms=[9.0, 12.0, 9.0], num_workers=2, load_cpu_ms=load_ms or 0.0).ranks[0]
    if load_ms is None:
        rank = replace(rank, batches=replace(rank.batches, load_us=rank.batches.load_us * float("nan")))
    outer = ("__getitem__", "data.py", line)
    seen: Samples = {
        ("getitem", (outer, RESIZE)): np.array(evenly(resizing)),
        ("getitem", (outer, DECODE)): np.array(evenly(decoding)),
    }
    return replace(made_side(name, rank, **changes), samples=seen)


def functions(found: Comparison) -> dict[str, ComparedHotspot]:
    return {each.function: each for each in found.hotspots}


def test_what_became_quicker_is_first_and_the_others_did_not_change() -> None:
    found = compare_sides([side("a", 500, 500, 20.0), side("b", 200, 800, 12.5)])
    resize, getitem, decode = found.hotspots
    assert (resize.function, resize.file, resize.stage, resize.lines) == (
        "resize",
        "PIL/Image.py",
        "getitem",
        [2440] * 2,
    )
    assert (resize.total_fractions, resize.differs) == ([0.5, 0.2], True)
    assert resize.total_us == pytest.approx([10_000, 2_500])
    assert (getitem.differs, getitem.self_fractions) == (True, [0.0, 0.0])
    assert getitem.total_us == pytest.approx([20_000, 12_500])
    assert (decode.differs, decode.total_us) == (False, [10_000, 10_000]), "its share grew, its time did not"


def test_where_no_time_is_known_shares_are_compared() -> None:
    found = functions(compare_sides([side("a", 500, 500, None), side("b", 200, 800, None)]))
    assert found["decode"].differs
    assert found["decode"].total_us == [None, None]
    assert not found["__getitem__"].differs


def test_few_samples_show_no_difference_that_many_do() -> None:
    few = functions(compare_sides([side("a", 60, 60), side("b", 54, 66)]))
    many = functions(compare_sides([side("a", 6000, 6000), side("b", 5400, 6600)]))
    assert [few["resize"].differs, many["resize"].differs] == [False, True]


def test_a_function_that_only_one_run_has_is_shown() -> None:
    other = side("b", 500, 500)
    other = replace(other, samples={("getitem", (GETITEM, ("cv2.resize", "data.py", 41))): np.array(evenly(1000))})
    found = functions(compare_sides([side("a", 500, 500), other]))
    assert (found["cv2.resize"].total_fractions, found["cv2.resize"].lines) == ([0.0, 1.0], [None, 41])
    assert found["cv2.resize"].differs and found["resize"].differs


def test_a_function_whose_line_moved_is_the_same() -> None:
    found = functions(compare_sides([side("a", 500, 500), side("b", 500, 500, line=44)]))
    assert found["__getitem__"].lines == [41, 44]
    assert not any(each.differs for each in found.values())


def test_per_sample_where_samples_are_compared() -> None:
    found = compare_sides([side("a", 500, 500, 20.0, batch=32), side("b", 500, 500, 40.0, batch=64)])
    assert found.per == "samples"
    assert functions(found)["resize"].total_us == pytest.approx([312.5, 312.5])
    assert not any(each.differs for each in found.hotspots)


def test_a_run_that_was_not_sampled_has_no_values_and_says_why() -> None:
    bare = replace(side("b", 0, 0), samples={}, why_unsampled="switched off by UNDERFED_STACKS=0")
    found = compare_sides([side("a", 500, 500), bare])
    assert [run.hotspots_missing for run in found.runs] == [None, "switched off by UNDERFED_STACKS=0"]
    assert functions(found)["resize"].total_fractions == [0.5, None]
    assert not any(each.differs for each in found.hotspots)


def printed(found: Comparison) -> list[str]:
    console = Console(width=80, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_comparison(found))
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_the_terminal_prints_what_changed() -> None:
    lines = printed(compare_sides([side("a", 500, 500, 20.0), side("b", 200, 800, 12.5)]))
    at = lines.index("Loading that changed time of a step's loading")
    assert lines[at + 2 : at + 4] == ["resize PIL/Image.py 10 ms 2.5 ms", "__getitem__ data.py 20 ms 12.5 ms"]
    lines = printed(compare_sides([side("a", 500, 500, None), side("b", 200, 800, None)]))
    at = lines.index("Loading that changed share of loading")
    assert sorted(lines[at + 2 : at + 4]) == ["decode data.py 50% 80%", "resize PIL/Image.py 50% 20%"]
    assert not any(
        "Loading that changed" in line for line in printed(compare_sides([side("a", 9, 9), side("b", 9, 9)]))
    )
