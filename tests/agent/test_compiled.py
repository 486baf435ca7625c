"""A loader that is iterated within ``torch.compile`` is compiled as without us: graphs, breaks, results, warnings."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.jobs import run_python
from tests.fakes.service import Service, wait_until

PROGRAM = """
import json, sys, warnings
import torch, torch._dynamo
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset
import underfed

kind, workers, module = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if module == "torchdata":
    from torchdata.stateful_dataloader import StatefulDataLoader as DataLoader
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

iterables = {"listed": Listed, "generated": Generated}
loader = iterables[module]() if module in iterables else DataLoader(samples, batch_size=4, num_workers=workers)
loader = underfed.watch(loader, name="train")

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

program = {"loop": total, "next": first, "outside": outside}[kind]
if kind == "outside":
    results = [outside(loader).tolist()]
    explained = []
else:
    found = torch._dynamo.explain(program)(loader)
    explained = [found.graph_count, found.graph_break_count, [each.reason for each in found.break_reasons]]
    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(program, backend="eager")
    results = [compiled(loader).tolist() for _ in range(3)]
counted = {name: {reason: times for reason, times in each.items()} for name, each in counters.items()}
print(json.dumps([results, explained, counted]))
"""


@cache
def bare(*arguments: str) -> tuple[int, list[Any], list[str]]:
    return run(*arguments, UNDERFED_DISABLED="1")


def run(*arguments: str, **variables: str) -> tuple[int, list[Any], list[str]]:
    """Exit code, what was printed, and warnings."""
    done = run_python(*arguments, **variables)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), [line for line in done.stderr.splitlines() if "Warning" in line]


@pytest.mark.parametrize(
    ("kind", "workers", "module"),
    [
        ("loop", 0, "torch"),
        ("next", 0, "torch"),
        ("outside", 0, "torch"),
        ("loop", 2, "torch"),
        ("loop", 0, "torchdata"),
        ("loop", 0, "listed"),
        ("loop", 0, "generated"),
        ("outside", 0, "generated"),
    ],
)
def test_it_is_compiled_as_without_us(service: Service, tmp_path: Path, kind: str, workers: int, module: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    # With workers Dynamo itself warns, of multiprocessing.
    strict = ["-W", "error"] if workers == 0 and module != "torchdata" else []
    arguments = [*strict, str(program), kind, str(workers), module]
    code, (*found, counted), warned = run(*arguments)
    bare_code, (*expected, expected_counted), bare_warned = bare(*arguments)
    assert (code, found, warned) == (bare_code, expected, bare_warned)
    # Dynamo looks into torchdata's functions, and not into those with our calls in them.
    if module != "torchdata":
        assert counted == expected_counted
    # What is no DataLoader Dynamo sees through our stand-in: it is compiled with the loop, and so not measured in it.
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() > 0 or (module in ("listed", "generated") and kind != "outside")


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
