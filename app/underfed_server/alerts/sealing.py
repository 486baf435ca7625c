"""Encrypts what must be kept secret of a channel: its address, and what its messages are signed with.

They must be used again, so a digest, as tokens have, would not do. The key is not in the database: whoever reads a
copy of it, a back-up or a dump, reads none of them. Whoever reads the key too, or the service's memory, reads all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from underfed_server.errors import UnderfedError

Secrets = Mapping[str, str | list[str]]


class SealError(UnderfedError):
    """There is no key, or it is not the one that a channel was sealed with."""


class Sealer:
    """Any thread. The key is read when it is first needed."""

    def __init__(self, keys: Callable[[], Sequence[str]]) -> None:
        """``keys``: the first one seals, each one opens. They are long and random: each is hashed once.

        Raises what ``keys`` raises, from each method.
        """
        self._keys = keys
        self._fernet: MultiFernet | None = None

    def seal(self, secrets: Secrets) -> str:
        return self._known().encrypt(json.dumps(secrets).encode()).decode("ascii")

    def open(self, sealed: str) -> Secrets:
        """Raises:
        SealError: it was sealed with another key.
        """
        try:
            found: Secrets = json.loads(self._known().decrypt(sealed.encode()))
        except InvalidToken as error:
            message = (
                "its address cannot be read: it was encrypted with another key; remove the channel and add it again"
            )
            raise SealError(message) from error
        return found

    def _known(self) -> MultiFernet:
        if self._fernet is None:
            digests = [hashlib.sha256(key.encode()).digest() for key in self._keys()]
            self._fernet = MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
        return self._fernet
