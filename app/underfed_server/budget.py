"""What may be held at one time, of all together and of each who holds some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from underfed_server.errors import TryLaterError


class Budget:
    """Of bytes, or of answers that are being sent. On one event loop."""

    def __init__(self, most: int, full: str, *, most_each: int | None = None, retry_after_s: int = 5) -> None:
        """``full``: what a refusal says. ``most_each``: of one holder; ``None``: one may have all."""
        self._most = most
        self._most_each = most if most_each is None else most_each
        self._full = full
        self._retry_after_s = retry_after_s
        self._by_holder: Counter[str] = Counter()
        self.taken = 0

    def take(self, amount: int, holder: str = "") -> None:
        """Raises:
        TryLaterError: not so much is left, for anybody or for this holder; nothing was taken.
        """
        if self.taken + amount > self._most:
            raise TryLaterError(f"{self._full}; try again later", retry_after_s=self._retry_after_s)
        if self._by_holder[holder] + amount > self._most_each:
            said = f"{self._full} from one client; try again later"
            raise TryLaterError(said, retry_after_s=self._retry_after_s)
        self.taken += amount
        self._by_holder[holder] += amount

    def give_back(self, amount: int, holder: str = "") -> None:
        self.taken -= amount
        self._by_holder[holder] -= amount
        if not self._by_holder[holder]:
            del self._by_holder[holder]

    @contextmanager
    def held(self, holder: str) -> Iterator[None]:
        """One of them.

        Raises:
            TryLaterError: as :meth:`take`.
        """
        self.take(1, holder)
        try:
            yield
        finally:
            self.give_back(1, holder)
