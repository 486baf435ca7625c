"""A loader that is iterated within ``torch.compile`` is compiled as without us: graphs, breaks, results, warnings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.jobs import run_text
from tests.fakes.service import Service, wait_until

pytestmark = pytest.mark.long

LISTED = ["loop", "next", "outside", "loop listed"]
"""How it is iterated, and over what."""

GENERATED = ["loop generated", "outside generated"]
"""Of no DataLoader either: compiled as those that are listed, for all that concerns us."""

QUIET = [*LISTED, *GENERATED]
"""Warnings are errors there."""

OTHERS = ["loop workers", "loop torchdata"]
"""Of which Dynamo itself warns, of multiprocessing. All of a test are compiled without us in one process and with us
in another, both forked from one that has imported Dynamo, and compiled something: that takes seconds."""

PROGRAM = (
    f"QUIET = {QUIET}"
    + """
import gc, json, os, sys, traceback, warnings
import torch, torch._dynamo
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, Dataset, TensorDataset
import underfed

samples = TensorDataset(torch.arange(32.0).reshape(16, 2))

class Asking(Dataset):
    # Dynamo looks at what workers call, as it was doing when they were forked. Before Python 3.11.4, `dataset[index]`
    # that has run some times calls a plain `__getitem__` without asking Dynamo: from which sample on depends on what
    # torch's loop over the indices has loaded before, with us or without. One with `*_` is not called that way.
    def __len__(self):
        return 16
    def __getitem__(self, index, *_):
        return (torch.tensor([float(index), float(torch.compiler.is_compiling())]),)

class Listed:
    # No DataLoader.
    def __init__(self):
        self.batches = [(each,) for each in torch.arange(32.0).reshape(4, 4, 2)]
    def __iter__(self):
        return iter(self.batches)

class Generated(Listed):
    def __iter__(self):
        for batch in self.batches:
            yield batch

def stateful():
    from torchdata.stateful_dataloader import StatefulDataLoader
    return StatefulDataLoader(samples, batch_size=4)

loaders = {
    "": lambda: DataLoader(samples, batch_size=4),
    "workers": lambda: DataLoader(Asking(), batch_size=4, num_workers=2, multiprocessing_context="fork"),
    "torchdata": stateful,
    "listed": Listed,
    "generated": Generated,
}

def total(batches):
    found = torch.zeros(2)
    for (batch,) in batches:
        found = found + batch.sum(0).sin()
    return found

def first(batches):
    iterator = iter(batches)
    (batch,) = next(iterator)
    return batch.sum(0).cos() + 1

def step(batch):
    return batch.sum(0).sin() * 2

def outside(batches):
    compiled = torch.compile(step, backend="eager")
    return torch.stack([compiled(batch) for (batch,) in batches])

def results_of(case):
    how, _, over = case.partition(" ")
    loader = underfed.watch(loaders[over](), name=case)
    torch._dynamo.reset()
    counters.clear()
    if how == "outside":
        return [outside(loader).tolist()], []
    program = {"loop": total, "next": first}[how]
    found = torch._dynamo.explain(program)(loader)
    explained = [found.graph_count, found.graph_break_count, [each.reason for each in found.break_reasons]]
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(program, backend="eager")
    return [compiled(loader).tolist() for _ in range(3)], explained

torch.compile(total, backend="eager")(Generated())
gc.freeze()
without_us = os.fork()
if without_us:
    assert os.waitpid(without_us, 0)[1] == 0
else:
    os.environ["UNDERFED_DISABLED"] = "1"
for case in sys.argv[1:]:
    print("case", case, file=sys.stderr)
    with warnings.catch_warnings():  # what was warned of before is again
        if case in QUIET:
            warnings.simplefilter("error")
        try:
            found = results_of(case)
        except Exception:
            found = traceback.format_exc()
    counted = {name: {reason: times for reason, times in each.items()} for name, each in counters.items()}
    print(json.dumps([found, counted]), flush=True)
print("case", "end", file=sys.stderr, flush=True)
"""
)


@dataclass(frozen=True)
class Compiled:
    """What a case came to in its program."""

    found: Any
    """Results, graphs and breaks; words where it failed."""
    counted: Any
    warned: list[str]


def compile_cases(cases: list[str]) -> tuple[dict[str, Compiled], dict[str, Compiled]]:
    """Without us, and with us."""
    done = run_text(PROGRAM, *cases)
    assert done.returncode == 0, done.stderr
    errors, lines = done.stderr.split("case "), done.stdout.splitlines()
    assert "Warning" not in errors.pop(0)
    half = len(cases)
    return compiled(cases, lines[:half], errors[: half + 1]), compiled(cases, lines[half:], errors[half + 1 :])


def compiled(cases: list[str], lines: list[str], errors: list[str]) -> dict[str, Compiled]:
    *of_cases, at_end = errors
    assert "Warning" not in at_end
    warned = [[line for line in each.splitlines() if "Warning" in line] for each in of_cases]
    results = zip(cases, map(json.loads, lines), warned, strict=True)
    return {case: Compiled(found, counted, lines) for case, (found, counted), lines in results}


@pytest.mark.parametrize(
    "cases", [LISTED, *(pytest.param(each, marks=pytest.mark.soak) for each in (GENERATED, OTHERS))]
)
def test_it_is_compiled_as_without_us(service: Service, cases: list[str]) -> None:
    all_bare, all_watched = compile_cases(cases)
    wait_until(service.ends, "the end arrives")
    for case in cases:
        watched, bare = all_watched[case], all_bare[case]
        assert not isinstance(bare.found, str), bare.found
        assert (case, watched.found, watched.warned) == (case, bare.found, bare.warned)
        # Dynamo looks into torchdata's functions, and not into those with our calls in them.
        if case != "loop torchdata":
            assert (case, watched.counted) == (case, bare.counted)
        # What is no DataLoader Dynamo sees through our stand-in: it is compiled with the loop, and so not measured.
        assert (case, service.count_steps(case) > 0) == (case, case not in ("loop listed", "loop generated"))


def test_dynamo_is_not_imported_for_it() -> None:
    program = """
import sys, underfed
from torch.utils.data import DataLoader
list(underfed.watch(DataLoader(range(4)), name="train"))
print("torch._dynamo" in sys.modules)
"""
    assert run_text(program).stdout == run_text(program, UNDERFED_DISABLED="1").stdout != ""
