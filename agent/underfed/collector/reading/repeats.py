"""Which of the first batches of an iterable data set several of its workers gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

Result = tuple[int, int]
"""Batches of workers that can be compared, and those of them that another worker gave too."""


class LoaderRepeats:
    """Fed with fingerprints of batches. Workers of one iterator are compared: of the iterator with most batches."""

    def __init__(self, known: Result | None = None) -> None:
        """``known``: what an earlier collector found."""
        self.result = known
        """``None``: there is nothing to compare."""
        self._most = known[0] if known is not None else 0
        """Number of batches that the result is based on."""
        self._iterator = -1
        self._given: dict[int, list[int]] = {}
        """Of the newest iterator, by worker."""
        self._is_new = False

    def add(self, iterator: int, worker: int, fingerprint: int) -> None:
        self._is_new = True
        if iterator > self._iterator:
            self._iterator, self._given = iterator, {}
        if iterator == self._iterator:
            self._given.setdefault(worker, []).append(fingerprint)

    def compare(self) -> None:
        """Compare again, if fingerprints were added."""
        if not self._is_new:
            return
        self._is_new = False
        given = sum(map(len, self._given.values()))
        if given >= self._most and len(self._given) > 1:
            self._most, self.result = given, compare(self._given.values())


def compare(workers: Collection[list[int]]) -> Result:
    """A worker that repeats its own batches is left out: they would equal another worker's too."""
    comparable = [given for given in workers if len(set(given)) == len(given)]
    if len(comparable) < 2:
        return 0, 0
    givers = Counter(one for given in comparable for one in given)
    return sum(map(len, comparable)), sum(count for count in givers.values() if count > 1)
