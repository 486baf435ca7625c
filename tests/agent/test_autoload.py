"""The import hook, and the ``sitecustomize`` that arms it: torch is hooked when imported, and nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.fakes.jobs import ROOT
from tests.fakes.launching import UNDERFED, finish, run_under, start
from underfed.exchange import launch
from underfed.launcher.autoload import DATALOADER, STATEFUL
from underfed.launcher.run import SITE

STAND_IN = """
import sys, types
control = types.ModuleType("underfed.trainer.control")
control.watch_all = lambda: print("attached to", sys.modules["torch.utils.data.dataloader"].DataLoader.__name__)
control.watch_module = lambda module: print("covered", module.__name__)
sys.modules["underfed.trainer.control"] = control
"""
"""In the place of what the hook calls."""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A directory with a small ``torch`` and ``torchdata`` in it, of the real ones' shape."""
    for module, text in ((DATALOADER, "class DataLoader: pass\n"), (STATEFUL, "import torch.utils.data.dataloader\n")):
        path = tmp_path / "packages" / f"{module.replace('.', '/')}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        for parent in path.parents:
            if parent.name == "packages":
                break
            (parent / "__init__.py").touch()
    return tmp_path / "packages"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The launcher's."""
    path = tmp_path / "launch"
    path.mkdir()
    return path


def run_hooked(program: str, directory: Path, *path: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A Python as below ``underfed run``, with the stand-in in it."""
    places = os.pathsep.join(map(str, (SITE, ROOT, *path)))
    named = {launch.LAUNCH: str(directory), "PYTHONPATH": places, **variables}
    return finish(start(sys.executable, "-c", STAND_IN + program, variables=named))


def test_it_is_called_right_after_the_module_was_loaded(packages: Path, directory: Path) -> None:
    program = "import torch\nprint('before')\nimport torch.utils.data.dataloader\nprint('after')"
    done = run_hooked(program, directory, packages)
    assert done.stdout.decode().splitlines() == ["before", "attached to DataLoader", "after"], done.stderr
    assert set(launch.read_reports(directory)) == {launch.PYTHON, launch.TORCH}


def test_torchdata_is_reported_as_well(packages: Path, directory: Path) -> None:
    done = run_hooked(f"import {STATEFUL}", directory, packages)
    assert done.stdout.decode().splitlines() == ["attached to DataLoader", f"covered {STATEFUL}"]


def test_module_spec_and_loader_are_what_they_would_have_been(packages: Path, directory: Path) -> None:
    program = f"""
import importlib.util, sys, {DATALOADER} as module
spec = module.__spec__
print(type(module.__loader__), module.__loader__ is spec.loader, sorted(vars(spec.loader)))
print(spec.origin, module.__file__, spec.has_location, bool(spec.cached), spec.loader.get_source(spec.name))
"""
    hooked = run_hooked(program, directory, packages)
    bare = finish(start(sys.executable, "-c", program, variables={"PYTHONPATH": str(packages)}))
    assert hooked.stdout.decode().splitlines()[1:] == bare.stdout.decode().splitlines()
    assert bare.stdout


def test_it_can_be_looked_for_before_and_loaded_again_after(packages: Path, directory: Path) -> None:
    program = f"""
import importlib, importlib.util, sys
spec = importlib.util.find_spec({DATALOADER!r})
print(type(spec.loader).__name__, {DATALOADER!r} in sys.modules)
module = importlib.import_module({DATALOADER!r})
print(importlib.reload(module) is module, module.__spec__.name)
"""
    done = run_hooked(program, directory, packages)
    expected = ["SourceFileLoader False", "attached to DataLoader", f"True {DATALOADER}"]
    assert done.stdout.decode().splitlines() == expected, done.stderr


def test_an_import_that_fails_can_be_tried_again(packages: Path, directory: Path) -> None:
    source = packages / "torch/utils/data/dataloader.py"
    source.write_text(
        "import sys\nif sys.flags.optimize < len(sys.argv):\n    raise ImportError('broken')\nclass DataLoader: pass\n"
    )
    program = f"""
try: import {DATALOADER}
except ImportError as error: print(error)
import sys; sys.argv.clear()
import {DATALOADER}
"""
    assert run_hooked(program, directory, packages).stdout.decode().splitlines() == ["broken", "attached to DataLoader"]


def test_modules_of_a_zip_file_are_hooked_too(packages: Path, directory: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for path in packages.rglob("*.py"):
            packed.write(path, path.relative_to(packages))
    program = f"""
import {STATEFUL} as module, torch.utils.data as other
print(type(module.__loader__).__name__, *vars(other.__loader__))
"""
    attached, covered, loader = run_hooked(program, directory, tmp_path / "packed.zip").stdout.decode().splitlines()
    assert (attached, covered) == ("attached to DataLoader", f"covered {STATEFUL}")
    assert loader.startswith("zipimporter")
    assert "exec_module" not in loader


def test_a_loader_that_is_a_class_is_left_as_it_is(packages: Path, directory: Path) -> None:
    """As for modules frozen into an executable."""
    program = f"""
import importlib.machinery, sys
class Frozen:
    @staticmethod
    def create_module(spec): return None
    @staticmethod
    def exec_module(module): module.DataLoader = type("DataLoader", (), {{}})
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, Frozen, is_package=True) if name.startswith("torch") else None
sys.meta_path.insert(1, Finder)
import {DATALOADER} as module
print(module.__loader__ is Frozen, module.__spec__.loader is Frozen, "attached" in str(vars(Frozen)))
"""
    done = run_hooked(program, directory)
    assert done.stdout.decode().splitlines() == ["attached to DataLoader", "True True False"], done.stderr


def test_what_goes_wrong_in_hooking_does_not_reach_the_program(packages: Path, directory: Path) -> None:
    program = f"""
