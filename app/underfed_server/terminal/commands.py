"""``underfed runs`` and ``underfed show``: the runs table and one run's diagnosis in the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from pydantic import BaseModel
from rich.console import Console, RenderableType

from underfed_server.errors import UnderfedError
from underfed_server.terminal.client import client_from_environment
from underfed_server.terminal.rendering import render_runs
from underfed_server.terminal.surroundings import render_run

Answer = tuple[BaseModel, Callable[[], RenderableType]]
"""The API's object, and what it looks like to a person, which may need more of the API."""


def runs(argv: Sequence[str]) -> int:
    """List the runs the service knows, newest first."""
    parser = argparse.ArgumentParser(prog="underfed runs", description=runs.__doc__)
    parser.add_argument("--json", action="store_true", help="print the API's object")
    arguments = parser.parse_args(argv)

    def answer() -> Answer:
        page = client_from_environment().runs(sort="-started_at")
        return page, lambda: render_runs(page.runs)

    return _print(answer, as_json=arguments.json)


def show(argv: Sequence[str]) -> int:
    """Show one run's diagnosis: verdict, why, what to change, and what it ran on."""
    parser = argparse.ArgumentParser(prog="underfed show", description=show.__doc__)
    parser.add_argument("run", metavar="RUN", help="a run id, a unique beginning of one, or latest")
    parser.add_argument("--json", action="store_true", help="print the API's object")
    arguments = parser.parse_args(argv)

    def answer() -> Answer:
        client = client_from_environment()
        run_id = client.find(arguments.run).run_id
        diagnosis = client.diagnosis(run_id)
        return diagnosis, lambda: render_run(diagnosis, client.run(run_id), client.workers(run_id))

    return _print(answer, as_json=arguments.json)


def _print(answer: Callable[[], Answer], *, as_json: bool) -> int:
    try:
        model, render = answer()
        rendered = None if as_json else render()
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return 1
    if rendered is None:
        print(model.model_dump_json(by_alias=True, indent=2))
    else:
        Console(highlight=False).print(rendered)
    return 0
