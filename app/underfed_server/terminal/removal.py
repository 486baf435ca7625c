"""``underfed delete`` and ``restore``: runs that nobody needs, until somebody does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta

from underfed_server import figures
from underfed_server.errors import UnderfedError
from underfed_server.model import RunSummary
from underfed_server.store.runs.removal import in_words
from underfed_server.terminal.client import client_from_environment
from underfed_server.terminal.console import PlainConsole, answered


def delete(argv: Sequence[str]) -> int:
    """Delete runs that have ended. They can be restored for a while, and the hours that they lost stay counted."""
    parser = _parser("delete", delete.__doc__, "an id, a unique beginning of one, or latest")
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    arguments = parser.parse_args(argv)

    def answer() -> None:
        client = client_from_environment()
        found = {run.run_id: run for run in map(client.find, arguments.run)}
        going = [run_id for run_id, run in found.items() if run.status == "running"]
        if going:
            raise UnderfedError(f"nothing was deleted: {', '.join(going)} is still running")
        _print(_consequences(list(found.values()), in_words(timedelta(microseconds=client.service().keep_deleted_us))))
        if not arguments.yes and not _agreed(f"Delete {_runs(len(found))}?"):
            _print("Nothing was deleted.")
            return
        _each(list(found), client.delete_run)
        _print(f"{_runs(len(found))} deleted. To restore: underfed restore {' '.join(found)}")

    return answered(answer)


def restore(argv: Sequence[str]) -> int:
    """Restore runs that were deleted: `underfed runs --deleted` lists them."""
    arguments = _parser("restore", restore.__doc__, "an id, or a unique beginning of one").parse_args(argv)

    def answer() -> None:
        client = client_from_environment()
        found = dict.fromkeys(client.find_deleted(each).run_id for each in arguments.run)
        _each(list(found), client.restore_run)
        _print(f"{_runs(len(found))} restored.")

    return answered(answer)


def _parser(command: str, about: str | None, what: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"underfed {command}", description=about)
    parser.add_argument("run", metavar="RUN", nargs="+", help=what)
    return parser


def _consequences(runs: Sequence[RunSummary], kept: str) -> str:
    names = "\n".join(f"  {run.run_id}  {run.name}" for run in runs)
    lost = sum(run.hours_lost or 0.0 for run in runs)
    stays = f"The {figures.hours(lost)} that they lost stay" if lost else "What they used stays"
    return (
        f"{names}\n{_runs(len(runs))}, to be restored for {kept}; then what was recorded of them is removed for good.\n"
        f"{stays} in the figures of the week and the team."
    )


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UnderfedError("nobody can be asked here: to delete without a question, add --yes")
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _each(run_ids: Sequence[str], do: Callable[[str], None]) -> None:
    """Raises:
    UnderfedError: the service refused one; it says which were done before.
    """
    for done, run_id in enumerate(run_ids):
        try:
            do(run_id)
        except UnderfedError as error:
            before = f" ({_runs(done)} done before)" if done else ""
            raise UnderfedError(f"{run_id}: {error}{before}") from error


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _print(text: str) -> None:
    PlainConsole().print(text, soft_wrap=True)