def fail(): raise RuntimeError("no such torch")
control.watch_all = fail
import {DATALOADER}
print("imported")
"""
    done = run_hooked(program, directory, packages, UNDERFED_STRICT="0")
    assert (done.stdout, done.stderr) == (b"imported\n", b"")
    assert launch.why_no_loader(launch.read_reports(directory)).endswith("RuntimeError: no such torch")


def test_torch_is_not_imported_early(directory: Path) -> None:
    program = "print([name for name in sys.modules if name.startswith(('torch', 'multiprocessing', 'importlib.util'))])"
    assert run_hooked(program, directory).stdout == b"[]\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_process_of_multiprocessing_is_hooked_once_it_knows_its_task(
    method: str, packages: Path, directory: Path, tmp_path: Path
) -> None:
    """And not if that is to load batches."""
    (packages / "torch/utils/data/_utils").mkdir()
    (packages / "torch/utils/data/_utils/__init__.py").touch()
    (packages / "torch/utils/data/_utils/worker.py").write_text("def _worker_loop(): print('loads', flush=True)\n")
    (packages / "underfed_stand_in.py").write_text(
        STAND_IN.replace("print(", "print(flush=True, *(").replace("__)", "__))")
    )
    script = tmp_path / "train.py"
    script.write_text(f"""
import multiprocessing, underfed_stand_in, {DATALOADER}
from torch.utils.data._utils.worker import _worker_loop
def train(): print("trains", flush=True)
if __name__ == "__main__":
    print("begins", flush=True)
    context = multiprocessing.get_context({method!r})
    for target in (train, _worker_loop):
        process = context.Process(target=target)
        process.start()
        process.join()
""")
    places = os.pathsep.join(map(str, (SITE, ROOT, packages)))
    done = finish(start(sys.executable, str(script), variables={launch.LAUNCH: str(directory), "PYTHONPATH": places}))
    lines = done.stdout.decode().splitlines()
    again = [] if method == "fork" else ["attached to DataLoader"]
    assert lines == ["attached to DataLoader", "begins", *again, "trains", "loads"], done.stderr


# sitecustomize


@pytest.fixture
def own_site(tmp_path: Path) -> Path:
    """A directory for a user's own ``sitecustomize``."""
    directory = tmp_path / "own"
    directory.mkdir()
    return directory


