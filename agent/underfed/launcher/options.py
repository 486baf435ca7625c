"""The options of ``underfed run``, checked, and turned into variables for the processes of the command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from underfed.errors import ConfigError
from underfed.exchange import launch
from underfed.exchange.config import PROFILE, Value, read_config, read_tags
from underfed.exchange.launch import first_rank_only
from underfed.trainer.settings.tunable import NAMES, check_settings, format_settings
from underfed.trainer.settings.wanted import Wanted, encode, parse_words

if TYPE_CHECKING:
    from underfed.launcher.advice import Advised

MOST_BATCHES = 10_000
"""Most batches of ``--replay``: they are kept in memory."""

MOST_TRIAL_STEPS = 1_000_000

FLAGS = ("-h", "--help", "--profile", "--tune", "--trial-only")
"""Every other option takes one value: ``run.split`` relies on it."""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="underfed run",
        usage="underfed run [OPTION …] -- COMMAND …",
        description="Run a training command with every DataLoader in it and its children recorded, no line changed.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", help="what the run is called; default: the script's name")
    parser.add_argument("--project", help="the project; runs of one project and name are compared")
    parser.add_argument("--tag", metavar="KEY[=VALUE]", action="append", default=[], help="may be given several times")
    parser.add_argument("--url", help="address of the service")
    parser.add_argument(
        "--set",
        metavar="[LOADER.]NAME=VALUE",
        action="append",
        default=[],
        help=f"another setting for every loader that is trained from, or for this one alone; NAME is one of "
        f"{', '.join(NAMES)}",
    )
    parser.add_argument(
        "--apply",
        metavar="RUN",
        help="take the settings from this run's advice, for the loader that it is about; an id, or latest",
    )
    parser.add_argument(
        "--replay",
        metavar="N",
        help="feed N batches a second time at once, print what instant data would gain, and end the program there; "
        "weights that it leaves were trained on the same batches twice, so do not keep them",
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="try other settings of the training loader while it trains, and keep the one measured to be fastest; "
        "each sample as often as without it and in the same order, except that the records of an iterable data set "
        "come in another order with another number of workers",
    )
    parser.add_argument(
        "--tune-steps", metavar="N", help="most steps for trials; default: 2 %% of the known length, 100 to 2,000"
    )
    parser.add_argument(
        "--trial-only",
        action="store_true",
        help="with --tune: end the program after its trials, with exit code 0",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="sample the stacks of the training process, too: what loads where there are no workers, and what a step "
        "does between its batches; workers are sampled without it",
    )
    return parser


def read_variables(options: argparse.Namespace) -> dict[str, str]:
    """``--apply`` asks the service, and prints the advice that it takes.

    Raises:
        ConfigError: naming the option that cannot be used.
    """
    given = {"UNDERFED_NAME": options.name, "UNDERFED_PROJECT": options.project, "UNDERFED_URL": options.url}
    variables = {name: value for name, value in given.items() if value is not None}
    if options.tag:
        variables["UNDERFED_TAGS"] = with_tags(options.tag)
    of_all, of_each = parse_words(options.set)
    wanted: list[Wanted] = []
    if options.apply is not None:
        advised = ask_for_advice(options.apply, {**os.environ, **variables})
        variables[launch.ADVICE_OF] = advised.run_id
        # What is set beside it is a change of the advice, and no loader gets it that the advice is not about.
        about = len(advised.advice)
        wanted = [changed(each, of_all) for each in advised.wanted[:about]] + advised.wanted[about:]
        wanted = [changed(each, of_each.pop(each.loader, {})) for each in wanted]
        of_all = {}
    wanted += [Wanted(loader, settings) for loader, settings in of_each.items()]
    for settings in (of_all, *(each.settings for each in wanted)):
        check_settings(settings)
    if of_all or wanted:
        variables[launch.SET] = encode(of_all, wanted)
    if options.profile:
        variables[PROFILE] = "1"
    if options.replay is not None:
        variables[launch.REPLAY] = whole_number("--replay", options.replay, MOST_BATCHES)
    variables |= tuning_variables(options)
    return variables


def tuning_variables(options: argparse.Namespace) -> dict[str, str]:
    if not options.tune:
        if options.tune_steps is not None or options.trial_only:
            raise ConfigError("--tune-steps and --trial-only go with --tune")
        return {}
    if options.replay is not None:
        raise ConfigError("--tune and --replay exclude each other: a replay loads nothing the second time")
    variables = {launch.TUNE: "1"}
    if options.tune_steps is not None:
        variables[launch.TUNE_STEPS] = whole_number("--tune-steps", options.tune_steps, MOST_TRIAL_STEPS)
    if options.trial_only:
        variables[launch.TRIAL_ONLY] = "1"
    return variables


def whole_number(option: str, text: str, most: int) -> str:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise ConfigError(f"{option} {text}: expected a whole number from 1 to {most}")
    return str(int(text))


def changed(wanted: Wanted, settings: Mapping[str, Value]) -> Wanted:
    return replace(wanted, settings={**wanted.settings, **settings})


def ask_for_advice(wanted: str, environ: Mapping[str, str]) -> Advised:
    """Prints what is advised."""
    from underfed.launcher.advice import Service, take_advice
    from underfed.launcher.verdict import gain_of
    from underfed.trainer.recording import say

    service = Service(read_config(environ).url, environ.get("UNDERFED_TOKEN"))
    project, name = (environ.get(variable) or None for variable in ("UNDERFED_PROJECT", "UNDERFED_NAME"))
    advised = take_advice(service, wanted, project, name)
    for each, advice in zip(advised.wanted, advised.advice, strict=False):
        words = f"run {advised.run_id} advises {format_settings(each.settings)} for {each.loader}, constructed "
        first_rank_only(environ, say)(f"{words}{each.identity} ({gain_of(advice)})")
    return advised


def with_tags(pairs: Sequence[str]) -> str:
    """The environment's tags and these. A comma would be read as the end of a tag."""
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "," in pair:
            raise ConfigError(f"--tag {pair}: expected KEY or KEY=VALUE without a comma")
    tags = read_tags(os.environ.get("UNDERFED_TAGS", "")) | read_tags(",".join(pairs))
    return ",".join(f"{key}={value}" for key, value in tags.items())
