"""The ``underfed`` command: its own sub-commands, and those that other installed packages bring.

A command is a callable that takes the list of its arguments and returns an exit code, named in the entry-point group
``underfed.commands``. The first line of its docstring is its line in ``underfed --help``.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Subcommand = Callable[[Sequence[str]], int]

GROUP = "underfed.commands"
USAGE = 2
"""Exit code of a call that cannot be understood."""

NOBODY_READS = 128 + signal.SIGPIPE
"""As shells give it for a command that this signal ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; :data:`NOBODY_READS` where its reader ended first, as ``head`` does."""
    try:
        code = run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        if not is_reader_gone():
            raise
        return NOBODY_READS
    return code


def is_reader_gone() -> bool:
    """Of standard output: another pipe may have broken. If it is, what is left goes nowhere, so that the interpreter
    finds nothing to complain of when it ends.
    """
    output = sys.stdout.fileno()
    watched = select.poll()
    watched.register(output, 0)
    if not any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


def run_command(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0
    if words[0] == "--version":
        from underfed import __version__

        print(f"underfed {__version__}")
        return 0
    command = OWN.get(words[0]) or load(installed_commands().get(words[0]))
    if command is None:
        print(f"underfed: there is no command {words[0]!r}\n\n{help_text()}", file=sys.stderr)
        return USAGE
    if isinstance(command, str):
        print(f"underfed {words[0]}: {command}", file=sys.stderr)
        return 1
    return command(words[1:])


def push(arguments: Sequence[str]) -> int:
    """Send what was recorded while no service could be reached."""
    parser = argparse.ArgumentParser(prog="underfed push", description=push.__doc__)
    parser.add_argument(
        "directory", nargs="?", type=Path, help="data directory, default: UNDERFED_DIR, else the XDG data home"
    )
    chosen = parser.parse_args(arguments).directory
    from underfed.commands.push import push_all

    return push_all(os.environ, chosen)


def run(arguments: Sequence[str]) -> int:
    """Run a training command with every DataLoader in it recorded, no line changed."""
    from underfed.launcher.run import run_in_our_place

    return run_in_our_place(arguments)


def doctor(arguments: Sequence[str]) -> int:
    """Show what this host offers a DataLoader, and where PATHs lie."""
    parser = argparse.ArgumentParser(prog="underfed doctor", description=doctor.__doc__)
    parser.add_argument(
        "path", nargs="*", help="a path, such as a data set's, of which mount, file system and device are shown"
    )
    parser.add_argument("--json", action="store_true", help="print it as a JSON object")
    options = parser.parse_args(arguments)
    from underfed.commands.doctor import doctor as examine

    return examine(options.path, is_json=options.json)


OWN: Mapping[str, Subcommand] = {"doctor": doctor, "push": push, "run": run}


def installed_commands() -> dict[str, EntryPoint]:
    """Commands of other packages, by name."""
    # Imported here: it is a third of what `underfed run` imports before it starts its command, which needs none of it.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def load(entry: EntryPoint | None) -> Subcommand | str | None:
    """The command, or a sentence that says why it cannot run here."""
    if entry is None:
        return None
    try:
        command: Subcommand = entry.load()
    except ImportError as error:
        return f'needs what `pip install "underfed[server]"` brings ({error})'
    return command


def help_text() -> str:
    installed = {name: load(entry) for name, entry in installed_commands().items()}
    commands: dict[str, Subcommand | str | None] = {**OWN, **installed}
    lines = [f"  {name:<10} {summary(command)}" for name, command in sorted(commands.items())]
    return "\n".join(["usage: underfed COMMAND …", "", *lines, "", "`underfed COMMAND --help` says more."])


def summary(command: Subcommand | str | None) -> str:
    if isinstance(command, str):
        return command
    return (command.__doc__ or "").strip().partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
