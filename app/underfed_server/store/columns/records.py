"""Roll-ups as bytes and back: figures of 64 bits in a fixed order, so that a thousand of them are read at once.

A record is ``rows, first_index, first_us`` and then every measure's count, every measure's sum, least and greatest, in
the order of :data:`MEASURES`. Measures are only ever added at the end: the length of a record says how many it has.
A roll-up of several chunks is one record; those of a chunk are one record a bucket, in byte planes, compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import MEASURES
from underfed_server.store.columns.chunks import compressor, decompressor
from underfed_server.store.columns.ladder import Rollup, joined, with_names
from underfed_server.store.columns.lanes import kind_of

HEAD = 3
PARTS = 4
FIGURE_BYTES = 8

Matrix = NDArray[np.float64]
"""``[figure of a record, bucket]``"""


def chunk_rollups_to_bytes(lane: str, rollups: Rollup) -> bytes:
    matrix = _matrix(lane, rollups)
    figures, buckets = matrix.shape
    planes = matrix.view(np.uint8).reshape(figures, buckets, FIGURE_BYTES).transpose(0, 2, 1)
    head: bytes = figures.to_bytes(2, "little")
    return head + compressor().compress(planes.tobytes())


def chunk_rollups_from_bytes(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """Of consecutive chunks, one after the other, with the measures ``names``; at least one body."""
    groups = (list(group) for _, group in groupby(bodies, lambda body: body[:2]))
    return joined([_chunk_rollups(lane, group, names) for group in groups])


def node_to_bytes(lane: str, node: Rollup) -> bytes:
    """``node`` is one bucket."""
    body: bytes = _matrix(lane, node).tobytes()
    return body


def nodes_from_bytes(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """One bucket a body, with the measures ``names``; at least one body."""
    groups = (list(group) for _, group in groupby(bodies, len))
    return joined([_nodes(lane, group, names) for group in groups])


def _matrix(lane: str, rollup: Rollup) -> Matrix:
    whole = with_names(rollup, tuple(MEASURES[kind_of(lane)]))
    heads = np.stack((whole.rows, whole.first_index, whole.first_us))
    return np.concatenate((heads, *whole.figures)).astype("<f8")


def _chunk_rollups(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """All records have as many figures."""
    figures = int.from_bytes(bodies[0][:2], "little")
    wanted, rows = _rows(lane, figures, names)
    contents = [decompressor().decompress(memoryview(body)[2:]) for body in bodies]
    # Nearly all chunks have equally many rows, so their roll-ups are decoded together.
    groups = (list(group) for _, group in groupby(contents, len))
    return _rollup(np.concatenate([_chunk_matrix(group, figures, rows) for group in groups], axis=1), wanted)


def _chunk_matrix(contents: Sequence[bytes], figures: int, rows: NDArray[np.intp]) -> Matrix:
    """Of roll-ups of one length."""
    planes = np.frombuffer(b"".join(contents), np.uint8).reshape(len(contents), figures, FIGURE_BYTES, -1)
    apart = planes[:, rows].transpose(1, 0, 3, 2).copy()
    return apart.view("<f8").reshape(len(rows), -1)


def _nodes(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """All records have as many figures."""
    wanted, rows = _rows(lane, len(bodies[0]) // FIGURE_BYTES, names)
    matrix = np.frombuffer(b"".join(bodies), "<f8").reshape(len(bodies), -1)
    return _rollup(np.ascontiguousarray(matrix[:, rows].T), wanted)


def _rows(lane: str, figures: int, names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The requested measures of a record, and where its head and their figures are."""
    known = tuple(MEASURES[kind_of(lane)])[: (figures - HEAD) // PARTS]
    wanted = tuple(name for name in known if name in names)
    places = [HEAD + part * len(known) + known.index(name) for part in range(PARTS) for name in wanted]
    return wanted, np.array([*range(HEAD), *places], dtype=np.intp)


def _rollup(matrix: Matrix, wanted: tuple[str, ...]) -> Rollup:
    figures = matrix[HEAD:].reshape(PARTS, len(wanted), matrix.shape[1])
    return Rollup(matrix[0], matrix[1], matrix[2], wanted, figures)
