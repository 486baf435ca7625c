"""``underfed run -- COMMAND``: any command, with every DataLoader in it and its children recorded, no line changed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from underfed import launched, procfs, rundir
from underfed.advised import Service, take_advice
from underfed.config import Config, is_disabled, read_config, read_tags
from underfed.errors import ConfigError, RunDirectoryError
from underfed.guard import Guard
from underfed.launch import package_paths
from underfed.passthrough import exit_code_of, exit_like, replace_us, run_command
from underfed.rank import make_run_id, read_rank
from underfed.recording import say
from underfed.tunable import NAMES, check_settings, format_settings, parse_settings
from underfed.unseen import Beginning, name_of, record_unseen

USAGE = 2
MOST_BATCHES = 10_000
"""Of ``--replay``: they are kept in memory."""

LAUNCHES = "launch-"
SITE = Path(__file__).with_name("site")
"""First on PYTHONPATH. Only our ``sitecustomize`` is in it."""


def run_in_our_stead(arguments: Sequence[str]) -> int:
    """``underfed run``. Returns the command's exit code, or dies of the signal that the command died of."""
    own, command = split(arguments)
    parser = make_parser()
    options = parser.parse_args(own)
    if not command:
        parser.error("there is no command to run")
    try:
        if is_disabled(os.environ):
            replace_us(command)
        return exit_like(run_recorded(options, command))
    except ConfigError as error:
        print(f"underfed run: {error}", file=sys.stderr)
        return USAGE
    except OSError as error:
        print(f"underfed run: {why_not_started(command, error)}", file=sys.stderr)
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
        # Every option but --help takes one value.
        index += 1 if "=" in word or word in ("-h", "--help") else 2
    return words[:index], words[index:]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="underfed run",
        usage="underfed run [OPTION …] -- COMMAND …",
        description="Run a training command with every DataLoader in it and its children recorded, no line changed.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", help="what the run is called; default: the script's name")
    parser.add_argument("--project", help="what it belongs to; runs of one project and name are compared")
    parser.add_argument("--tag", metavar="KEY=VALUE", action="append", default=[], help="may be given several times")
    parser.add_argument("--url", help="address of the service")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"another setting for the loader that is trained from; NAME is one of {', '.join(NAMES)}",
    )
    parser.add_argument("--apply", metavar="RUN", help="take the settings from this run's advice; an id, or latest")
    parser.add_argument(
        "--replay", metavar="N", help="feed N batches a second time at once, tell what instant data would gain, and end"
    )
    return parser


