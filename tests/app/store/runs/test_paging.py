"""Pages of the list follow one another, whatever is added, sorted or missing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.errors import InvalidError
from underfed_server.store.runs.listing import SORTS
from underfed_server.store.store import Store

NAMES = ("alpha", "Beta", "beta", "émile", "_x", "alpha", "zeta")


def add(store: Store, run_id: str, name: str, minute: int) -> None:
    started_at = f"2026-11-20T10:{minute:02d}:00Z"
    post(store, [made_window(0, run_id=run_id, started_at=started_at, run=RUN | {"name": name})])


def add_seven(store: Store) -> Store:
    """Some of one name or one start, some with equal figures, some with none."""
    for number, name in enumerate(NAMES):
        add(store, f"run-{number}", name, number // 2)
    for number in range(4):
        figures = {"hours_lost": (0.1 + 0.2, 0.3, 0.3, 9.0)[number], "data_stall_fraction": number // 2 / 3}
        store.save_diagnosis(made_diagnosis(f"run-{number}", advice=[made_advice(1.5 + number // 2)], **figures))
    post(store, [made_window(1, run_id="run-1", end={"status": "finished"})])
    return store


@pytest.fixture(scope="module")
def seven(shared_store: Store) -> Store:
    return add_seven(shared_store)


def pages(store: Store, sort: str, limit: int, **asked: Any) -> list[list[str]]:
    found, cursor = [], None
    while True:
        page = listed(store, sort=sort, limit=limit, cursor=cursor, **asked)
        found.append([run.run_id for run in page.runs])
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("sort", [sign + key for key in SORTS for sign in ("", "-")])
def test_pages_of_any_size_are_the_list_in_its_order(seven: Store, sort: str) -> None:
    (whole,) = pages(seven, sort, 100)
    assert len(whole) == len(set(whole)) == len(NAMES)
    for limit in (1, 3, 7):
        cut = pages(seven, sort, limit)
        assert [run_id for page in cut for run_id in page] == whole
        assert all(len(page) == limit for page in cut[:-1])


@pytest.mark.parametrize("asked", [{}, {"status": "finished"}, {"q": "beta"}, {"q": "nothing of the kind"}])
def test_counts_are_of_all_runs_whatever_part_of_them_a_page_has(seven: Store, asked: dict[str, Any]) -> None:
    whole, first = listed(seven, limit=100, **asked), listed(seven, limit=1, **asked)
    assert whole.counts == first.counts
    if "status" not in asked:
        assert whole.counts.all == len(whole.runs)
    else:
        assert (whole.counts.all, whole.counts.finished) == (len(NAMES), len(whole.runs))


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["run-1", "run-4", "run-5", "run-0", "run-2", "run-6", "run-3"]),
        ("-started_at", ["run-6", "run-4", "run-5", "run-2", "run-3", "run-0", "run-1"]),
        ("-hours_lost", ["run-3", "run-0", "run-2", "run-1", "run-6", "run-4", "run-5"]),
        ("predicted_speedup", ["run-0", "run-1", "run-2", "run-3", "run-6", "run-4", "run-5"]),
    ],
)
def test_every_database_has_the_same_order(seven: Store, sort: str, expected: list[str]) -> None:
    assert pages(seven, sort, 100) == [expected]


@pytest.mark.parametrize("sort", ["name", "-started_at", "hours_lost"])
def test_runs_that_come_and_go_meanwhile_neither_hide_nor_repeat_others(store: Store, sort: str) -> None:
    seven = add_seven(store)
    (whole,) = pages(seven, sort, 100)
    first = listed(seven, sort=sort, limit=3)
    add(seven, "new-0", "_", 0)
    add(seven, "new-1", "zz", 59)
    seven.edit_run(whole[0], {"archived": True})
    rest, cursor = [], first.next_cursor
    while cursor is not None:
        page = listed(seven, sort=sort, limit=2, cursor=cursor)
        rest += [run.run_id for run in page.runs]
        cursor = page.next_cursor
    assert [run_id for run_id in rest if not run_id.startswith("new")] == whole[3:]
    assert len(rest) == len(set(rest))


def test_the_last_page_has_no_next_one_even_when_it_is_full(seven: Store) -> None:
    assert [len(page) for page in pages(seven, "name", len(NAMES))] == [len(NAMES)]


def written(said: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "-1",
        "٣",
        "9" * 20,
        "A" * 100_000,
        written([]),
        written({"sort": "name"}),
        written(["name", "a", 1]),
        written(["name", 1, 1, "run-1"]),
        written(["name", None, 1, "run-1"]),
        written(["name", "a", "1", "run-1"]),
        written(["name", "a", True, "run-1"]),
        written(["name", "a", 2**70, "run-1"]),
        written(["name", "a\0", 1, "run-1"]),
        written(["name", "\ud800", 1, "run-1"]),
        written(["name", [], 1, "run-1"]),
        base64.urlsafe_b64encode(b'["name","a",1,' + b"[" * 2_000).decode(),
    ],
)
def test_a_cursor_that_was_made_up_is_refused(seven: Store, cursor: str) -> None:
    with pytest.raises(InvalidError, match="this service did not issue it") as raised:
        listed(seven, sort="name", cursor=cursor)
    assert raised.value.field == "cursor"


@pytest.mark.parametrize(
    ("sort", "value"), [("hours_lost", "9"), ("hours_lost", float("nan")), ("step_us", 0.5), ("status", "done"),
                        ("started_at", None)],
)  # fmt: skip
def test_a_value_that_the_key_cannot_have_is_refused(seven: Store, sort: str, value: object) -> None:
    with pytest.raises(InvalidError, match="this service did not issue it"):
        listed(seven, sort=sort, cursor=written([sort, value, 1, "run-1"]))


def test_a_cursor_of_another_sort_is_refused(seven: Store) -> None:
    cursor = listed(seven, sort="name", limit=1).next_cursor
    for sort in ("-name", "hours_lost"):
        with pytest.raises(InvalidError, match=f"sorted by 'name', not by '{sort}'"):
            listed(seven, sort=sort, cursor=cursor)
