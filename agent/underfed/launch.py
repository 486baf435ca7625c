"""Starts a run's companion, the collector process, so that the training process neither waits for it nor owns it.

It is no child of the trainer (a user's ``os.wait()`` must not see it), in a session of its own (Ctrl-C and a
closed terminal do not reach it), holds none of the trainer's files (whoever reads the trainer's pipes must see
them close), and imports nothing from the user's directories.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from underfed import rundir
from underfed.lock import is_held

DETACH = '"$@" </dev/null >/dev/null 2>>"$0" &'
"""The shell ends at once, so the collector belongs to init. In the background it ignores Ctrl-C."""

START = (
    "import sys; sys.path += sys.argv[2:]; from underfed.collector.__main__ import main; sys.exit(main(sys.argv[1]))"
)
"""With ``-I -S``: no current directory, no PYTHONPATH, no site, no .pth file of anyone. The places of our own
packages are given instead."""

PACKAGES = ("underfed", "psutil", "pynvml")


def start_collector(run_directory: Path) -> None:
    """Start the collector of this run, unless it already serves another rank of it. Takes about 5 ms.

    Raises:
        OSError: it could not be started.
    """
    import subprocess

    if is_held(run_directory):
        return
    command = [sys.executable, "-I", "-S", "-c", START, str(run_directory), *package_paths()]
    subprocess.run(
        ["/bin/sh", "-c", DETACH, str(run_directory / rundir.LOG), *command],
        cwd="/",
        env={**os.environ, "UNDERFED_DISABLED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
        check=False,
    )


def package_paths() -> list[str]:
    """Directories that the collector's packages are imported from, found without importing them."""
    origins = [Path(spec.origin) for name in PACKAGES if (spec := find_spec(name)) is not None and spec.origin]
    homes = [origin.parents[1] if origin.stem == "__init__" else origin.parent for origin in origins]
    return list(dict.fromkeys(str(home) for home in homes))
