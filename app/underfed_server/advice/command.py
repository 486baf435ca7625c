"""The line that tries a piece of advice without touching the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import join, quote

from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Setting

SETTABLE = frozenset(
    ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "in_order", "threads_per_worker")
)
"""What ``underfed run --set`` takes (CONTRACT)."""

UNKNOWN = "COMMAND"
"""Stands for the words that start the run, where they are not known: a launcher's are not seen in its ranks."""


def with_commands(facts: RunFacts, advice: Sequence[Advice]) -> list[Advice]:
    """``--apply`` takes the first advice that can be set from outside, so only that is told so."""
    first = next((one for one in advice if is_settable(one)), None)
    return [one.model_copy(update={"command": _command(facts, one, one is first)}) for one in advice]


def is_settable(advice: Advice) -> bool:
    return bool(advice.settings) and advice.settings.keys() <= SETTABLE


def _command(facts: RunFacts, advice: Advice, is_first: bool) -> str | None:
    if not is_settable(advice):
        return None
    words = join(facts.command) if facts.command else UNKNOWN
    options = f"--apply {quote(facts.run_id)}" if is_first else _set(advice.settings)
    return f"underfed run {options} -- {words}"


def _set(settings: Mapping[str, Setting]) -> str:
    return " ".join(f"--set {name}={str(value).lower()}" for name, value in settings.items())
