"""A loader that is iterated within ``torch.compile`` is compiled as without us: graphs, breaks, results, warnings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import run_python
from tests.fakes.service import Service, wait_until

CASES = ["loop", "next", "outside", "loop listed", "loop generated", "outside generated"]
"""How it is iterated, and over what: several in one process, as it takes seconds to start one that compiles."""

CASES_THAT_WARN = ["loop workers", "loop torchdata"]
"""Dynamo itself warns there, of multiprocessing."""

PROGRAM = """
import json, sys, traceback, warnings
import torch, torch._dynamo
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset
import underfed

samples = TensorDataset(torch.arange(32.0).reshape(16, 2))

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
    "workers": lambda: DataLoader(samples, batch_size=4, num_workers=2),
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

for case in sys.argv[1:]:
    print("case", case, file=sys.stderr)
    with warnings.catch_warnings():  # what was warned of before is again
        try:
            found = results_of(case)
        except Exception:
            found = traceback.format_exc()
    counted = {name: {reason: times for reason, times in each.items()} for name, each in counters.items()}
    print(json.dumps([found, counted]))
print("case", "end", file=sys.stderr)
"""


@dataclass(frozen=True)
class Compiled:
    """What a case came to in its program."""

    found: Any
    """Results, graphs and breaks; words where it failed."""
    counted: Any
    warned: list[str]


def compile_cases(program: Path, options: list[str], cases: list[str], **variables: str) -> dict[str, Compiled]:
    done = run_python(*options, str(program), *cases, **variables)
    assert done.returncode == 0, done.stderr
    _, *errors, at_end = done.stderr.split("case ")
    assert "Warning" not in at_end
    warned = [[line for line in each.splitlines() if "Warning" in line] for each in errors]
    compiled = zip(map(json.loads, done.stdout.splitlines()), warned, strict=True)
    return {
        case: Compiled(found, counted, lines) for case, ((found, counted), lines) in zip(cases, compiled, strict=True)
    }


@dataclass(frozen=True)
class Programs:
    """All cases that warn, or all others: with us, without, and how many steps of each were recorded."""

    watched: dict[str, Compiled]
    bare: dict[str, Compiled]
    steps: dict[str, int]


@pytest.fixture(scope="module")
def run_before() -> dict[str, Programs]:
    """By case: its programs run for the first test that looks at one of their cases."""
    return {}


@pytest.fixture
def programs(case: str, run_before: dict[str, Programs], service: Service, tmp_path: Path) -> Programs:
    if case not in run_before:
        cases, options = (CASES, ["-W", "error"]) if case in CASES else (CASES_THAT_WARN, [])
        program = tmp_path / "train.py"
        program.write_text(PROGRAM)
        watched = compile_cases(program, options, cases)
        wait_until(service.ends, "the end arrives")
        bare = compile_cases(program, options, cases, UNDERFED_DISABLED="1")
        steps = {each: service.count_steps(each) for each in cases}
        run_before.update(dict.fromkeys(cases, Programs(watched, bare, steps)))
    return run_before[case]


@pytest.mark.parametrize("case", [*CASES, *CASES_THAT_WARN])
def test_it_is_compiled_as_without_us(case: str, programs: Programs) -> None:
    watched, bare = programs.watched[case], programs.bare[case]
    assert not isinstance(bare.found, str), bare.found
    assert (watched.found, watched.warned) == (bare.found, bare.warned)
    # Dynamo looks into torchdata's functions, and not into those with our calls in them.
    if case != "loop torchdata":
        assert watched.counted == bare.counted
    # What is no DataLoader Dynamo sees through our stand-in: it is compiled with the loop, and so not measured in it.
    assert (programs.steps[case] > 0) == (case not in ("loop listed", "loop generated"))


IN_WORKERS = """
import sys, torch, underfed
from torch.utils.data import DataLoader, Dataset

class Asking(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.tensor([float(index), float(torch.compiler.is_compiling())])

def total(batches):
    found = torch.zeros(())
    for batch in batches:
        found = found + batch.sum()
    return found

loader = DataLoader(Asking(), batch_size=4, num_workers=1, multiprocessing_context="fork")
if sys.argv[1] == "watched":
    underfed.watch(loader)
print(float(torch.compile(total, backend="eager")(loader)))
"""


@pytest.mark.usefixtures("service")
def test_workers_that_such_a_loop_forks_run_as_without_us(tmp_path: Path) -> None:
    """Dynamo looks at what they call, as it was doing when they were forked."""
    program = tmp_path / "train.py"
    program.write_text(IN_WORKERS)
    bare, watched = (run_python(str(program), how) for how in ("bare", "watched"))
    assert (bare.returncode, watched.returncode) == (0, 0), watched.stderr
    assert watched.stdout == bare.stdout


def test_dynamo_is_not_imported_for_it() -> None:
    program = """
import sys, underfed
from torch.utils.data import DataLoader
list(underfed.watch(DataLoader(range(4)), name="train"))
print("torch._dynamo" in sys.modules)
"""
    assert run_python("-c", program).stdout == run_python("-c", program, UNDERFED_DISABLED="1").stdout
