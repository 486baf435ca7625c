"""What ``--set`` and ``--apply`` want of one loader, and how that is found again in another run of its program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from underfed.errors import ConfigError
from underfed.exchange.config import Value
from underfed.exchange.facts import LoaderFacts
from underfed.exchange.parts import as_text, parse
from underfed.trainer.settings.tunable import NAMES, parse_setting

NUMBERED = re.compile(r"loader-\d+")
"""The name of a loader that its program did not name: its place among those of the run, as they were first iterated."""

NOT_FOUND = "no loader of that name was iterated"


@dataclass(frozen=True, slots=True)
class Identity:
    """What shows beside its name that a loader is the same one. ``None``: not known."""

    constructed_at: str | None = None
    """``data/loaders.py:12``: the program's call of its class."""
    constructed_by: str | None = None
    dataset_type: str | None = None

    def __str__(self) -> str:
        by = f"by {self.constructed_by}" if self.constructed_by else "at a line not known"
        where = f"at {self.constructed_at}" if self.constructed_at else by
        return f"{where}, over {self.dataset_type}" if self.dataset_type else where


@dataclass(frozen=True, slots=True)
class Wanted:
    """Settings for one loader."""

    loader: str
    settings: dict[str, Value] = field(default_factory=dict)
    advice_of: str | None = None
    """The run that it is a loader of; ``None``: the user named the loader."""
    identity: Identity = field(default_factory=Identity)
    """Of the loader in that run."""

    def why_not(self, found: Identity) -> str | None:
        """Why the loader of this name is not the one that is meant; ``None``: it is."""
        if self.advice_of is None or found == self.identity or not NUMBERED.fullmatch(self.loader):
            return None
        return f"{self.loader} was constructed {self.identity} in run {self.advice_of}, and {found} in this one"


def identity_of(facts: LoaderFacts) -> Identity:
    """As the service has it of the same loader."""
    source = facts.source
    at = f"{source.shown}:{source.line}" if source is not None and source.is_constructor and source.shown else None
    return Identity(at, facts.constructed_by, facts.dataset_type)


def parse_words(words: Iterable[str]) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    """``["num_workers=4", "loader-2.num_workers=1"]`` → ``({"num_workers": 4}, {"loader-2": {"num_workers": 1}})``.

    Raises:
        ConfigError: naming the word.
    """
    of_all: dict[str, Value] = {}
    of_each: dict[str, dict[str, Value]] = {}
    for word in words:
        before, equals, text = (part.strip() for part in word.rpartition("="))
        loader, _, name = before.rpartition(".")
        if not equals or name not in NAMES:
            raise ConfigError(f"--set {word}: expected NAME=VALUE or LOADER.NAME=VALUE, NAME one of {', '.join(NAMES)}")
        settings = of_each.setdefault(loader, {}) if loader else of_all
        if name in settings:
            raise ConfigError(f"--set {word}: {name} is given twice")
        settings[name] = parse_setting(name, text)
    return of_all, of_each


def encode(of_all: Mapping[str, Value], wanted: Sequence[Wanted]) -> str:
    """For the environment of the command."""
    return as_text({"all": dict(of_all), "each": list(wanted)})


def decode(text: str) -> tuple[dict[str, Value], tuple[Wanted, ...]]:
    """What :func:`encode` was given."""
    read = json.loads(text)
    return read["all"], tuple(parse(Wanted, each) for each in read["each"])


def labelled(loader: str, settings: Mapping[str, Value]) -> dict[str, Value]:
    """As ``--set`` names them."""
    return {f"{loader}.{name}": value for name, value in settings.items()}
