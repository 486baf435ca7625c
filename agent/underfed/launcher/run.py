"""``underfed run -- COMMAND``: any command, with every DataLoader in it and its children recorded, no line changed."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from underfed.errors import ConfigError, RunDirectoryError
from underfed.exchange import launch, run_files
from underfed.exchange.config import Config, is_disabled, read_config
from underfed.exchange.facts import origins_in
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock
from underfed.host.files import remove_directory, write_atomically
from underfed.host.lock import is_held
from underfed.launcher.command import StartedCommand, name_of
from underfed.launcher.figures_endpoint import serve
from underfed.launcher.options import FLAGS, make_parser, read_variables
from underfed.launcher.passthrough import exit_code_of, exit_like, replace_us, run_command
from underfed.trainer.collector_process import package_paths

USAGE = 2

DRAIN_S, STARTING_S, POLL_S = 1.0, 5.0, 0.01
"""How long a collector is waited for that serves, and one that does not yet."""

LAUNCHES = "launch-"

SITE = Path(__file__).with_name("site")
"""First on PYTHONPATH. Only our ``sitecustomize`` is in it."""


def run_in_our_place(arguments: Sequence[str]) -> int:
    """``underfed run``. Returns the command's exit code, or dies of the signal that the command died of."""
    own, words = split(arguments)
    parser = make_parser()
    options = parser.parse_args(own)
    if not words:
        parser.error("there is no command to run")
    try:
        if is_disabled(os.environ):
            replace_us(words)
        return exit_like(run_recorded(read_variables(options), words))
    except ConfigError as error:
        print(f"underfed run: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"underfed run: {why_not_started(words[0], error)}", file=sys.stderr)
        return exit_code_of(error)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own options, and the command. Without ``--`` it begins at the first word that is no option and no value."""
    words = list(arguments)
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return words[:index], words[index + 1 :]
        if not word.startswith("-") or word == "-":
            break
        index += 1 if "=" in word or word in FLAGS else 2
    return words[:index], words[index:]


def run_recorded(variables: Mapping[str, str], words: Sequence[str]) -> int:
    """The command's exit status as in ``subprocess``.

    Raises:
        ConfigError: a variable cannot be used. The command was not started.
        OSError: the command cannot be started.
    """
    environ = {**os.environ, **variables}
    config = read_config(environ, name=environ.get("UNDERFED_NAME") or name_of(words))
    directory = make_launch_directory(config)
    from underfed.host.calibration import calibrate_once

    calibrate_once(config.data_directory)
    served = serve(environ, roots_of(config.data_directory), directory)
    command = StartedCommand(list(words), wall_clock(), now_ns())
    try:
        status = run_command(
            words,
            {**environ, **variables_below(environ, directory), **served},
            lambda pid, status: report_status(config.data_directory, directory, pid, status),
        )
        begun = launch.read_reports(directory).get(launch.RECORDING, [])
        if directory.exists():
            # Imported here: it takes a tenth of a second, by which the command would start later.
            from underfed.launcher.command_end import report_end
            from underfed.launcher.verdict import report_tuning, report_verdict

            reports = launch.read_reports(directory)
            report_end(config, command, status, reports, environ.get(launch.SET))
            is_unreported = environ.get(launch.TUNE) == "1" and launch.TUNED not in reports
            if status < 0:
                # Who ended it by a signal waits for nothing more: what is here is printed.
                if is_unreported:
                    report_tuning(directory)
            else:
                ran_s = (now_ns() - command.origin_ns) / 1e9
                report_verdict(config, begun, ran_s, is_tuning_unreported=is_unreported)
        if os.getpid() == 1:
            wait_until_served(config.data_directory, begun)
    finally:
        remove_directory(directory)
    return status


def roots_of(data_directory: Path) -> list[Path]:
    """Where this user's runs may have their rings."""
    return [run_files.owner_directory(root) for root in run_files.all_roots(os.environ, data_directory)]


def report_status(data_directory: Path, launches: Path, pid: int, status: int) -> None:
    """Put the status where the collector of the command's own recording finds it: before Linux 6.15 the kernel reports
    it to a parent alone. Raises nothing."""
    runs, roots = launch.read_reports(launches).get(launch.RECORDING, []), roots_of(data_directory)
    for origin, directory in origins_in(root / run_id for run_id in runs for root in roots):
        if (origin.pid, origin.start_ticks) == (pid, procfs.start_ticks(pid)):
            with suppress(OSError):
                write_atomically(directory / run_files.STATUS, str(status))


def wait_until_served(data_directory: Path, run_ids: Sequence[str]) -> None:
    """A container ends with its first process, and its collectors with it: they are given time to send how it ended,
    and one that is still starting as much more as that takes."""
    roots = roots_of(data_directory)
    now = time.monotonic()
    deadline, latest = now + DRAIN_S, now + STARTING_S
    runs = [root / run_id for root in roots for run_id in run_ids]
    while now < min(deadline, latest) and (left := [run for run in runs if run.exists()]):
        time.sleep(POLL_S)
        now = time.monotonic()
        if not any(map(is_held, left)):
            deadline = now + DRAIN_S


def make_launch_directory(config: Config) -> Path:
    """Create the directory for reports of the command's processes; a path that does not exist, if that fails."""
    name = f"{LAUNCHES}{os.getpid()}-{procfs.start_ticks(os.getpid()) or 0}"
    reason: Exception | None = None
    for root in run_files.find_roots(os.environ, config.data_directory):
        own = run_files.owner_directory(root)
        try:
            remove_leftovers(run_files.make_local(own))
            return lock_and_name(run_files.make_private(own / f".{name}"), own / name)
        except (RunDirectoryError, OSError) as error:
            reason = error
    from underfed.trainer.recording import say

    say(f"nothing is recorded: {reason}")
    return own / name


def lock_and_name(fresh: Path, directory: Path) -> Path:
    """Lock it for the life of this process, then give it the name by which others find it."""
    # Never closed here, and not inherited by the command.
    fcntl.flock(os.open(fresh, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH)
    return fresh.rename(directory)


def remove_leftovers(own: Path) -> None:
    """Remove directories of killed launchers. Their pids do not help: they may be of another container on this host."""
    for path in own.glob(f"{LAUNCHES}*"):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_directory(path)
        except OSError:
            pass  # its launcher lives
        finally:
            os.close(file)


def variables_below(environ: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Variables by which every Python of the command loads our hook, and otherwise runs as without us."""
    path = environ.get("PYTHONPATH", "")
    others = [place for place in path.split(os.pathsep) if place != str(SITE)] if path else []
    variables = {
        "PYTHONPATH": os.pathsep.join([str(SITE), *others]),
        launch.LAUNCH: str(directory),
        launch.COLLECTOR: launch.collector_variable(package_paths()),
    }
    if environ.get("JPY_PARENT_PID") == str(os.getppid()):
        # A notebook's kernel ends when its parent is not the process that this variable names.
        variables["JPY_PARENT_PID"] = str(os.getpid())
    return variables


def why_not_started(word: str, error: OSError) -> str:
    hint = f"; to run a Python file: underfed run -- python {word}" if word.endswith(".py") else ""
    if isinstance(error, FileNotFoundError):
        return f"{word}: there is no such command{hint}"
    return f"{word}: {error.strerror or error}{hint}"
