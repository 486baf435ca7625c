"""Inflates a compressed body, never further than it may grow, in bytes or in values.

With ISA-L, which takes 15 µs of CPU for a window where zlib takes 28 and zlib-ng 18 (own study): each is inflated where
it arrives, where it becomes part of a chunk, and where its run is judged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import cast

from isal import isal_zlib

from underfed_server.errors import MalformedError, TooLargeError, UnsupportedMediaTypeError

MOST_INFLATED_BYTES = 8 * 2**20
"""The wire's limit. A window at all other limits has 4 MB; a zip bomb inflates a thousandfold."""

MOST_VALUES = 1_000_000
"""The wire's limit on values of JSON. All columns at their limits have 700,000; two bytes of text are enough for one
that takes forty when it is decoded."""

BYTES_A_VALUE = 40
"""CPython: 8 in the list, 32 for an integer or a float."""

PIECE_BYTES = 2**16

_BROKEN = cast("type[Exception]", isal_zlib.IsalError)
_WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def require_known(encoding: str) -> None:
    """Raises:
    UnsupportedMediaTypeError: ``encoding`` is none that :func:`inflate` knows.
    """
    if encoding not in ("", "identity", *_WINDOW_BITS):
        raise UnsupportedMediaTypeError(
            f"Content-Encoding {encoding!r} is not known here; send gzip, deflate or none", field="Content-Encoding"
        )


def inflate(body: bytes, encoding: str, limit: int = MOST_INFLATED_BYTES) -> bytes:
    """``body`` as it was before ``Content-Encoding: encoding`` (``gzip``, ``deflate``, ``identity`` or empty).

    Raises:
        TooLargeError: it inflates to more than ``limit`` or has more values than a window; no more was inflated.
        MalformedError: it is broken, cut short, or followed by other bytes.
    """
    bits = _WINDOW_BITS.get(encoding)
    return _bounded([body] if bits is None else _pieces(body, bits, encoding), limit)


def most_decoded_bytes(inflated: bytes) -> int:
    """What its values take in memory, at most: a place in a list and an object for each, and its texts."""
    return len(inflated) + BYTES_A_VALUE * inflated.count(b",")


def _bounded(pieces: Iterable[bytes], limit: int) -> bytes:
    kept: list[bytes] = []
    size = values = counted = 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        if size > limit:
            raise TooLargeError(f"the body inflates to more than {limit:,} bytes")
        # Every value but the first of each list and object comes after a comma: in fewer bytes there are fewer.
        if size > MOST_VALUES:
            values += sum(each.count(b",") for each in kept[counted:])
            counted = len(kept)
        if values > MOST_VALUES:
            raise TooLargeError(f"the body has more than {MOST_VALUES:,} values")
    return b"".join(kept)


def _pieces(body: bytes, bits: int, encoding: str) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(bits)
    left = body
    try:
        while piece := stream.decompress(left, PIECE_BYTES):
            yield piece
            left = stream.unconsumed_tail
    except _BROKEN as error:
        raise MalformedError(f"the body is not {encoding}: {error}") from error
    if not stream.eof or stream.unused_data:
        raise MalformedError(f"the {encoding} body is cut short or followed by other bytes")
