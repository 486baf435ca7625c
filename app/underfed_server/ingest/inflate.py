"""Inflates a compressed body, never further than it may grow."""

from __future__ import annotations

import zlib

from underfed_server.errors import MalformedError, TooLargeError, UnsupportedMediaTypeError

MOST_INFLATED_BYTES = 16 * 2**20
"""The wire's limit. A window at all other limits has 2 MB; a zip bomb inflates a thousandfold."""

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
        TooLargeError: it inflates to more than ``limit``; no more than that was inflated.
        MalformedError: it is broken, cut short, or followed by other bytes.
    """
    bits = _WINDOW_BITS.get(encoding)
    inflated = body if bits is None else _inflate(body, bits, encoding, limit)
    if len(inflated) > limit:
        raise TooLargeError(f"the body inflates to more than {limit:,} bytes")
    return inflated


def _inflate(body: bytes, bits: int, encoding: str, limit: int) -> bytes:
    stream = zlib.decompressobj(bits)
    try:
        inflated = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise MalformedError(f"the body is not {encoding}: {error}") from error
    if len(inflated) <= limit and (not stream.eof or stream.unused_data):
        raise MalformedError(f"the {encoding} body is cut short or followed by other bytes")
    return inflated
