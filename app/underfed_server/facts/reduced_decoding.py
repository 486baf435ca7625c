"""Whether pictures are decoded far larger than they are used, by the sizes seen where they are resized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from underfed_server.model import PictureSize

LEAST_LOOKS = 10
"""At pictures being resized. Own choice: with fewer, one large picture may be all that was seen."""

LEAST_FRACTION = 0.9
"""Of these looks, at pictures that lose nothing by it. Random crops differ in size: a small one would be enlarged."""

REDUCTIONS = (8, 4, 2)
"""JPEG is decoded at 1/2, 1/4 or 1/8 for less work: fewer coefficients of its blocks of 8 × 8 are used
(https://libjpeg-turbo.org, ``scale_num``)."""


@dataclass(frozen=True, slots=True)
class Reduction:
    by: int
    """2, 4 or 8: what is decoded has at least so many times the width and height that is used."""
    fraction: float
    """Of the looks at resizing, at pictures of which that is true."""
    most: PictureSize
    """Of these, the kind that was seen most often."""


def are_known(sizes: Sequence[PictureSize]) -> bool:
    return sum(size.count for size in sizes) >= LEAST_LOOKS


def reduction_of(sizes: Sequence[PictureSize]) -> Reduction | None:
    """The largest. ``None``: too few sizes were seen, or pictures are not even twice as large as what is used."""
    seen = sum(size.count for size in sizes)
    for by in REDUCTIONS if are_known(sizes) else ():
        larger = [size for size in sizes if _ratio(size) >= by]
        fraction = sum(size.count for size in larger) / seen
        if fraction >= LEAST_FRACTION:
            return Reduction(by, fraction, max(larger, key=lambda size: size.count))
    return None


def become_smaller(sizes: Sequence[PictureSize]) -> bool:
    """In nearly all looks at resizing."""
    seen = sum(size.count for size in sizes)
    return sum(size.count for size in sizes if _ratio(size) > 1) >= LEAST_FRACTION * seen


def _ratio(size: PictureSize) -> float:
    return min(size.decoded_width / size.used_width, size.decoded_height / size.used_height)
