"""Parses an expression; docs/search.md describes the language.

::

    expression = { space } { term space { space } }
    term       = [ "-" ] ( word | key operator value { "," value } )
    operator   = ":" | "=" | "!=" | "<" | "<=" | ">" | ">="
    word       = quoted | all up to the next space
    value      = quoted | all up to the next space or comma
    quoted     = '"' all but a quote '"'

It is read once, from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from underfed_server.errors import InvalidError
from underfed_server.search.expression import Age, Criterion, Expression, Operator, Term, Value, Word
from underfed_server.search.keys import EQUALS, KEYS, OPERATORS, Key, read_value

MOST_CHARACTERS = 2_000
MOST_TERMS = 20
MOST_VALUES = 50
"""Most values of one term. Together the limits bound the size of the query."""

_COMPARED = re.compile(r"([A-Za-z_]+)(!=|<=|>=|[:=<>])")
_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"([^"]*)"')
_BARE_WORD = re.compile(r"\S+")
_BARE_VALUE = re.compile(r"[^\s,]+")


def parse(text: str) -> Expression:
    """Raises:
    InvalidError: for the field ``q``; the message points at the place and says what is allowed.
    """
    if len(text) > MOST_CHARACTERS:
        raise _refused(0, f"it has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are read")
    if "\0" in text:
        raise _refused(text.index("\0"), "it contains a NUL")
    terms = tuple(_terms(text))
    if len(terms) > MOST_TERMS:
        raise _refused(0, f"it has {len(terms)} terms, and at most {MOST_TERMS} are read")
    return Expression(terms)


def _terms(text: str) -> Iterator[Term]:
    at = _after_space(text, 0)
    while at < len(text):
        negated = text[at] == "-" and at + 1 < len(text) and not text[at + 1].isspace()
        says, end = _term(text, at + negated)
        if end < len(text) and not text[end].isspace():
            raise _refused(end, f"a space is missing before {text[end]!r}")
        yield Term(says, negated)
        at = _after_space(text, end)


def _term(text: str, at: int) -> tuple[Word | Criterion, int]:
    """The term, and the index of its end."""
    compared = _COMPARED.match(text, at)
    if compared is None:
        return _word(text, at)
    key = KEYS.get(compared[1].lower())
    if key is not None:
        return _comparison(key, text, at, compared)
    # Tags are searched as `team=vision`: an unknown key with `=` is a word.
    if compared[2] == "=":
        return _word(text, at)
    raise _refused(at, _unknown(compared[1]))


def _word(text: str, at: int) -> tuple[Word, int]:
    if text[at] != '"':
        found = _BARE_WORD.match(text, at)
        assert found is not None
        return Word(found[0]), found.end()
    word, end = _quoted(text, at)
    if not word:
        raise _refused(at, "there is nothing between the quotes")
    return Word(word), end


def _comparison(key: Key, text: str, at: int, compared: re.Match[str]) -> tuple[Criterion, int]:
    operator: Operator = compared[2]  # type: ignore[assignment]
    if operator not in OPERATORS[key.kind]:
        raise _refused(at, f"{key.name} is compared with {_listed(OPERATORS[key.kind])}, not with {operator}")
    values, end = _values(key, text, compared.end())
    if len(values) > 1 and operator not in EQUALS:
        raise _refused(at, f"{key.name}{operator} takes one value, and several only follow {_listed(EQUALS)}")
    _check_age(key, operator, values, at)
    return Criterion(key.name, operator, values), end


def _check_age(key: Key, operator: Operator, values: tuple[Value, ...], at: int) -> None:
    """No run has an age to the microsecond, so equality is refused."""
    if key.kind == "instant" and operator in EQUALS and any(isinstance(value, Age) for value in values):
        raise _refused(at, f"an age is compared with < or >, as in {key.name}<7d")


def _values(key: Key, text: str, at: int) -> tuple[tuple[Value, ...], int]:
    values: list[Value] = []
    while True:
        value, end = _value(key, text, at)
        values.append(value)
        if end >= len(text) or text[end] != ",":
            return tuple(values), end
        if len(values) == MOST_VALUES:
            raise _refused(end, f"{key.name} is compared with at most {MOST_VALUES} values")
        at = end + 1


def _value(key: Key, text: str, at: int) -> tuple[Value, int]:
    written, end = _quoted(text, at) if text[at : at + 1] == '"' else _bare_value(key, text, at)
    try:
        return read_value(key, written), end
    except ValueError as error:
        raise _refused(at, str(error)) from error


def _bare_value(key: Key, text: str, at: int) -> tuple[str, int]:
    found = _BARE_VALUE.match(text, at)
    if found is None:
        raise _refused(at, f"{key.name} needs a value here")
    return found[0], found.end()


def _quoted(text: str, at: int) -> tuple[str, int]:
    found = _QUOTED.match(text, at)
    if found is None:
        raise _refused(at, "this quote is not closed")
    return found[1], found.end()


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _unknown(name: str) -> str:
    near = get_close_matches(name[:40].lower(), KEYS, n=1)
    meant = f"; {near[0]!r} is one" if near else f"; keys are {', '.join(KEYS)}"
    return f"there is no key {name[:40]!r}{meant}. To look for such a word itself, put it in quotes"


def _listed(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _refused(at: int, why: str) -> InvalidError:
    return InvalidError(f"q, character {at + 1}: {why}", field="q")
