"""Lines that take another share of the time than at first are named with both shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.made_loading import made_loading
from underfed_server.diagnosis.changed_lines import change_of
from underfed_server.facts.loading import LoaderHotspots

UNPACK = "Halves.__getitem__ data.py:14 > zlib.decompress data.py:14"
PARSE = "Halves.__getitem__ data.py:20 > loads json/__init__.py:299"


def loading(first: dict[str, int], last: dict[str, int]) -> LoaderHotspots:
    whole = {name: first.get(name, 0) + last.get(name, 0) for name in {**first, **last}}
    earlier, later = made_loading(first).samples, made_loading(last).samples
    return replace(made_loading(whole), earlier=earlier, later=later)


def test_the_lines_that_take_most_less_and_most_more_are_named() -> None:
    said = change_of(loading({UNPACK: 400}, {UNPACK: 100, PARSE: 300}))
    unpack, parse = "zlib.decompress at data.py:14, in Halves.__getitem__", "loads at data.py:20, in Halves.__getitem__"
    assert said == (
        f"That changed on the way: {unpack} took 100% until about half of the time, and 25% since; "
        f"{parse} took 0% until about half of the time, and 75% since."
    )


@pytest.mark.parametrize(("first", "last"), [
    ({UNPACK: 300, PARSE: 100}, {UNPACK: 310, PARSE: 90}),
    ({UNPACK: 3_000, PARSE: 1_000}, {UNPACK: 2_700, PARSE: 1_300}),
    ({UNPACK: 60, PARSE: 50}, {UNPACK: 47, PARSE: 63}),
    ({UNPACK: 1_640, PARSE: 2_360}, {UNPACK: 1_000, PARSE: 3_000}),
    ({UNPACK: 400}, {PARSE: 99}),
])  # fmt: skip
def test_chance_and_little_and_what_was_hardly_seen_are_no_change(first: dict[str, int], last: dict[str, int]) -> None:
    """Of the second, more than chance and less than a tenth; of the fourth, no more than looking may distort."""
    assert change_of(loading(first, last)) is None


def test_of_halves_that_are_not_distinguished_nothing_is_said() -> None:
    assert change_of(made_loading({UNPACK: 400})) is None
