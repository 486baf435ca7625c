"""How much one token or address may send, in requests and bytes a second, and how many exports go on at one time."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable
from functools import lru_cache

from underfed_server.budget import Budget
from underfed_server.errors import TooManyRequestsError

BURST_S = 4.0
SIGN_INS_PER_S, SIGN_INS_BURST_S = 0.2, 50.0
"""Ten wrong tokens at once, then one every five seconds: nobody types faster for long."""

MOST_KEYS = 20_000

MOST_EXPORTS = 8
"""At one time. Each takes a thread while it reads, of the 40 that answer all requests."""

MOST_EXPORTS_EACH = 4
"""Of one address: who reads slowly holds no more than half."""


class Rate:
    """A token bucket for each key, kept as the one instant up to which its use is paid for. Any thread may ask."""

    def __init__(self, per_s: float, burst_s: float = BURST_S, clock: Callable[[], float] = time.monotonic) -> None:
        """``per_s``: infinite for no limit."""
        self._s_each = 1.0 / per_s
        self._burst_s = burst_s
        self._clock = clock
        self._paid_until: dict[str, float] = {}

    def require(self, key: str, what: str) -> None:
        """Raises:
        TooManyRequestsError: nothing is left for now.
        """
        late_s = self._paid_until.get(key, -math.inf) - self._clock()
        if late_s > 0:
            raise TooManyRequestsError(f"{what}; try again in {late_s:.1f} s", retry_after_s=math.ceil(late_s))

    def take(self, key: str, amount: float = 1.0) -> None:
        """The next request waits for what was taken beyond the rate: no body is too large by itself."""
        rested = self._clock() - self._burst_s
        if len(self._paid_until) >= MOST_KEYS and key not in self._paid_until:
            self._forget(rested)
        self._paid_until[key] = max(self._paid_until.get(key, rested), rested) + amount * self._s_each

    def _forget(self, rested: float) -> None:
        """Idle keys are dropped, which changes nothing; of too many busy ones the oldest start afresh."""
        busy = [(key, until) for key, until in list(self._paid_until.items()) if until > rested]
        self._paid_until = dict(busy[-MOST_KEYS // 2 :])


class RateLimits:
    """Limits of one service process. Several behind one address allow as many times as much."""

    def __init__(self, requests_per_s: float, bytes_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = Rate(requests_per_s, clock=clock)
        self._bytes = Rate(bytes_per_s, clock=clock)
        self.sign_ins = Rate(SIGN_INS_PER_S, SIGN_INS_BURST_S, clock)
        """Wrong tokens with which somebody tried to sign in, by address."""
        self.guesses = Rate(SIGN_INS_PER_S, SIGN_INS_BURST_S, clock)
        """Wrong tokens and cookies of any other request, likewise."""
        full = f"this service exports as many runs as it may, {MOST_EXPORTS} at one time or {MOST_EXPORTS_EACH}"
        self.exports = Budget(MOST_EXPORTS, full, most_each=MOST_EXPORTS_EACH)

    def take(self, key: str, size: int) -> None:
        """One request of ``size`` bytes.

        Raises:
            TooManyRequestsError: the key sent more than it may; a refused request does not count.
        """
        self._requests.require(key, "more requests come than this service takes from one token or address")
        self._bytes.require(key, "more bytes come than this service takes from one token or address")
        self._requests.take(key)
        self._bytes.take(key, size)

    def take_bytes(self, key: str, size: int) -> None:
        """As :meth:`take`, for a body whose size is in no header."""
        self._bytes.take(key, size)


@lru_cache(maxsize=4_096)
def key_of(address: str) -> str:
    """One customer: an IPv4 address, or the 64-bit prefix of an IPv6 one, whose other bits its owner chooses."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return f"address {address}"
    if found.version == 6:
        found = ipaddress.ip_network((found, 64), strict=False).network_address
    return f"address {found}"
