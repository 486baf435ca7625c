"""The settings of a loader that can be set from outside: names, values, and which go together."""

from __future__ import annotations

from collections.abc import Mapping

from underfed.errors import ConfigError
from underfed.exchange.config import Value

WHOLE: Mapping[str, tuple[int, int]] = {
    "num_workers": (0, 1024),
    "prefetch_factor": (1, 1024),
    "threads_per_worker": (1, 1024),
}
"""Smallest and largest. A larger number is taken for a typing error: each worker is a process."""

SWITCHES = ("persistent_workers", "pin_memory", "in_order")
NAMES = ("num_workers", "prefetch_factor", *SWITCHES, "threads_per_worker")
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
NEEDS_WORKERS: Mapping[str, Value] = {"persistent_workers": True, "in_order": False}
"""These values mean nothing without workers; nor does any of ``prefetch_factor`` and ``threads_per_worker``."""


def check_settings(settings: Mapping[str, Value]) -> None:
    """Whether they go together, as far as that is known without the loader.

    Raises:
        ConfigError: naming the two.
    """
    for name, value in settings.items():
        if name not in NAMES or parse_setting(name, format_value(value)) != value:
            raise ConfigError(f"{name}={value!r}: no setting of a loader that can be set")
        if settings.get("num_workers") == 0 and needs_workers(name, value):
            raise ConfigError(f"{name}={format_value(value)} needs workers, and num_workers=0 has none")


def needs_workers(name: str, value: Value) -> bool:
    return name in ("prefetch_factor", "threads_per_worker") or NEEDS_WORKERS.get(name) is value


def format_settings(settings: Mapping[str, Value]) -> str:
    """``num_workers=4, in_order=false``"""
    return ", ".join(f"{name}={format_value(value)}" for name, value in settings.items())


def format_value(value: Value) -> str:
    return str(value).lower()


def parse_setting(name: str, text: str) -> Value:
    """The value of a setting as it was typed.

    Raises:
        ConfigError: naming both.
    """
    if name in SWITCHES:
        if text.lower() not in WORDS:
            raise ConfigError(f"--set {name}={text}: expected true or false")
        return WORDS[text.lower()]
    smallest, largest = WHOLE[name]
    if not (text.isascii() and text.isdigit() and smallest <= int(text) <= largest):
        raise ConfigError(f"--set {name}={text}: expected a whole number from {smallest} to {largest}")
    return int(text)
