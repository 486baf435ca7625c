"""Beside coverage, debuggers and decorators of others: what they see and do is as without us, and so are we."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from torch.utils.data import DataLoader, dataloader

import underfed
from tests.fakes.forkserver import start
from tests.fakes.jobs import end, environment, run_python
from tests.fakes.received import received
from tests.fakes.service import Service, wait_until
from underfed.trainer.hooks.install import WITH_ITERATOR, WRAPPED, Hooks
from underfed.trainer.splice import Around

ITERATOR: Any = dataloader._BaseDataLoaderIter
EIGHT: Any = range(8)


def test_all_of_this_torchs_functions_are_spliced_and_none_is_wrapped() -> None:
    hooks = Hooks(lambda _loader: None, None, None)
    hooks.install()
    hooks.remove()
    assert WRAPPED not in hooks.not_measured
    assert not any("as we know it" in reason for reason in hooks.not_measured.values())


@pytest.fixture
def decorated() -> Iterator[list[str]]:
    """Somebody has put a function of theirs around each method of torch's that we would splice."""
    calls: list[str] = []

    def around(name: str, method: Any) -> Any:
        @functools.wraps(method)
        def theirs(*arguments: Any, **named: Any) -> Any:
            calls.append(name)
            return method(*arguments, **named)

        return theirs

    methods = [(getattr(dataloader, kind), name) for kind, name, seam, _ in WITH_ITERATOR if isinstance(seam, Around)]
    before = [(kind, name, vars(kind)[name]) for kind, name in methods]
    for kind, name, method in before:
        setattr(kind, name, around(name, method))
    theirs = [vars(kind)[name] for kind, name in methods]
    yield calls
    underfed.finish()
    assert [vars(kind)[name] for kind, name in methods] == theirs
    for kind, name, method in before:
        setattr(kind, name, method)


@pytest.mark.parametrize("workers", [0, 2])
def test_methods_within_closures_are_wrapped_and_the_run_says_what_that_costs(
    service: Service, decorated: list[str], workers: int
) -> None:
    loader = underfed.watch(DataLoader(EIGHT, batch_size=2, num_workers=workers), name="train")
    batches = [batch.tolist() for _ in range(2) for batch in loader]
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    seen = received(service, "train")
    assert batches == [batch.tolist() for _ in range(2) for batch in DataLoader(EIGHT, batch_size=2)]
    assert len(seen.steps) == 8
    assert "__next__" in decorated
    about_run = [window["run"]["not_measured"] for window in service.windows if "run" in window][-1][WRAPPED]
    assert about_run == seen.not_measured[WRAPPED]
    assert "frame more" in seen.not_measured[WRAPPED]
    assert "_BaseDataLoaderIter.__next__" in seen.not_measured[WRAPPED]


def lines_of(run: Any) -> list[tuple[str, int]]:
    """What a tracer in Python, as a debugger or coverage has one, sees of torch's iterator."""
    seen: list[tuple[str, int]] = []

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        if not name.endswith("torch/utils/data/dataloader.py"):
            return None
        if event == "line":
            seen.append((Path(name).name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return seen


def test_a_tracer_sees_the_same_lines_in_the_same_order() -> None:
    plain = DataLoader(EIGHT, batch_size=2)

    def pass_over(loader: Any) -> None:
        for _ in loader:
            pass

    bare = lines_of(lambda: pass_over(plain))
    watched = underfed.watch(DataLoader(EIGHT, batch_size=2), name="train")
    with_us = lines_of(lambda: pass_over(watched))

    def distinct(lines: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Our calls stand on lines of the function itself: a line may come twice in a row, or its ``def`` first."""
        return [line for line, before in zip(lines, [None, *lines], strict=False) if line != before]

    assert set(bare) <= set(with_us)
    assert distinct([line for line in with_us if line in set(bare)]) == distinct(bare)


PROGRAM = """
import underfed
from torch.utils.data import DataLoader

def train():
    total = 0
    for batch in underfed.watch(DataLoader(range(8), batch_size=2), name="train"):
        total += int(batch.sum())
    return total

if __name__ == "__main__":
    print(train())
"""


def test_a_breakpoint_within_torchs_next_is_met(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    source, first = Path(dataloader.__file__), ITERATOR.__next__.__code__.co_firstlineno
    lines = source.read_text().splitlines()
    line = next(number for number in range(first, first + 40) if "_next_data()" in lines[number - 1])
    commands = tmp_path / "commands"
    commands.write_text("\n".join([f"b {source}:{line}", "c", "p self._num_yielded", "c", "p self._num_yielded", "q"]))
    say = [*[word for each in commands.read_text().splitlines() for word in ("-c", each)], str(program)]
    outputs = [end(start("pdb", say, environment(**each))).stdout for each in ({}, {"UNDERFED_DISABLED": "1"})]
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines()[1:] == ["0", "1"]


def test_coverage_counts_the_same_lines(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    reports = []
    for name, variables in (("bare", {"UNDERFED_DISABLED": "1"}), ("watched", {})):
        data = str(tmp_path / name)
        ran = end(start("coverage", ["run", f"--data-file={data}", "--branch", str(program)], environment(**variables)))
        assert (ran.returncode, ran.stdout) == (0, "28\n"), ran.stderr
        reports.append(run_python("-m", "coverage", "report", f"--data-file={data}", "-m", str(program)).stdout)
    assert reports[0] == reports[1]
    assert "train.py" in reports[0]
