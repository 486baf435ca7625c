"""A compressed body is inflated as far as it may grow, and no further."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest

from tests.app.ingest.inflating import most_allocated_bytes
from underfed_server.errors import MalformedError, TooLargeError, UnsupportedMediaTypeError
from underfed_server.ingest.inflate import MOST_INFLATED_BYTES, inflate, require_known

BODY = b'{"a": 1}' * 50


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes), ("", bytes)]
)
def test_a_body_comes_out_as_it_was(encoding: str, compress: Callable[[bytes], bytes]) -> None:
    assert inflate(compress(BODY), encoding) == BODY


def test_a_zip_bomb_is_refused_without_being_inflated() -> None:
    bomb = gzip.compress(bytes(50 * 2**20), 9)
    assert len(bomb) < 62_500
    with pytest.raises(TooLargeError):
        inflate(bomb, "gzip")
    assert 0 < most_allocated_bytes(bomb) < 3 * MOST_INFLATED_BYTES


def test_the_limit_itself_is_not_too_large() -> None:
    at_limit = bytes(MOST_INFLATED_BYTES)
    assert len(inflate(gzip.compress(at_limit), "gzip")) == MOST_INFLATED_BYTES
    with pytest.raises(TooLargeError):
        inflate(gzip.compress(at_limit + b"x"), "gzip")
    with pytest.raises(TooLargeError):
        inflate(at_limit + b"x", "")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("broken", [b"", b"garbage", BODY])
def test_what_is_not_compressed_is_malformed(encoding: str, broken: bytes) -> None:
    with pytest.raises(MalformedError):
        inflate(broken, encoding)


def test_a_body_that_was_cut_or_has_more_behind_it_is_malformed() -> None:
    whole = gzip.compress(BODY)
    for spoilt in (whole[:-1], whole[: len(whole) // 2], whole + b"more"):
        with pytest.raises(MalformedError):
            inflate(spoilt, "gzip")


def test_an_encoding_that_is_not_known_is_named() -> None:
    with pytest.raises(UnsupportedMediaTypeError, match="br"):
        require_known("br")
