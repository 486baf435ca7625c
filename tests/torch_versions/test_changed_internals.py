"""A torch that is built differently costs the facts that hang on the difference, named with the reason, no others."""

from __future__ import annotations

import compileall
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest

from tests.torch_versions.conftest import Run, run_on
from tests.torch_versions.drawing import count_batches
from tests.torch_versions.record import recorded_releases
from underfed.exchange.ring_format import LATER_COLUMNS
from underfed.trainer.hooks.install import WRAPPED

LOADERS = ("fork", "failing", "no workers")

ELSEWHERE = {name for names in LATER_COLUMNS.values() for name in names} | {"constructor_call"}
"""Not of what is built differently: there is no device, and the first loader is constructed before it can be seen."""
NO_QUEUE = {"queue_depth"}
LOAD_FACTS = {"load_us", "cpu_us", "runqueue_us", "blocked_us", "asked_bytes", "read_bytes", "samples", "collate_us"}
STEP_FACTS = {"data_wait_us", "step_us"}


@dataclass(frozen=True, slots=True)
class Change:
    """``old`` becomes ``new`` throughout one file; both are regular expressions as ``re.sub`` takes them."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Case:
    """What changes in torch, and what is then not measured. ``reason`` names the part in question."""

    changes: tuple[Change, ...]
    facts: set[str]
    reason: str


STEPPING = """class _Stepping:
    def __next__(self):
        return self._step()


"""

ITERATORS, WORKER, FETCHERS = "dataloader.py", "_utils/worker.py", "_utils/fetch.py"

CASES = {
    "_get_data has another name": Case(
        (Change(ITERATORS, r"\b_get_data\b", "_obtain_data"),), {"received_us", "queue_depth"}, "_get_data"
    ),
    "_next_index has another name": Case(
        (Change(ITERATORS, r"\b_next_index\b", "_draw_index"),), {"sampler_us"}, "_next_index"
    ),
    "_worker_loop takes other parameters": Case(
        (Change(WORKER, r"\bdata_queue\b", "result_queue"),), LOAD_FACTS, "_worker_loop"
    ),
    "fetchers collate elsewhere": Case(
        (
            Change(
                FETCHERS, r"return self\.collate_fn\(data\)", "collate = self.collate_fn\n        return collate(data)"
            ),
        ),
        {"collate_us", "samples"},
        "fetchers",
    ),
    "__next__ is inherited": Case(
        (
            Change(ITERATORS, r"def __next__\(", "def _step("),
            Change(ITERATORS, "(?m)^class _BaseDataLoaderIter:", f"{STEPPING}class _BaseDataLoaderIter(_Stepping):"),
        ),
        STEP_FACTS,
        "__next__",
    ),
}


@pytest.fixture(scope="module")
def newest(sources: Callable[[str], Path]) -> Path:
    """With its byte code, so that of each changed copy only what was changed is compiled: by a hash, as a source may be
    changed in the second in which it was unpacked, to one of the same length."""
    root = sources(recorded_releases()[-1])
    compileall.compile_dir(root, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return root


@pytest.mark.parametrize("name", CASES)
def test_what_is_built_differently_is_named_and_the_rest_is_measured(
    name: str, newest: Path, tmp_path: Path, forking_interpreter: str
) -> None:
    case = CASES[name]
    run = run_on(changed(newest, tmp_path / "torch", case.changes), forking_interpreter, *LOADERS)
    assert_training_is_unchanged(run)
    for loader, reasons in run.not_measured.items():
        lost = case.facts - (NO_QUEUE if loader == "no workers" else set())
        assert lost == set(reasons) - ELSEWHERE - (NO_QUEUE if loader == "no workers" else set()), loader
        assert all(case.reason in reasons[fact] for fact in lost), reasons
    drawn = {loader: count_batches(seen) for loader, seen in run.watched.items()}
    assert run.steps == (dict.fromkeys(drawn, 0) if case.facts & STEP_FACTS else drawn)
    if "load_us" in case.facts:
        drawn |= {"fork": 0, "failing": 0}
    if not case.facts & STEP_FACTS:
        assert run.batches == drawn


def test_without_sources_beside_the_code_training_is_measured_by_wrappers_and_the_run_says_what_they_cost(
    newest: Path, tmp_path: Path, forking_interpreter: str
) -> None:
    """A torch that was installed as byte code alone."""
    root = changed(newest, tmp_path / "torch", ())
    leave_byte_code_alone(root)
    run = run_on(root, forking_interpreter, *LOADERS)
    bare = run.bare
    assert {name: list(map(without_our_frames, seen)) for name, seen in run.watched.items()} == bare
    assert (run.left, run.failures) == ([], 0)
    assert run.steps == {loader: count_batches(seen) for loader, seen in run.watched.items()}
    for reasons in run.not_measured.values():
        assert not set(reasons) & STEP_FACTS
        assert "frame more" in reasons[WRAPPED]
        assert "_BaseDataLoaderIter.__next__" in reasons[WRAPPED]


def without_our_frames(seen: Any) -> Any:
    """A traceback as it is without the functions that we put around others."""
    if not isinstance(seen, str):
        return seen
    return re.sub(r'  File "[^"]*/underfed/trainer/splice\.py", line \d+, in wrapper\n(    .*\n)*', "", seen)


def assert_training_is_unchanged(run: Run) -> None:
    assert run.is_served
    for name, seen in run.bare.items():
        assert run.watched[name] == seen, name
    assert count_batches(run.bare["fork"]) == 12
    assert run.left == []
    assert run.failures == 0


def leave_byte_code_alone(root: Path) -> None:
    compileall.compile_dir(root, legacy=True, quiet=1)
    for source in root.rglob("*.py"):
        source.unlink()


def changed(sources: Path, directory: Path, changes: tuple[Change, ...]) -> Path:
    """A copy with these changes in it. Each must find something to change."""
    root = shutil.copytree(sources, directory)
    for change in changes:
        file = root / "torch" / "utils" / "data" / change.file
        text, count = re.subn(change.old, change.new, file.read_text())
        assert count, change
        file.write_text(text)
    return root
