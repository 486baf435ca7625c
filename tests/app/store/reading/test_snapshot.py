"""Several reads of one state of the database."""

from __future__ import annotations

from tests.app.made_windows import made_stream
from tests.app.store.posting import post
from underfed_server.store.store import Store


def test_what_comes_while_a_snapshot_is_read_is_not_in_it_and_is_there_after_it(store: Store) -> None:
    first, second = made_stream(2, steps=20)
    post(store, [first])
    with store.snapshot():
        assert store.run("run-1").steps == 20
        post(store, [second])
        assert store.run("run-1").steps == 20
        assert len(store.steps("run-1", 0, "train")) == 20
    assert store.run("run-1").steps == 40
    assert len(store.steps("run-1", 0, "train")) == 40
