"""A run's options: arguments of ``init()``, else environment variables, else defaults; wrong ones raise."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from underfed.errors import ConfigError
from underfed.host.signal_handlers import let_through

Value = str | int | float | bool | None
Stacks = Literal["0", "1", "always"]

STACKS, PROFILE = "UNDERFED_STACKS", "UNDERFED_PROFILE"
DEFAULT_URL = "http://127.0.0.1:7077"
RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAME_LENGTH = 200
TEXT_LENGTH = 2000
LARGEST = 2**53
"""Every integer up to here is exact in JSON, wherever it is read."""

ENTRIES = 200
"""More tags or config entries than this are a mistake; all of them are sent with every run."""


SPOOL_MB, SPOOL_DAYS = 2000, 30
"""What all runs of a user may keep on a disk until a service takes it: 220 hours of one rank at 9 MB an hour."""


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """Of all spools in a data directory together."""

    bytes: int = SPOOL_MB * 10**6
    age_s: float = SPOOL_DAYS * 86_400.0


@dataclass(frozen=True, slots=True)
class Config:
    """One run's options. The token is not among them: it stays in the environment, never in a file."""

    url: str
    project: str
    name: str
    tags: Mapping[str, str]
    config: Mapping[str, Value]
    run_id: str | None
    data_directory: Path
    stacks: Stacks = "1"
    """Whether it is sampled what workers execute; ``always``: without pauses between bursts."""
    profiles: bool = False
    """And what the training process executes."""

    @property
    def push_command(self) -> str:
        """Sends what is kept to the run's own service, from a shell that does not know its address either."""
        command = "underfed push"
        return command if self.url == DEFAULT_URL else f"UNDERFED_URL={shlex.quote(self.url)} {command}"


def read_config(
    environ: Mapping[str, str],
    *,
    project: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, Value] | None = None,
) -> Config:
    """Arguments take precedence over the environment.

    Raises:
        ConfigError: naming the argument or variable.
    """

    read_spool_limits(environ)

    def chosen(what: str, given: object) -> str | None:
        variable = f"UNDERFED_{what.upper()}"
        return check_text(what, given) or check_text(variable, environ.get(variable))

    return Config(
        url=read_url(environ),
        project=chosen("project", project) or "default",
        name=chosen("name", name) or script_name(),
        tags=_tags(tags) if tags is not None else read_tags(environ.get("UNDERFED_TAGS", "")),
        config=_configuration(config or {}),
        run_id=_run_id(environ.get("UNDERFED_RUN_ID")),
        data_directory=data_directory(environ),
        stacks=cast("Stacks", _choice(environ, STACKS, ("1", "0", "always"))),
        profiles=_choice(environ, PROFILE, ("0", "1")) == "1",
    )


def read_spool_limits(environ: Mapping[str, str]) -> SpoolLimits:
    """``UNDERFED_SPOOL_MB`` and ``UNDERFED_SPOOL_DAYS``.

    Raises:
        ConfigError: one is no number above 0.
    """

    def number(variable: str, default: float) -> float:
        text = environ.get(variable) or str(default)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 < value < LARGEST:
            raise ConfigError(f"{variable}: {text!r} is not a number above 0")
        return value

    megabytes, days = number("UNDERFED_SPOOL_MB", SPOOL_MB), number("UNDERFED_SPOOL_DAYS", SPOOL_DAYS)
    return SpoolLimits(round(megabytes * 1e6), days * 86_400.0)


def read_url(environ: Mapping[str, str]) -> str:
    """The address of the service.

    Raises:
        ConfigError: it is not an address.
    """
    from urllib.parse import urlsplit

    text = environ.get("UNDERFED_URL") or DEFAULT_URL
    parts = urlsplit(text)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or parts.username:
        raise ConfigError(f"UNDERFED_URL: {text!r} is not an address such as {DEFAULT_URL}")
    return text.rstrip("/")


def is_disabled(environ: Mapping[str, str]) -> bool:
    return environ.get("UNDERFED_DISABLED", "") not in ("", "0")


def sends_source(environ: Mapping[str, str]) -> bool:
    """Whether the source of the calls that construct loaders leaves this host: unless ``UNDERFED_SEND_SOURCE`` is 0."""
    return environ.get("UNDERFED_SEND_SOURCE", "1") not in ("", "0")


