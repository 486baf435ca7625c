"""Columns of figures as bytes and back, exactly: differences where they are smaller, byte planes, zstd.

In memory a column is float64, in which every integer up to 2^53 is exact. In a chunk,
integers lie in as few bytes as the largest needs, all bits set meaning "not measured" (for durations, which are below
2^32 − 1, that is the wire's null); other figures lie as float64. Each column is compressed by itself, so that
reading two of ten decodes two.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
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
        kind, width, frame = _smallest(column)
        parts.append(ColumnPart(name, kind, width, len(frame)))
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


def _smallest(column: Column) -> tuple[str, int, bytes]:
    """How a column is best written, its bytes a value, and all of them compressed."""
    ways = [(kind, len(planes), frame) for kind, planes in _planes(column) for frame in _frames(planes)]
    return min(ways, key=lambda way: len(way[2]))


def _planes(column: Column) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """The ways to write it: its bytes by their place in a value, all first ones, all second ones, …"""
    known = np.isfinite(column)
    if not known.any():
        yield ABSENT, np.empty((0, len(column)), np.uint8)
        return
    whole = np.where(known, column, 0).astype(np.int64)
    if not (whole == column)[known].all():
        yield FLOATS, _first_bytes(column.view(np.uint64), 8)
        return
    kind, plain = (PLAIN, whole.astype(np.uint64)) if whole.min() >= 0 else (SIGNED, _zigzag(whole))
    width = _width(plain)
    yield kind, _first_bytes(np.where(known, plain, _null(width)), width)
    if known.all():
        # Of what is random about a mean they are smaller, and yet take more: they have the randomness of two.
        grown = whole.copy()
        grown[1:] -= whole[:-1]
        differences = _zigzag(grown)
        yield DIFFERENCES, _first_bytes(differences, _width(differences))


def _frames(planes: NDArray[np.uint8]) -> Iterator[bytes]:
    """In one block, in which few rows, and what repeats itself, are smaller; and each plane in a block of its own:
    bytes of one place are distributed alike, and unlike those of the next."""
    yield compressor().compress(planes.tobytes()) if len(planes) else b""
    if len(planes) > 1:
        frame = compressor().compressobj(size=planes.size)
        parts = [
            part for plane in planes for part in (frame.compress(plane), frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        ]
        yield b"".join((*parts, frame.flush()))


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


def _first_bytes(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T)


def _width(words: NDArray[np.uint64]) -> int:
    """Bytes that hold the largest and leave all bits set for "not measured"."""
    return max(1, ((int(words.max()) + 1).bit_length() + 7) // 8)


def _null(width: int) -> np.uint64:
    return np.uint64(2 ** (8 * width) - 1)


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
