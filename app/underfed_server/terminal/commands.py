"""``underfed runs``, ``show``, ``compare`` and ``export``: the table, one run's diagnosis, several runs, every step."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, get_args

from underfed_server.errors import UnderfedError
from underfed_server.model import MOST_COMPARED, Sampled
from underfed_server.terminal.check import judged
from underfed_server.terminal.client import Client, RefusedError, client_from_environment
from underfed_server.terminal.comparison import render_comparison
from underfed_server.terminal.console import Answer, answered, print_answer
from underfed_server.terminal.one_line import line_of
from underfed_server.terminal.rendering import render_runs
from underfed_server.terminal.surroundings import render_run

_NEGATED = re.compile("-[A-Za-z_]+(!=|[:=<>])")
_AT = re.compile(r"q, character (\d{1,6}): (.*)", re.DOTALL)


def runs(argv: Sequence[str]) -> int:
    """List runs, newest first; with an expression those that it finds, as in 'bound:data -host:gpu-03 stall>20%'."""
    parser = argparse.ArgumentParser(prog="underfed runs", description=runs.__doc__)
    parser.add_argument("search", metavar="EXPRESSION", nargs="*", help="terms that must all hold: docs/search.md")
    parser.add_argument("--sort", metavar="KEY", default="-started_at", help="- in front: largest first")
    parser.add_argument("--limit", metavar="N", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--archived", action="store_true", help="archived runs, too")
    parser.add_argument("--deleted", action="store_true", help="deleted runs that can be restored, and no others")
    parser.add_argument("--json", action="store_true", help="print the API's object")
    terms, others = _terms_apart(argv)
    arguments = parser.parse_args(others)
    expression = " ".join([*arguments.search, *terms])
    query = {"sort": arguments.sort, "limit": str(arguments.limit)}
    query |= {"archived": "any"} if arguments.archived else {}
    query |= {"deleted": "true"} if arguments.deleted else {}

    def find() -> Answer:
        try:
            page = client_from_environment().runs(q=expression, **query)
        except RefusedError as error:
            raise RefusedError(_pointed(expression, str(error))) from error
        return page, lambda: render_runs(page, expression, are_deleted=arguments.deleted)

    return print_answer(find, as_json=arguments.json)


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
    parser = _run_parser("show", show.__doc__)
    printed = parser.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="print the API's object")
    printed.add_argument("--line", action="store_true", help="one plain line, as for SLURM's AdminComment")
    arguments = parser.parse_args(argv)
    if arguments.line:
        return answered(lambda: print(_line(arguments.run)))

    def find() -> Answer:
        client = client_from_environment()
        run_id = client.find(arguments.run).run_id
        diagnosis = client.diagnosis(run_id)
        return diagnosis, lambda: render_run(diagnosis, client.run(run_id), client.workers(run_id))

    return print_answer(find, as_json=arguments.json)


def _line(wanted: str) -> str:
    """Of a run that has just ended its last windows are waited for, as for a gate."""
    client = client_from_environment()
    return line_of(judged(client, client.find(wanted).run_id))


def compare(argv: Sequence[str]) -> int:
    """Compare two to eight runs with the first of them: how fast, why, and what else differs."""
    parser = _run_parser("compare", compare.__doc__, "+")
    parser.add_argument("--json", action="store_true", help="print the API's object")
    arguments = parser.parse_args(argv)
    if not MOST_COMPARED >= len(arguments.run) >= 2:
        parser.error(f"two to {MOST_COMPARED} runs can be compared, not {len(arguments.run)}")

    def find() -> Answer:
        client = client_from_environment()
        found = client.comparison([client.find(wanted).run_id for wanted in arguments.run])
        return found, lambda: render_comparison(found)

    return print_answer(find, as_json=arguments.json)


def _run_parser(command: str, about: str | None, nargs: str | None = None) -> argparse.ArgumentParser:
    """The parser of a command that takes one or more runs."""
    parser = argparse.ArgumentParser(prog=f"underfed {command}", description=about)
    parser.add_argument(
        "run", metavar="RUN", nargs=nargs, help="a run id, a unique beginning of one, latest, or slurm:JOBID"
    )
    return parser


STACKS = ("collapsed", "speedscope")
FORMATS = ("csv", "parquet", "json", "trace", *STACKS)


def export(argv: Sequence[str]) -> int:
    """Write every recorded step of a run to a file; trace opens in Perfetto. Or what its loading executes, for flame
    graphs: collapsed, speedscope."""
    parser = _run_parser("export", export.__doc__)
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--out", type=Path, metavar="FILE", required=True, help="replaced once the new one is whole")
    arguments = parser.parse_args(argv)

    def answer() -> None:
        client = client_from_environment()
        run_id = client.find(arguments.run).run_id
        try:
            size = _save(arguments.out, lambda file: client.export(run_id, arguments.format, file))
        except OSError as error:
            raise UnderfedError(f"{arguments.out} cannot be written: {error.strerror}") from error
        print(f"{arguments.out}: {size:,} bytes of run {run_id}")
        if arguments.format in STACKS:
            for warning in _too_few(client, run_id):
                print(f"underfed: {warning}", file=sys.stderr)

    return answered(answer)


def _too_few(client: Client, run_id: str) -> Iterator[str]:
    """Of which loaders so little was seen that its shares say nothing."""
    for loader in client.run(run_id).loaders:
        for of in get_args(Sampled):
            page = client.hotspots(run_id, loader.loader, of)
            if page.samples and page.missing:
                yield f"{loader.loader}: {page.missing}; its shares say little"


def _save(target: Path, write: Callable[[IO[bytes]], None]) -> int:
    """The file has its name only once it is whole. Returns its size in bytes."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with partial.open("wb") as file:
            write(file)
        size = partial.stat().st_size
        partial.replace(target)
        return size
    finally:
        partial.unlink(missing_ok=True)
