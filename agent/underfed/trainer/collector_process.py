"""Starts a run's collector so that the training process neither waits for it nor owns it.

It is no child of the trainer (a user's ``os.wait()`` must not see it), runs in a session of its own (Ctrl-C and a
closed terminal do not reach it), holds none of the trainer's files (readers of the trainer's pipes must see them
close), and imports nothing from the user's directories.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from underfed.exchange import run_files
from underfed.exchange.guard import Guard
from underfed.exchange.launch import collector_words
from underfed.host import procfs
from underfed.host.clock import now_ns
from underfed.host.lock import is_held
from underfed.host.signal_handlers import let_through, passing

DETACH = '"$@" </dev/null >/dev/null 2>>"$0" & echo $!'
"""The shell ends at once, so the collector belongs to init. In the background it ignores Ctrl-C."""

START = (
    "import sys; sys.path += sys.argv[2:]; from underfed.collector.__main__ import main; sys.exit(main(sys.argv[1]))"
)
"""With ``-I -S``: no current directory, no PYTHONPATH, no site, no .pth file of anyone. The places of our own
packages are given instead."""

PACKAGES = ("underfed", "psutil", "pynvml")

STARTING_S = 5.0
"""A collector that does not hold its lock by then has failed to start."""

CHECK_S = 1.0
"""Time between two checks whether it runs: one costs 10 µs, and an epoch may be as short as that."""

PAUSE_S, LONGEST_PAUSE_S = 2.0, 600.0
"""Least time between two starts, doubled each time: where each start fails, they must not keep taking 5 ms."""

STAYED_S = 60.0
"""A collector that served for this long did not fail at its start."""


@dataclass(slots=True)
class Attempts:
    """When this process checked for the collector of a run, and when it started one."""

    started_ns: int = 0
    check_due_ns: int = 0
    """When the next check is due."""
    has_served: bool = False
    """Whether the collector started last has held its lock."""
    starts: int = 0
    """Starts since a collector last stayed."""
    process: tuple[int, int | None] | None = None
    """Pid and start time of the collector started last."""

    def is_starting(self, now: int) -> bool:
        return not self.has_served and now - self.started_ns < STARTING_S * 1e9

    def may_start(self, now: int, is_end: bool) -> bool:
        pause_s = min(LONGEST_PAUSE_S, PAUSE_S * 2.0 ** (min(self.starts, 16) - 1))
        return not self.is_starting(now) if is_end else now - self.started_ns > pause_s * 1e9


_attempts: dict[Path, Attempts] = {}
"""Attempts by run directory: a process may record one run after another."""

_unreaped: list[tuple[int, int | None]] = []
"""Pid and start time of the collectors started that have not been seen gone."""


def start_collector(run_directory: Path, guard: Guard) -> None:
    """Called at the beginning of a recording. A collector of another rank of the run serves this one too. One that
    cannot be started is counted as a failure."""
    _attempts[run_directory] = Attempts()
    ensure_collector(run_directory, guard)


def ensure_collector(run_directory: Path, guard: Guard, is_end: bool = False) -> None:
    """Start another collector where this run's was killed. Where one serves the run this takes about 10 µs, and
    nothing within ``CHECK_S`` after the last check.

    ``is_end``: the last call, so it checks in any case.
    """
    attempts, now = _attempts.get(run_directory), now_ns()
    if attempts is None:
        attempts = _attempts[run_directory] = Attempts()
    if now < attempts.check_due_ns and not is_end:
        return
    attempts.check_due_ns = now + int(CHECK_S * 1e9)
    if is_held(run_directory):
        attempts.has_served = True
        if now - attempts.started_ns > STAYED_S * 1e9:
            attempts.starts = 0
    # Where the rings were removed, only a process that has them open can read them.
    elif run_directory.exists() and attempts.may_start(now, is_end):
        attempts.starts += 1
        reap_ended()
        failure = None
        try:
            attempts.process = start_process(run_directory)
            if attempts.process is not None:
                _unreaped.append(attempts.process)
        except OSError as error:
            let_through(error)
            failure = error
        # Not before: one whose start a signal handler broke off is not starting.
        attempts.started_ns, attempts.has_served = now, False
        if failure is not None:
            guard.failed("collector start", failure)


def is_served(run_directory: Path) -> bool:
    """Whether a collector reads this run's rings, or will: the one that this process started last still runs, which
    takes seconds to begin where others fill the cores."""
    attempts = _attempts.get(run_directory)
    started = attempts.process if attempts is not None else None
    return (started is not None and procfs.is_running(*started)) or is_held(run_directory)


def reap_ended() -> None:
    """As the first process of a container we are init, to whom ended collectors belong: nobody else collects them."""
    for process in list(_unreaped):
        if procfs.exit_status(*process) is not None:
            with passing(ChildProcessError):  # somebody else is init
                os.waitpid(process[0], os.WNOHANG)
        # One whose threads have not all ended stays until they have.
        if procfs.exit_status(*process) is None and not procfs.is_running(*process):
            _unreaped.remove(process)


def start_process(run_directory: Path) -> tuple[int, int | None] | None:
    """Start the collector, in about 5 ms. Returns its pid and start time.

    Raises:
        OSError: it could not be started.
    """
    import subprocess

    if not sys.executable:
        raise OSError("an embedded Python does not know its interpreter")
    interpreter, *places = collector_words() or [sys.executable, *package_paths()]
    command = [interpreter, "-I", "-S", "-c", START, str(run_directory), *places]
    started = subprocess.run(
        ["/bin/sh", "-c", DETACH, str(run_directory / run_files.LOG), *command],
        cwd="/",
        env={**os.environ, "UNDERFED_DISABLED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
        check=False,
    )
    text = started.stdout.strip()
    return (int(text), procfs.start_ticks(int(text))) if text.isdigit() else None


def package_paths() -> list[str]:
    """Directories that the collector's packages are imported from, found without importing them."""
    origins = [Path(spec.origin) for name in PACKAGES if (spec := find_spec(name)) is not None and spec.origin]
    homes = [origin.parents[1] if origin.stem == "__init__" else origin.parent for origin in origins]
    return list(dict.fromkeys(str(home) for home in homes))
