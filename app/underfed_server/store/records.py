"""Roll-ups as bytes and back: figures of 64 bits in a fixed order, so that a thousand of them are read at once.

A record is ``rows, first_index, first_us`` and then every measure's count, every measure's sum, least and greatest, in
the order of :data:`MEASURES`. Measures are only ever added at its end: how many a record has is told by its length.
A roll-up of several chunks is one record as it is; a chunk's tier has one a bucket, in byte planes, compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from underfed_server.store.chunks import compressor, decompressor
from underfed_server.store.ladder import MEASURES, Rollup, joined, with_names
from underfed_server.store.lanes import kind_of

HEAD = 3
PARTS = 4
FIGURE_BYTES = 8

Matrix = NDArray[np.float64]
"""``[figure of a record, bucket]``"""


def tier_to_bytes(lane: str, tier: Rollup) -> bytes:
    matrix = _matrix(lane, tier)
    figures, buckets = matrix.shape
    planes = matrix.view(np.uint8).reshape(figures, buckets, FIGURE_BYTES).transpose(0, 2, 1)
    head: bytes = figures.to_bytes(2, "little")
    return head + compressor().compress(planes.tobytes())


def tiers_from_bytes(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """Of consecutive chunks, one after the other, with the measures ``names``; at least one body."""
    matrices = [_tier_matrix(body) for body in bodies]
    groups = (list(group) for _, group in groupby(matrices, len))
    return joined([_rollup(lane, np.concatenate(group, axis=1), names) for group in groups])


def node_to_bytes(lane: str, node: Rollup) -> bytes:
    """``node`` is one bucket."""
    body: bytes = _matrix(lane, node).tobytes()
    return body


def nodes_from_bytes(lane: str, bodies: Sequence[bytes], names: Sequence[str]) -> Rollup:
    """One bucket a body, with the measures ``names``; at least one body."""
    groups = (list(group) for _, group in groupby(bodies, len))
    return joined([_rollup(lane, _node_matrix(group), names) for group in groups])


def _matrix(lane: str, rollup: Rollup) -> Matrix:
    whole = with_names(rollup, MEASURES[kind_of(lane)])
    heads = np.stack((whole.rows, whole.first_index, whole.first_us))
    return np.concatenate((heads, whole.count, whole.sum, whole.min, whole.max)).astype("<f8")


def _tier_matrix(body: bytes) -> Matrix:
    figures = int.from_bytes(body[:2], "little")
    planes = np.frombuffer(decompressor().decompress(body[2:]), np.uint8).reshape(figures, FIGURE_BYTES, -1)
    return np.ascontiguousarray(planes.transpose(0, 2, 1)).view("<f8")[:, :, 0]


def _node_matrix(bodies: Sequence[bytes]) -> Matrix:
    return np.frombuffer(b"".join(bodies), "<f8").reshape(len(bodies), -1).T


def _rollup(lane: str, matrix: Matrix, names: Sequence[str]) -> Rollup:
    known = MEASURES[kind_of(lane)][: (len(matrix) - HEAD) // PARTS]
    wanted = tuple(name for name in known if name in names)
    rows = np.array([known.index(name) for name in wanted], dtype=np.intp)
    count, total, least, most = (np.ascontiguousarray(matrix[HEAD + part * len(known) + rows]) for part in range(PARTS))
    first_rows, first_index, first_us = (np.ascontiguousarray(row) for row in matrix[:HEAD])
    return Rollup(first_rows, first_index, first_us, wanted, count, total, least, most)
