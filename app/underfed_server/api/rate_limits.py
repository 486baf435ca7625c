"""How much one token or address may send: so many requests and bytes a second, after a rest several seconds' worth."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable
from functools import lru_cache

from underfed_server.errors import TooManyRequestsError

BURST_S = 4.0
SIGN_INS_PER_S, SIGN_INS_BURST_S = 0.2, 50.0
"""Ten wrong tokens at once, then one every five seconds: nobody types faster for long."""

MOST_KEYS = 20_000


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
        """What is taken beyond the rate is waited for by the next one: no body is too large for it by itself."""
        rested = self._clock() - self._burst_s
        if len(self._paid_until) >= MOST_KEYS and key not in self._paid_until:
            self._forget(rested)
        self._paid_until[key] = max(self._paid_until.get(key, rested), rested) + amount * self._s_each

    def _forget(self, rested: float) -> None:
        """Those at rest are as if they had never come; where all are busy, whoever came first starts afresh."""
        busy = [(key, until) for key, until in list(self._paid_until.items()) if until > rested]
        self._paid_until = dict(busy[-MOST_KEYS // 2 :])


class RateLimits:
    """Of one service process. Several behind one address allow as many times as much."""

    def __init__(self, requests_per_s: float, bytes_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests = Rate(requests_per_s, clock=clock)
        self._bytes = Rate(bytes_per_s, clock=clock)
        self.sign_ins = Rate(SIGN_INS_PER_S, SIGN_INS_BURST_S, clock)
        """Wrong tokens, by address."""

    def take(self, key: str, size: int) -> None:
        """One request of ``size`` bytes.

        Raises:
            TooManyRequestsError: more came than the key may send; a request that is refused costs nothing.
        """
        self._requests.require(key, "more requests come than this service takes from one token or address")
        self._bytes.require(key, "more bytes come than this service takes from one token or address")
        self._requests.take(key)
        self._bytes.take(key, size)

    def take_bytes(self, key: str, size: int) -> None:
        """Of a body whose size no header told."""
        self._bytes.take(key, size)


@lru_cache(maxsize=4_096)
def key_of(address: str) -> str:
    """One household of the internet: an IPv4 address, or the 64 bits of an IPv6 one that are not its owner's choice."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return f"address {address}"
    if found.version == 6:
        found = ipaddress.ip_network((found, 64), strict=False).network_address
    return f"address {found}"
