"""The command of ``underfed run``: its words, when it was started, and what a run of it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StartedCommand:
    words: list[str]
    started_at: str
    origin_ns: int
    """The same instant as ``started_at``, on the monotonic clock."""


def name_of(words: Sequence[str]) -> str:
    """The name of a run of this command: its Python program, wherever that stands, else its first word."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "-m" and following:
            return following.rpartition(".")[2]
        if word.endswith(".py"):
            return Path(word).stem
    return Path(words[0]).name or "command"