def data_directory(environ: Mapping[str, str]) -> Path:
    """The directory of spool and calibration: ``UNDERFED_DIR``, else the XDG data home."""
    named = environ.get("UNDERFED_DIR")
    home = environ.get("XDG_DATA_HOME")
    try:
        if named:
            return Path(named).expanduser().absolute()
        return (Path(home) if home else Path.home() / ".local" / "share").absolute() / "underfed"
    except RuntimeError as error:  # a container's user with neither a home nor a name
        let_through(error)
        return Path(environ.get("TMPDIR") or "/tmp") / f"underfed-{os.getuid()}"


def read_tags(text: str) -> dict[str, str]:
    """``"team=vision,debug"`` → ``{"team": "vision", "debug": ""}``."""
    tags: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = pair.partition("=")
        if not key.strip():
            raise ConfigError(f"UNDERFED_TAGS: {pair!r} has no key")
        tags[key.strip()] = value.strip()
    return _tags(tags)


def script_path() -> str | None:
    """File of the program that runs here, or ``None`` in a notebook or with ``python -c``."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return str(path) if path else None


def script_name() -> str:
    """``train`` for train.py, ``pkg`` for ``python -m pkg``, ``notebook`` in a kernel."""
    if "ipykernel" in sys.modules:
        return "notebook"
    path = script_path()
    if path is None:
        return "python"
    stem = Path(path).stem
    return (Path(path).absolute().parent.name if stem == "__main__" else stem) or "python"


def _choice(environ: Mapping[str, str], variable: str, choices: Sequence[str]) -> str:
    """The first of them unless another one is set."""
    text = environ.get(variable) or choices[0]
    if text not in choices:
        raise ConfigError(f"{variable}: {text!r} is none of {', '.join(choices)}")
    return text


def _run_id(text: str | None) -> str | None:
    if text and not RUN_ID.fullmatch(text):
        raise ConfigError(f"UNDERFED_RUN_ID: {text!r} may hold letters, digits, _ and -, at most 64 of them")
    return text or None


def check_text(what: str, text: object) -> str | None:
    """``None`` for an empty one. ``what``: the argument or variable, for the error."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise ConfigError(f"{what}: expected text, got {type(text).__name__}")
    if len(text) > NAME_LENGTH or not text.isprintable():
        raise ConfigError(f"{what}: at most {NAME_LENGTH} printable characters, got {text[:60]!r}")
    return text


def _tags(tags: object) -> dict[str, str]:
    checked: dict[str, str] = {}
    for key, value in _entries("tags", tags).items():
        if not isinstance(value, str) or len(value) > NAME_LENGTH:
            raise ConfigError(f"tags[{key!r}]: expected text of at most {NAME_LENGTH} characters, got {value!r:.60}")
        checked[key] = value
    return checked


def _value(what: str, value: object) -> Value:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= TEXT_LENGTH:
        return value
    if isinstance(value, int) and abs(value) <= LARGEST:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ConfigError(
        f"{what}: expected a finite number below 2^53, text of at most {TEXT_LENGTH} characters, bool or None, "
        f"got {type(value).__name__} {value!r:.60}"
    )


def _configuration(config: object) -> dict[str, Value]:
    entries = _entries("config", _flat(config) if isinstance(config, Mapping) else config)
    return {key: _value(f"config[{key!r}]", value) for key, value in entries.items()}


DEPTH = 8
"""Mappings within mappings, at most: one may hold itself."""


def _flat(config: Mapping[Any, object], depth: int = DEPTH) -> dict[object, object]:
    """``{"opt": {"lr": 0.1}, "sizes": [8, 16]}`` → ``{"opt.lr": 0.1, "sizes": "[8, 16]"}``: as programs read theirs."""
    found: dict[object, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and depth > 1:
            found |= {f"{key}.{name}": each for name, each in _flat(value, depth - 1).items()}
        else:
            found[key] = str(value)[:TEXT_LENGTH] if isinstance(value, (Mapping, list, tuple)) else value
    return found


def _entries(what: str, entries: object) -> dict[str, object]:
    if not isinstance(entries, Mapping) or len(entries) > ENTRIES:
        raise ConfigError(f"{what}: expected a mapping of at most {ENTRIES} entries, got {type(entries).__name__}")
    for key in entries:
        if not isinstance(key, str) or not 0 < len(key) <= NAME_LENGTH:
            raise ConfigError(f"{what}: expected text of at most {NAME_LENGTH} characters as key, got {key!r:.60}")
    return dict(entries)
