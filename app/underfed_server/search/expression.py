"""A parsed expression: terms that must all hold of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Operator = Literal[":", "=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Age:
    """An age: so long before now."""

    span: timedelta


@dataclass(frozen=True, slots=True)
class Period:
    """A day, or a minute of it, in UTC."""

    first: datetime
    end: datetime
    """The first instant after the period."""


Value = str | float | Age | Period | None
"""``None``: the word ``none``, which matches runs without the value."""


@dataclass(frozen=True, slots=True)
class Word:
    """Occurs in the run's name, id, project, user, a host's name or a tag, or begins a word of its cause's label."""

    text: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """Holds when it holds for one of ``values``; with ``!=`` when it holds for each."""

    key: str
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Term:
    says: Word | Criterion
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    terms: tuple[Term, ...] = ()

    @property
    def speaks_of_archived(self) -> bool:
        """Whether it names ``archived``: then the list does not leave out archived runs by itself."""
        return any(isinstance(term.says, Criterion) and term.says.key == "is" for term in self.terms)
