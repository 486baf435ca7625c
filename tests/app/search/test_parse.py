"""What an expression means, and how an invalid one is refused."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from underfed_server.errors import InvalidError
from underfed_server.search.expression import Age, Criterion, Expression, Period, Term, Value, Word
from underfed_server.search.keys import KEYS
from underfed_server.search.parse import MOST_CHARACTERS, MOST_TERMS, MOST_VALUES, parse

DOCUMENT = (Path(__file__).parents[3] / "docs" / "search.md").read_text()
EXAMPLES = DOCUMENT[DOCUMENT.index("## Examples") :].split("```")[1].strip().splitlines()


def compared(expression: str) -> Criterion:
    (term,) = parse(expression).terms
    assert isinstance(term.says, Criterion)
    return term.says


def test_an_expression_is_its_terms_in_order() -> None:
    assert parse(' resnet  -host:gpu-03\t"two words" bound:data,transfer ') == Expression(
        (
            Term(Word("resnet")),
            Term(Criterion("host", ":", ("gpu-03",)), negated=True),
            Term(Word("two words")),
            Term(Criterion("bound", ":", ("data", "transfer"))),
        )
    )
    assert parse("") == parse("  ") == Expression()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("num_workers<8", 8.0),
        ("stall>20%", 0.2),
        ("stall>55%", 0.55),
        ("stall>0.2", 0.2),
        ("step_us>100ms", 100_000.0),
        ("step_us>1.5s", 1_500_000.0),
        ("step_us>250us", 250.0),
        ("step_us>250", 250.0),
        ("hours_lost>30min", 0.5),
        ("hours_lost>2d", 48.0),
        ("gain>1.2x", 1.2),
        ("cause:none", None),
        ("BOUND:Data", "data"),
        ("user:Ada", "Ada"),
        ('tag:"team=my vision"', "team=my vision"),
        ("tag:debug=", "debug="),
        ('user=""', ""),
        ("started>7d", Age(timedelta(days=7))),
        ("started<90min", Age(timedelta(minutes=90))),
        ("started<4w", Age(timedelta(weeks=4))),
    ],
)
def test_a_value_is_read_in_the_unit_of_its_key(expression: str, value: Value) -> None:
    assert compared(expression).values == (value,)


def test_a_date_is_its_day_and_a_time_of_day_its_minute() -> None:
    day = datetime(2026, 11, 20, tzinfo=timezone.utc)
    assert compared("started:2026-11-20").values == (Period(day, day + timedelta(days=1)),)
    minute = day + timedelta(hours=14, minutes=30)
    assert compared("ended<2026-11-20T14:30").values == (Period(minute, minute + timedelta(minutes=1)),)


@pytest.mark.parametrize("word", ["100%", "_", "team=vis", "-", "a-b", "5", "http//x", "a,b", "résumé", '4"'])
def test_what_compares_nothing_is_a_word(word: str) -> None:
    assert parse(word) == Expression((Term(Word(word)),))


def test_a_quoted_word_may_have_any_sign_in_it() -> None:
    assert parse('"nas:/data" -"bound:data"') == Expression(
        (Term(Word("nas:/data")), Term(Word("bound:data"), negated=True))
    )


@pytest.mark.parametrize(
    ("expression", "character", "said"),
    [
        ("resnet num_worker<8", 8, "there is no key 'num_worker'; 'num_workers' is one"),
        ("colour:red", 1, "there is no key 'colour'; keys are project, user"),
        ("nas:/data", 1, "put it in quotes"),
        ("bound:dat", 7, "bound is one of data, transfer, compute, host, unknown, not 'dat'"),
        ("is:running", 4, "is is one of archived"),
        ("is=archived", 1, "is is compared with :, not with ="),
        ("bound<data", 1, "bound is compared with :, = or !=, not with <"),
        ("num_workers<", 13, "num_workers needs a value here"),
        ("bound:data,", 12, "bound needs a value here"),
        ("num_workers<many", 13, "num_workers takes a number, as in 8, not 'many'"),
        ("num_workers<8%", 13, "num_workers takes a number"),
        ("num_workers<1e9", 13, "num_workers takes a number"),
        ("num_workers<4,8", 1, "num_workers< takes one value"),
        ("step_us>100parsec", 9, "step_us takes a duration"),
        ("started:7d", 1, "an age is compared with < or >"),
        ("started>2026-02-30", 9, "started takes an age such as 2h"),
        ("started>9999-12-31", 9, "started takes an age"),
        ("started>yesterday", 9, "started takes an age"),
        ('user:"ada', 6, "this quote is not closed"),
        ('"', 1, "this quote is not closed"),
        ('""', 1, "nothing between the quotes"),
        ('user:"ada"x', 11, "a space is missing before 'x'"),
        ('"ada""grace"', 6, "a space is missing"),
        ("a\0b", 2, "NUL"),
        ("bound:data stall>20", 18, "a share, as in 20% or 0.2"),
    ],
)
def test_a_refusal_points_at_the_place_and_says_what_is_allowed(expression: str, character: int, said: str) -> None:
    with pytest.raises(InvalidError) as raised:
        parse(expression)
    assert raised.value.field == "q"
    assert raised.value.message.startswith(f"q, character {character}: ")
    assert said in raised.value.message


hostile = pytest.mark.parametrize(
    "expression",
    [
        "x" * 10_000,
        '"' * (MOST_CHARACTERS - 1),
        "a " * (MOST_TERMS + 1),
        "-" * MOST_CHARACTERS + "x",
        "user:" + "a," * (MOST_VALUES + 1) + "a",
        "num_workers<" + "9" * 1_000,
        "step_us>" + "9" * 16,
        "x_" * 900 + ":",
        "(" * 10_000,
    ],
)


@hostile
def test_a_hostile_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidError) as raised:
        parse(expression)
    assert len(raised.value.message) < 600


@pytest.mark.soak
@hostile
def test_a_hostile_expression_is_refused_at_once(expression: str) -> None:
    began = time.process_time()
    with pytest.raises(InvalidError):
        parse(expression)
    assert time.process_time() - began < 1


PIECES = st.sampled_from(
    [*KEYS, *':=<>!,-"%_/\\ \t', "!=", "<=", "8", "20%", "7d", "2026-11-20", "data", "none", "é", "\0"]
)


@pytest.mark.parametrize(
    "tried",
    [
        settings(max_examples=100, deadline=None, derandomize=True, database=None),
        pytest.param(settings(max_examples=20_000, deadline=None), marks=pytest.mark.soak),
    ],
    ids=["few", "many"],
)
def test_whatever_is_written_is_understood_or_refused_with_its_place(tried: settings) -> None:
    tried(given(st.text(max_size=80) | st.lists(PIECES, max_size=30).map("".join))(require_place))()


def require_place(written: str) -> None:
    try:
        parse(written)
    except InvalidError as refused:
        place = re.match(r"q, character (\d+): ", refused.message)
        assert place is not None
        assert 1 <= int(place[1]) <= len(written) + 1


def test_the_documents_examples_are_understood() -> None:
    assert len(EXAMPLES) >= 8
    for example in EXAMPLES:
        assert parse(example).terms, example


def test_the_document_has_every_key_and_no_other() -> None:
    table = DOCUMENT[DOCUMENT.index("## Keys") : DOCUMENT.index("An **age**")]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert {key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)} == set(KEYS)


def test_the_document_has_every_choice_of_the_keys() -> None:
    missing = [choice for key in ("status", "bound", "level", "is") for choice in KEYS[key].choices
               if f"`{choice}`" not in DOCUMENT]  # fmt: skip
    assert missing == []
