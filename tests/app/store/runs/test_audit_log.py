"""Who changed what, when, and what it was before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.errors import InvalidError
from underfed_server.store.runs.audit_log import MOST_CHARACTERS, AuditFilter, Author
from underfed_server.store.store import Store

ADA = Author("ada", "0123abcd")


@pytest.fixture
def ended(store: Store, clock: WallClock) -> Store:
    post(store, [made_window(0, run=RUN | {"tags": {"a": "1"}}, end={"status": "finished"})])
    clock.advance(minutes=1)
    return store


def test_each_change_of_a_run_is_an_entry_with_what_was_before(ended: Store, clock: WallClock) -> None:
    changes = {"name": "baseline", "tags": {"b": "2"}, "notes": "look again", "archived": True}
    ended.edit_run("run-1", changes, ADA)
    clock.advance(minutes=1)
    ended.delete_run("run-1", ADA)
    clock.advance(minutes=1)
    ended.restore_run("run-1", Author("bob"))
    found = ended.audit(AuditFilter()).entries
    assert [(each.action, each.by, each.before, each.after) for each in found[:2]] == [
        ("restored", "bob", None, None),
        ("deleted", "ada", None, None),
    ]
    assert {each.action: (each.before, each.after) for each in found[2:]} == {
        "renamed": ("resnet", "baseline"),
        "tagged": ({"a": "1"}, {"b": "2"}),
        "noted": ("", "look again"),
        "archived": (None, None),
    }
    assert {(each.run_id, each.project, each.token_id) for each in found[1:]} == {("run-1", "vision", "0123abcd")}
    assert found[0].at == clock.now


@pytest.mark.sql
def test_what_changes_nothing_is_no_entry(ended: Store) -> None:
    ended.edit_run("run-1", {"name": "resnet", "tags": {"a": "1"}, "notes": "", "archived": False})
    ended.restore_run("run-1")
    assert ended.audit(AuditFilter()).entries == []


def test_a_long_text_is_kept_by_its_beginning(ended: Store) -> None:
    ended.edit_run("run-1", {"notes": "x" * 100_000})
    (entry,) = ended.audit(AuditFilter()).entries
    assert entry.after == "x" * (MOST_CHARACTERS - 1) + "…"


@pytest.mark.sql
def test_the_log_is_read_page_by_page_and_outlives_the_run(ended: Store, clock: WallClock) -> None:
    for count in range(5):
        ended.edit_run("run-1", {"notes": str(count)}, ADA)
        clock.advance(seconds=1)
    ended.delete_run("run-1")
    ended.keep_deleted = timedelta()
    clock.advance(minutes=1)
    while (run_id := ended.forgettable()) is not None:
        ended.forget_some(run_id)
    seen, cursor = [], None
    for _ in range(3):
        page = ended.audit(AuditFilter(run_id="run-1", by="ada", limit=2, cursor=cursor))
        seen += [each.after for each in page.entries]
        cursor = page.next_cursor
    assert (seen, cursor) == (["4", "3", "2", "1", "0"], None)
    assert ended.audit(AuditFilter(action="deleted", project="vision")).entries[0].by == ""
    assert ended.audit(AuditFilter(within=frozenset(("other",)))).entries == []
    with pytest.raises(InvalidError, match="did not issue"):
        ended.audit(AuditFilter(cursor="x"))


def test_old_entries_are_deleted(ended: Store, clock: WallClock) -> None:
    ended.edit_run("run-1", {"notes": "old"})
    clock.advance(days=300)
    ended.edit_run("run-1", {"notes": "new"})
    clock.advance(days=100)
    assert ended.trim_audit(timedelta(days=365)) == 1
    assert [each.after for each in ended.audit(AuditFilter()).entries] == ["new"]
