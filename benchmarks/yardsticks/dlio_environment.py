"""What DLIO runs in: this project's interpreter and packages, a few packages beside them, and a checkout of DLIO.

PyPI has only its release 2.0.0, which needs TensorFlow; so its repositories are asked, for the commits named here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("dgen-py", "h5py", "hydra-core", "mpi4py", "mpich", "pandas", "pydftracer")
"""What it imports with PyTorch's loader and is not here already: neither TensorFlow nor DALI."""

REPOSITORIES = {
    "https://github.com/argonne-lcf/dlio_benchmark": "e1919d7b6ccffbe15143cd616517da9e5d7b26a7",
    "https://github.com/mlcommons/DLIO_local_changes": "f6796ed281e39ccc83a450e2b1f21b9c909d8fd0",
}
"""With the commit of each; only the second knows Parquet."""


@dataclass(frozen=True, slots=True)
class Dlio:
    """One checkout, ready to be run."""

    python: Path
    checkout: Path

    @property
    def variables(self) -> dict[str, str]:
        (libmpi,) = (self.python.parents[1] / "lib").glob("libmpi.so.*")
        # Without the last, MLCommons' takes one ``read_threads`` for none given, and as many as there are cores.
        return {"PYTHONPATH": str(self.checkout), "MPI4PY_LIBMPI": str(libmpi), "DLIO_MAX_AUTO_THREADS": "1"}

    def command(self, options: Mapping[str, object], output: Path) -> list[str]:
        """``options``: of the workload, as its documentation calls them. What it measures is written to ``output``."""
        settings: Sequence[str] = [f"++workload.{name}={value}" for name, value in options.items()]
        places = [f"++workload.output.folder={output}", f"hydra.run.dir={output}"]
        return [str(self.python), "-m", "dlio_benchmark.main", "workload=default", *settings, *places]


def fetch(folder: Path) -> list[Path]:
    """A checkout of each repository that can be reached; those that are there already are not asked for again."""
    checkouts = []
    for address, commit in REPOSITORIES.items():
        checkout = folder / commit
        if not checkout.exists():
            unfinished = folder / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            git = ["git", "-C", str(unfinished)]
            try:
                subprocess.run(["git", "init", "--quiet", unfinished], check=True)
                subprocess.run([*git, "fetch", "--quiet", "--depth", "1", address, commit], check=True)
                subprocess.run([*git, "checkout", "--quiet", commit], check=True)
            except (subprocess.CalledProcessError, FileNotFoundError):
                print(f"{address} could not be fetched by git.", flush=True)
                continue
            unfinished.rename(checkout)
        checkouts.append(checkout)
    return checkouts


def knows(checkout: Path, file_format: str) -> bool:
    return (checkout / "dlio_benchmark" / "data_generator" / f"{file_format}_generator.py").exists()


def make_environment(folder: Path) -> Path:
    """Its interpreter; made where there is none yet. pip sees the packages that are here, and so takes no other torch.

    Raises:
        subprocess.CalledProcessError: a package cannot be had; pip has said why.
    """
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = (folder / "lib").glob("python*/site-packages")
        here = sysconfig.get_path("purelib")
        (packages / "project.pth").write_text(f"import site; site.addsitedir({here!r})\n")
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "--disable-pip-version-check",
            "install",
            "--quiet",
        ]
        subprocess.run([*pip, *PACKAGES], check=True)
        ready.touch()
    return python
