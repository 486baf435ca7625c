"""Slows whoever tries tokens and cookies until one is right.

Only what can be guessed needs it. Tokens and sessions created here have 256 random bits: trying them at any speed finds
none, so a right one never waits, and nobody locks its holder out by guessing from the same address. ``UNDERFED_TOKEN``
was chosen by a person and may be weaker: it alone, and secrets that are not known, come here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from underfed_server.api.admission.rate_limits import Rate

MOST_REMEMBERED = 20_000
WHAT = "too many wrong tokens came from here"


class Guesses:
    """On one event loop.

    A wrong secret counts once, however often it comes: an agent with an outdated token is no guesser. While an address
    has guessed too often, the chosen token passes only if it came from there before: else guessing would go on
    unslowed.
    """

    def __init__(self, rate: Rate) -> None:
        """``rate``: of wrong secrets, by address."""
        self._rate = rate
        self._wrong: OrderedDict[Hashable, None] = OrderedDict()
        self._right: OrderedDict[Hashable, None] = OrderedDict()

    def require(self, address: str, digest: bytes) -> None:
        """Raises:
        TooManyRequestsError: nobody looks whether the secret is right; try later.
        """
        if digest not in self._wrong and (address, digest) not in self._right:
            self._rate.require(address, WHAT)

    def note(self, address: str, digest: bytes, *, is_right: bool) -> None:
        if is_right:
            self._wrong.pop(digest, None)
            _remember(self._right, (address, digest))
        elif digest not in self._wrong:
            self._rate.take(address)
            _remember(self._wrong, digest)


def _remember(among: OrderedDict[Hashable, None], what: Hashable) -> None:
    among[what] = None
    among.move_to_end(what)
    if len(among) > MOST_REMEMBERED:
        among.popitem(last=False)