def run_recorded(options: argparse.Namespace, command: Sequence[str]) -> int:
    """The command's exit status as in ``subprocess``.

    Raises:
        ConfigError: an option cannot be used. The command was not started.
        OSError: the command cannot be started.
    """
    environ = {**os.environ, **orders(options)}
    config = read_config(environ, name=environ.get("UNDERFED_NAME") or name_of(command))
    directory = make_launch_directory(config)
    begun = Beginning.now()
    try:
        status = run_command(command, {**environ, **surroundings(environ, config, directory)})
        with suppress(OSError):
            tell_of_the_end(config, command, begun, status, launched.told(directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return status


def orders(options: argparse.Namespace) -> dict[str, str]:
    """What the options say, as variables for the processes of the command.

    Raises:
        ConfigError: naming the option.
    """
    given = {"UNDERFED_NAME": options.name, "UNDERFED_PROJECT": options.project, "UNDERFED_URL": options.url}
    variables = {name: value for name, value in given.items() if value is not None}
    if options.tag:
        variables["UNDERFED_TAGS"] = ",".join([*with_tags(options.tag)])
    settings = parse_settings(options.set)
    if options.apply is not None:
        config = read_config({**os.environ, **variables})
        service = Service(config.url, os.environ.get("UNDERFED_TOKEN"))
        project, name = (variables.get(key, os.environ.get(key)) for key in ("UNDERFED_PROJECT", "UNDERFED_NAME"))
        advised = take_advice(service, options.apply, project or None, name or None)
        gain = f", predicted to be {advised.speedup:.2f} times as fast" if advised.speedup else ""
        say(f"run {advised.run_id} advises {format_settings(advised.settings).replace(',', ', ')}{gain}")
        settings = {**advised.settings, **settings}
        variables[launched.ADVICE_OF] = advised.run_id
    check_settings(settings)
    if settings:
        variables[launched.SET] = format_settings(settings)
    if options.replay is not None:
        variables[launched.REPLAY] = str(read_batches(options.replay))
    return variables


def with_tags(pairs: Sequence[str]) -> list[str]:
    """Those of the environment, and these. A comma would be read as the end of one."""
    for pair in pairs:
        key, equals, _ = pair.partition("=")
        if not equals or not key.strip() or "," in pair:
            raise ConfigError(f"--tag {pair}: expected KEY=VALUE without a comma")
    tags = read_tags(os.environ.get("UNDERFED_TAGS", "")) | read_tags(",".join(pairs))
    return [f"{key}={value}" for key, value in tags.items()]


def read_batches(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_BATCHES):
        raise ConfigError(f"--replay {text}: expected a whole number from 1 to {MOST_BATCHES}")
    return int(text)


def make_launch_directory(config: Config) -> Path:
    """Where the processes of the command leave word: a path that is not there, where there is no place for it."""
    name = f"{LAUNCHES}{os.getpid()}-{procfs.start_ticks(os.getpid()) or 0}"
    reason: Exception | None = None
    for root in rundir.find_roots(os.environ, config.data_directory):
        own = rundir.owner_directory(root)
        try:
            clear_away(rundir.make_private(own))
            return rundir.make_private(own / name)
        except RunDirectoryError as error:
            reason = error
    say(f"nothing is recorded: {reason}")
    return own / name


def clear_away(own: Path) -> None:
    """What launchers left that were killed."""
    for path in own.glob(f"{LAUNCHES}*"):
        pid, ticks = (int(part) for part in path.name.removeprefix(LAUNCHES).split("-"))
        if not procfs.is_running(pid, ticks or None):
            shutil.rmtree(path, ignore_errors=True)


def surroundings(environ: Mapping[str, str], config: Config, directory: Path) -> dict[str, str]:
    """Variables that make every Python of the command ours to reach, and that keep it what it would be without us."""
    path = environ.get("PYTHONPATH", "")
    others = [place for place in path.split(os.pathsep) if place != str(SITE)] if path else []
    variables = {
        "PYTHONPATH": os.pathsep.join([str(SITE), *others]),
        launched.LAUNCH: str(directory),
        launched.COLLECTOR: launched.collector_variable(package_paths()),
    }
    rank = read_rank(os.environ)
    if rank.world_size > 1 and config.run_id is None:
        # Each rank has a launcher of its own here, and they would not find out that they belong together.
        variables["UNDERFED_RUN_ID"] = make_run_id(config.name, rank)
    if environ.get("JPY_PARENT_PID") == str(os.getppid()):
        # A notebook's kernel ends when its parent is another than it was told.
        variables["JPY_PARENT_PID"] = str(os.getpid())
    return variables


def tell_of_the_end(
    config: Config, command: Sequence[str], begun: Beginning, status: int, news: Mapping[str, list[str]]
) -> None:
    """What nobody else can tell: that there was no loader, or none to set anything of."""
    try:
        if launched.RECORDING not in news:
            run_id = record_unseen(config, command, begun, status, launched.why_no_loader(news))
            launched.tell(os.environ, launched.RECORDING, run_id)
            return
        launched.tell(os.environ, launched.RECORDING, news[launched.RECORDING][0])
    except Exception as error:
        Guard().failed("end of the command", error)


def why_not_started(command: Sequence[str], error: OSError) -> str:
    hint = f"; to run a Python file: underfed run -- python {command[0]}" if command[0].endswith(".py") else ""
    if isinstance(error, FileNotFoundError):
        return f"{command[0]}: there is no such command{hint}"
    return f"{command[0]}: {error.strerror or error}{hint}"
