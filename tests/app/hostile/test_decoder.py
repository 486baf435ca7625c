"""The ingest decoder against anything: it answers with a window that can be kept, or with a refusal of ours."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.app.made_windows import made_stream, made_window, posted
from tests.app.serving import poll
from underfed_server.errors import RequestError
from underfed_server.ingest.decode import decode
from underfed_server.ingest.inflate import inflate
from underfed_server.ingest.posted import Ack, PostedWindow
from underfed_server.ingest.wire import Window
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.windows import stream_of

EXAMPLES = 150
"""The same ones each time. Many more, and others each time, are tried by ``make soak``."""

NUMBERS = itertools.count()
RECORDED = list(made_stream(3))

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("\x00\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
hostile_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["\x00", "a\x00b", "\\u0000", "\x1b[2J", "\u202e", "<script>", "=cmd|' /C calc'!A1", "../../etc/passwd", "x" * 600]
)


def decoded(body: bytes, encoding: str = "") -> Window | None:
    try:
        return decode(inflate(body, encoding))
    except RequestError:
        return None


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """A path to a value in a window."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def changed(window: dict[str, Any], path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = json.loads(json.dumps(window))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy


tried = pytest.mark.parametrize(
    "tried",
    [
        settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None),
        pytest.param(settings(max_examples=30 * EXAMPLES, deadline=None), marks=pytest.mark.soak),
    ],
    ids=["few", "many"],
)


@tried
def test_bytes_of_any_kind_are_refused_in_our_words(tried: settings) -> None:
    def is_refused(body: bytes, encoding: str) -> None:
        assert decoded(body, encoding) is None

    tried(given(st.binary(max_size=300), st.sampled_from(["", "gzip", "deflate"]))(is_refused))()


@tried
def test_a_broken_body_is_a_window_or_refused(tried: settings) -> None:
    tried(given(st.data(), st.sampled_from(["gzip", "deflate"]))(is_a_window_or_refused))()


def is_a_window_or_refused(data: st.DataObject, encoding: str) -> None:
    body = bytearray((gzip.compress if encoding == "gzip" else zlib.compress)(posted(RECORDED[0])))
    for _ in range(data.draw(st.integers(1, 8))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    found = decoded(bytes(body[: data.draw(st.integers(0, len(body)))]), encoding)
    assert found is None or found.run_id


@tried
def test_a_window_with_anything_in_one_place_is_a_window_or_refused(tried: settings) -> None:
    tried(given(st.data())(has_no_nul_or_is_refused))()


def has_no_nul_or_is_refused(data: st.DataObject) -> None:
    window = data.draw(st.sampled_from(RECORDED))
    path = data.draw(st.sampled_from(places(window)))
    body = json.dumps(changed(window, path, data.draw(anything))).encode()
    found = decoded(body)
    assert found is None or "\x00" not in repr(found)


@pytest.mark.sql
@tried
def test_what_is_taken_can_be_kept_read_and_compacted(store: Store, tried: settings) -> None:
    """Over both stores: what one of them cannot store must be refused or replaced before."""
    fewer = settings(tried, max_examples=tried.max_examples // 5)
    fewer(given(st.data())(lambda data: require_kept(store, data)))()


def require_kept(store: Store, data: st.DataObject) -> None:
    window = made_window(0, run_id=f"run-{next(NUMBERS)}", steps=RECORDED[0]["steps"], batches=RECORDED[0]["batches"])
    window = json.loads(json.dumps(window))
    texts = [
        path
        for path in places(window)
        if path and isinstance(value_at(window, path), str) and path[0] in ("run", "loaders")
    ]
    for path in data.draw(st.lists(st.sampled_from(texts), max_size=4)):
        window = changed(window, path, data.draw(hostile_texts))
    window["run"]["tags"] = data.draw(st.dictionaries(hostile_texts, hostile_texts, max_size=3))
    window["run"]["config"] = data.draw(
        st.dictionaries(
            hostile_texts,
            st.integers(-(2**53), 2**53) | hostile_texts | st.floats(allow_nan=False, allow_infinity=False),
            max_size=3,
        )
    )
    window["end"] = {
        "status": "crashed",
        "exit_reason": data.draw(hostile_texts),
        "exit_code": data.draw(st.integers(-(2**53), 2**53)),
    }
    body = json.dumps(window).encode()
    found = decoded(body)
    if found is None:
        return
    outcome = store.submit(PostedWindow(found, "", body)).result(timeout=30)
    assert isinstance(outcome, Ack)
    run = store.run(found.run_id)
    assert run.exit_reason == (None if found.end is None else found.end.exit_reason or None)
    poll(lambda: is_compacted(store, stream_of(found)))
    assert store.step_totals(found.run_id)[0].steps == 20


def is_compacted(store: Store, key: StreamKey) -> bool:
    """It is tried again where another process may hold the stream."""
    store.write(lambda connection: compact(connection, key))
    hot = select(tables.hot.c.window_index).where(tables.hot.c.run_id == key.run_id)
    with store.reading() as reader:
        return reader.connection.execute(hot).first() is None


def value_at(window: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        window = window[key]
    return window


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"run": ' * 100_000,
        b'{"version": 1' + b"0" * 1_000_000 + b"}",
        posted(made_window()).replace(b'"rank": 0', b'"rank": NaN'),
        posted(made_window()).replace(b'"rank": 0', b'"rank": Infinity'),
        posted(made_window()).replace(b'"rank": 0', b'"rank": 1e400'),
        posted(made_window()).replace(b'"rank": 0', b'"rank": -1'),
        posted(made_window()).replace(b'"rank": 0', b'"rank": 9223372036854775808'),
        posted(made_window()).replace(b'"run-1"', b'"run-1\\ud800"'),
        posted(made_window()).replace(b'"run-1"', b'"../../etc/passwd"'),
        posted(made_window()).replace(b'"run-1"', b'"run-1\\n"'),
        posted(made_window()).replace(b'"resnet"', b'"\xed\xa0\x80"'),
        posted(made_window()).replace(b'"resnet"', b'"\\ud800"'),
        posted(made_window()).replace(b'"resnet"', b'"raw \x00 NUL"'),
    ],
    ids=lambda body: repr(body[:12] + b"..." + body[-12:]),
)
def test_what_no_agent_sends_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        decode(body)


def test_a_nul_is_shown_and_a_text_that_only_looks_like_one_is_left() -> None:
    described = {"name": "a\x00b", "tags": {"k\x00": "\\u0000", "\\": "\\\x00"}}
    run = decode(posted(made_window(0, run=described))).run
    assert run is not None
    assert (run.name, run.tags) == ("a\ufffdb", {"k\ufffd": "\\u0000", "\\": "\\\ufffd"})
