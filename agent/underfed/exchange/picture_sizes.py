"""From which size to which pictures were resized while somebody looked: counts of looks, of a bounded number of kinds.

A kind that is one too many is merged into the one that is most like it, so that each look still counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

MOST_SIZES = 16
"""Of a loader, sent. A data set of pictures of one size has one or two."""

MOST_HELD = 2 * MOST_SIZES

Resized = tuple[int, int, int, int]
"""Width and height before, width and height after."""


@dataclass(frozen=True, slots=True)
class PictureSize:
    """One kind; of kinds that were merged their mean."""

    decoded_width: int
    decoded_height: int
    """Of what is resized: a whole picture, or the part that was cut out of it."""
    used_width: int
    used_height: int
    count: int
    """Looks, not pictures: what takes longer is seen more often."""


@dataclass(slots=True, eq=False)
class SeenPictures:
    _counts: dict[Resized, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, resized: Resized, count: int) -> None:
        """``count``: at least 1."""
        self._counts[resized] = self._counts.get(resized, 0) + count
        self._merge_rare(MOST_HELD)

    def clear(self) -> None:
        self._counts.clear()

    def sizes(self) -> list[PictureSize]:
        """Those with most looks first."""
        self._merge_rare(MOST_SIZES)
        ordered = sorted(self._counts.items(), key=lambda item: -item[1])
        return [PictureSize(*resized, count=count) for resized, count in ordered]

    def _merge_rare(self, most: int) -> None:
        while len(self._counts) > most:
            rare = min(self._counts, key=lambda each: self._counts[each])
            count = self._counts.pop(rare)
            like = min(self._counts, key=lambda each: _distance(each, rare))
            self._add_mean(like, self._counts.pop(like), rare, count)

    def _add_mean(self, one: Resized, ones: int, other: Resized, others: int) -> None:
        width, height, used_width, used_height = (
            round((here * ones + there * others) / (ones + others)) for here, there in zip(one, other, strict=True)
        )
        mean = width, height, used_width, used_height
        self._counts[mean] = self._counts.get(mean, 0) + ones + others


def _distance(one: Resized, other: Resized) -> float:
    """In factors, added up: 100 pixels are little of a large picture and much of a small one."""
    return sum(abs(log(here / there)) for here, there in zip(one, other, strict=True))