PROBE = """
import sys
module = sys.modules.get("sitecustomize")
print(getattr(module, "__file__", None), getattr(module, "said", None), sys.path)
try:
    import sitecustomize
    print(sitecustomize is module)
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "text",
    [
        "said = 'mine'",
        "raise ValueError('mine is broken')",
        "import no_such_module",
        "import sys; sys.path.append('/from/mine')",
        None,
    ],
)
def test_a_users_own_is_run_as_if_ours_was_not_there(own_site: Path, directory: Path, text: str | None) -> None:
    if text is not None:
        (own_site / "sitecustomize.py").write_text(text)
    bare = finish(start(sys.executable, "-c", PROBE, variables={"PYTHONPATH": str(own_site)}))
    variables = {"PYTHONPATH": f"{SITE}:{own_site}", launch.LAUNCH: str(directory)}
    hooked = finish(start(sys.executable, "-c", PROBE, variables=variables))
    assert (hooked.returncode, hooked.stdout, hooked.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert launch.PYTHON in launch.read_reports(directory)


def test_one_that_ends_the_program_does_so(own_site: Path, directory: Path) -> None:
    """Python shows a traceback then, in which our line is one of ten."""
    (own_site / "sitecustomize.py").write_text("raise SystemExit(3)")
    bare = finish(start(sys.executable, "-c", PROBE, variables={"PYTHONPATH": str(own_site)}))
    variables = {"PYTHONPATH": f"{SITE}:{own_site}", launch.LAUNCH: str(directory)}
    hooked = finish(start(sys.executable, "-c", PROBE, variables=variables))
    assert (hooked.returncode, hooked.stderr.splitlines()[-1]) == (bare.returncode, bare.stderr.splitlines()[-1])
    assert bare.returncode != 0


def test_what_is_on_the_path_stays_there_for_children_too(tmp_path: Path) -> None:
    program = "import os, subprocess, sys; print(os.environ['PYTHONPATH'])"
    done = run_under("--", sys.executable, "-c", program, variables={"PYTHONPATH": f"{tmp_path}::{ROOT}"})
    assert done.stdout.decode().strip() == f"{SITE}:{tmp_path}::{ROOT}"
    nested = run_under("--", *UNDERFED, "run", "--", "printenv", "PYTHONPATH")
    assert nested.stdout.decode().strip() == f"{SITE}:{ROOT}"


@pytest.mark.parametrize("flag", ["-I", "-S", "-E"])
def test_a_python_that_wants_nothing_from_outside_gets_nothing(flag: str) -> None:
    program = "import sys; print([type(finder).__name__ for finder in sys.meta_path], 'sitecustomize' in sys.modules)"
    bare = finish(start(sys.executable, flag, "-c", program))
    assert run_under("--", sys.executable, flag, "-c", program).stdout == bare.stdout


def test_an_environment_without_the_package_gets_it_and_nothing_beside(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare/bin/python")
    program = """
import importlib.util, sys
print(*(importlib.util.find_spec(name) is not None for name in ("underfed", "psutil", "torch")), sys.path)
import underfed, underfed.exchange.guard
print(underfed.__file__)
"""
    bare = finish(start(python, "-c", "import sys; print(sys.path)", variables={"PYTHONPATH": ""}))
    done = run_under("--", python, "-c", program, variables={"PYTHONPATH": ""}, cwd=tmp_path)
    found, origin = done.stdout.decode().splitlines()
    assert found == f"True False False {bare.stdout.decode().strip()}"
    assert Path(origin).parent == SITE.parents[1]


def test_the_file_is_one_that_any_python_understands() -> None:
    """Also those that are too old to be measured: they run what stands behind it."""
    import ast

    ast.parse((SITE / "sitecustomize.py").read_text(), feature_version=(3, 4))
    assert 'f"' not in (SITE / "sitecustomize.py").read_text()
    assert [path.name for path in SITE.iterdir() if path.suffix == ".py"] == ["sitecustomize.py"]
