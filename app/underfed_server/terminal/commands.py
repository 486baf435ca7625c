"""``underfed runs``, ``show`` and ``compare``: the runs table, one run's diagnosis, several side by side."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence

from pydantic import BaseModel
from rich.console import RenderableType

from underfed_server.errors import UnderfedError
from underfed_server.model import MOST_COMPARED
from underfed_server.terminal.client import RefusedError, client_from_environment
from underfed_server.terminal.comparison import render_comparison
from underfed_server.terminal.console import PlainConsole, json_of
from underfed_server.terminal.rendering import render_runs
from underfed_server.terminal.surroundings import render_run

_NEGATED = re.compile("-[A-Za-z_]+(!=|[:=<>])")
_AT = re.compile(r"q, character (\d{1,6}): (.*)", re.DOTALL)

Answer = tuple[BaseModel, Callable[[], RenderableType]]
"""The API's object, and what it looks like to a person, which may need more of the API."""


def runs(argv: Sequence[str]) -> int:
    """List runs, newest first; with an expression those that it finds, as in 'bound:data -host:gpu-03 stall>20%'."""
    parser = argparse.ArgumentParser(prog="underfed runs", description=runs.__doc__)
    parser.add_argument("search", metavar="EXPRESSION", nargs="*", help="terms that must all hold: docs/search.md")
    parser.add_argument("--sort", metavar="KEY", default="-started_at", help="- in front: largest first")
    parser.add_argument("--limit", metavar="N", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--archived", action="store_true", help="archived runs, too")
    parser.add_argument("--json", action="store_true", help="print the API's object")
    terms, others = _terms_apart(argv)
    arguments = parser.parse_args(others)
    expression = " ".join([*arguments.search, *terms])
    query = {"sort": arguments.sort, "limit": str(arguments.limit)}
    query |= {"archived": "any"} if arguments.archived else {}

    def answer() -> Answer:
        try:
            page = client_from_environment().runs(q=expression, **query)
        except RefusedError as error:
            raise RefusedError(_pointed(expression, str(error))) from error
        return page, lambda: render_runs(page, expression)

    return _print(answer, as_json=arguments.json)


def _terms_apart(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Terms such as ``-host:gpu-03``, and all else: argparse would take them, and ``--sort -name``, for options."""
    others: list[str] = []
    for word in argv:
        if others[-1:] == ["--sort"]:
            others[-1] += f"={word}"
        elif not _NEGATED.match(word):
            others.append(word)
    return [word for word in argv if _NEGATED.match(word)], others


def _pointed(expression: str, refusal: str) -> str:
    """``q, character 3: why`` → why, with the expression below and a mark under its third character."""
    found = _AT.fullmatch(refusal)
    if found is None:
        return refusal
    return f"{found[2]}\n  {expression}\n  {'^':>{int(found[1])}}"


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


def compare(argv: Sequence[str]) -> int:
    """Compare two to eight runs with the first of them: how fast, why, and what else differs."""
    parser = argparse.ArgumentParser(prog="underfed compare", description=compare.__doc__)
    parser.add_argument("run", metavar="RUN", nargs="+", help="a run id, a unique beginning of one, or latest")
    parser.add_argument("--json", action="store_true", help="print the API's object")
    arguments = parser.parse_args(argv)
    if not MOST_COMPARED >= len(arguments.run) >= 2:
        parser.error(f"two to {MOST_COMPARED} runs can be compared, not {len(arguments.run)}")

    def answer() -> Answer:
        client = client_from_environment()
        found = client.comparison([client.find(wanted).run_id for wanted in arguments.run])
        return found, lambda: render_comparison(found)

    return _print(answer, as_json=arguments.json)


def _print(answer: Callable[[], Answer], *, as_json: bool) -> int:
    try:
        model, render = answer()
        rendered = None if as_json else render()
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return 1
    if rendered is None:
        print(json_of(model))
    else:
        PlainConsole().print(rendered)
    return 0
