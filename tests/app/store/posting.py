"""Posts windows to a store, and says where its stream is to be cut into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.app.made_windows import made_window, posted_window
from underfed_server.errors import OutOfOrderError
from underfed_server.measurements import Rows
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey

Window = dict[str, Any]
KEY = StreamKey("run-1", 0, 1)


def post(store: Store, windows: Iterable[Window]) -> None:
    """On return all of them are on disk."""
    for done in [store.submit(posted_window(window)) for window in windows]:
        done.result(timeout=30)


def post_split(store: Store, windows: Sequence[Window], after: Iterable[int]) -> None:
    """Compact the stream after so many windows each."""
    done = 0
    for stop in (*after, len(windows)):
        post(store, windows[done:stop])
        if stop in after:
            store.write(lambda connection: compact(connection, KEY))
        done = max(done, stop)


def samples(store: Store, kind: type[Rows], lane: str) -> Rows:
    """Those of the rank that :func:`post` is about."""
    with store.reading() as reader:
        return read_rows(kind, reader, KEY.run_id, KEY.rank, lane, None)


def settle(store: Store) -> None:
    """Wait until the writer did what it does after it has answered: two more turns of it are behind that."""
    for _ in range(2):
        # Refused, since those before it are missing: it leaves nothing behind.
        outcome = store.submit(posted_window(made_window(5, run_id="nobody", previous_window_index=4))).result(
            timeout=30
        )
        assert isinstance(outcome, OutOfOrderError)
