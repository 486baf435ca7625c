"""Columns of figures as bytes and back, exactly: differences where they are smaller, byte planes, zstd.

In memory a column is float64, in which every integer up to 2^53 is exact. In a chunk,
integers lie in as few bytes as the largest needs, all bits set meaning "not measured" (for durations, which are below
2^32 − 1, that is the wire's null); other figures lie as float64. Each column is compressed by itself, so that
reading two of ten decodes two.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import cast

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from underfed_server.measurements import Column, Columns

PLAIN, SIGNED, DIFFERENCES, FLOATS, ABSENT = "u", "z", "d", "f", "n"
LEVEL = 3
"""zstd's default: level 9 saves 2 % of the bytes at five times the CPU (own study)."""


class ColumnPart(msgspec.Struct, frozen=True, array_like=True):
    name: str
    kind: str
    width: int
    """Bytes per value."""
    size: int
    """Bytes compressed."""


class Header(msgspec.Struct, frozen=True, array_like=True):
    rows: int
    columns: list[ColumnPart]


_header_encoder = msgspec.msgpack.Encoder()
_header_decoder = msgspec.msgpack.Decoder(Header)
_contexts = threading.local()


def encode(columns: Mapping[str, Column]) -> bytes:
    """All columns have one length and no infinite value."""
    parts, frames = [], []
    for name, column in columns.items():
        kind, planes = _planes(column)
        frame = _compressed(planes)
        parts.append(ColumnPart(name, kind, len(planes), len(frame)))
        frames.append(frame)
    rows = len(next(iter(columns.values()))) if columns else 0
    header = _header_encoder.encode(Header(rows, parts))
    return b"".join((len(header).to_bytes(4, "little"), header, *frames))


def decode(body: bytes, names: Iterable[str] | None = None) -> Columns:
    """The columns ``names`` as far as they exist, by default all, in the order in which they were encoded."""
    wanted = None if names is None else frozenset(names)
    start = 4 + int.from_bytes(body[:4], "little")
    header = _header_decoder.decode(body[4:start])
    columns: Columns = {}
    for part in header.columns:
        if wanted is None or part.name in wanted:
            columns[part.name] = _column(part, body[start : start + part.size], header.rows)
        start += part.size
    return columns


def _planes(column: Column) -> tuple[str, NDArray[np.uint8]]:
    """How a column is best written, and its bytes by their place in a value: all first ones, all second ones, …"""
    known = np.isfinite(column)
    if not known.any():
        return ABSENT, np.empty((0, len(column)), np.uint8)
    if not known.all():
        return _nullable(column, known)
    whole = column.astype(np.int64)
    if not (whole == column).all():
        return _floats(column)
    grown = whole.copy()
    grown[1:] -= whole[:-1]
    kind, plain = _plain(whole)
    found = {kind: _split(plain), DIFFERENCES: _split(_zigzag(grown))}
    return min(found.items(), key=lambda each: _bits(each[1]))


def _floats(column: Column) -> tuple[str, NDArray[np.uint8]]:
    return FLOATS, _first_bytes(column.view(np.uint64), 8)


def _nullable(column: Column, known: NDArray[np.bool_]) -> tuple[str, NDArray[np.uint8]]:
    whole = np.where(known, column, 0).astype(np.int64)
    if not (whole == column)[known].all():
        return _floats(column)
    kind, values = _plain(whole)
    width = _width(values)
    return kind, _first_bytes(np.where(known, values, _null(width)), width)


def _plain(whole: NDArray[np.int64]) -> tuple[str, NDArray[np.uint64]]:
    return (PLAIN, whole.astype(np.uint64)) if whole.min() >= 0 else (SIGNED, _zigzag(whole))


def _compressed(planes: NDArray[np.uint8]) -> bytes:
    """Each plane is a block of its own: bytes of one place are distributed alike, and unlike those of the next."""
    if not len(planes):
        return b""
    frame = compressor().compressobj(size=planes.size)
    parts = [
        part for plane in planes for part in (frame.compress(plane), frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    ]
    return b"".join((*parts, frame.flush()))


def _column(part: ColumnPart, frame: bytes, rows: int) -> Column:
    if part.kind == ABSENT:
        return np.full(rows, np.nan)
    raw = np.frombuffer(decompressor().decompress(frame), np.uint8).reshape(part.width, rows)
    words = raw[0].astype(np.uint64)
    for place in range(1, part.width):
        words |= raw[place].astype(np.uint64) << np.uint64(8 * place)
    if part.kind == FLOATS:
        return np.asarray(words.view(np.float64))
    if part.kind == DIFFERENCES:
        return np.cumsum(_unzigzag(words)).astype(np.float64)
    figures = (words if part.kind == PLAIN else _unzigzag(words)).astype(np.float64)
    unknown = words == _null(part.width)
    if unknown.any():
        figures[unknown] = np.nan
    return figures


def _split(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return _first_bytes(words, _width(words))


def _first_bytes(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T)


def _width(words: NDArray[np.uint64]) -> int:
    """Bytes that hold the largest and leave all bits set for "not measured"."""
    return max(1, ((int(words.max()) + 1).bit_length() + 7) // 8)


def _null(width: int) -> np.uint64:
    return np.uint64(2 ** (8 * width) - 1)


def _bits(planes: NDArray[np.uint8]) -> float:
    """What they take where each byte takes as many bits as it is rare in its plane. Differences of what is random about
    a mean are smaller and yet take more, since they have the randomness of two."""
    return sum(_bits_of(np.bincount(plane)) for plane in planes)


def _bits_of(counts: NDArray[np.int64]) -> float:
    counts = counts[counts > 0]
    return float((counts * np.log2(counts.sum() / counts)).sum())


def _zigzag(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """0, −1, 1, −2, … → 0, 1, 2, 3, …"""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def _unzigzag(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (words >> np.uint64(1)).view(np.int64) ^ -(words & np.uint64(1)).view(np.int64)


def compressor() -> zstandard.ZstdCompressor:
    """One per thread: they must not be shared."""
    if not hasattr(_contexts, "compressor"):
        _contexts.compressor = zstandard.ZstdCompressor(level=LEVEL)
    return cast("zstandard.ZstdCompressor", _contexts.compressor)


def decompressor() -> zstandard.ZstdDecompressor:
    """One per thread."""
    if not hasattr(_contexts, "decompressor"):
        _contexts.decompressor = zstandard.ZstdDecompressor()
    return cast("zstandard.ZstdDecompressor", _contexts.decompressor)
