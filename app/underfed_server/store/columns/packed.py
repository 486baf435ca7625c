"""Parts of a window of which only the last is stored, compressed."""

from __future__ import annotations

import msgspec
from isal import isal_zlib

from underfed_server.ingest.wire import Stacks, Tuning

LEVEL = 1
"""With ISA-L a third of zlib's CPU at its own level 1, and fewer bytes (own study); only the last are kept."""

_stacks_decoder = msgspec.json.Decoder(Stacks)
_tuning_decoder = msgspec.json.Decoder(Tuning)


def packed(part: Stacks | Tuning) -> bytes:
    return isal_zlib.compress(msgspec.json.encode(part), LEVEL)


def unpacked_stacks(body: bytes) -> Stacks:
    """What a rank's workers were seen to execute with a loader."""
    return _stacks_decoder.decode(isal_zlib.decompress(body))


def unpacked_tuning(body: bytes) -> Tuning:
    return _tuning_decoder.decode(isal_zlib.decompress(body))
