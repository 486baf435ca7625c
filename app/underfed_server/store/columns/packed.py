"""Parts of a window of which only the last is stored, compressed."""

from __future__ import annotations

import zlib

import msgspec

from underfed_server.ingest.wire import Stacks, Tuning

LEVEL = 1
"""Half the CPU of 6, for a tenth more bytes of which only the last are kept."""

_stacks_decoder = msgspec.json.Decoder(Stacks)
_tuning_decoder = msgspec.json.Decoder(Tuning)


def packed(part: Stacks | Tuning) -> bytes:
    return zlib.compress(msgspec.json.encode(part), LEVEL)


def unpacked_stacks(body: bytes) -> Stacks:
    """What a rank's workers were seen to execute with a loader."""
    return _stacks_decoder.decode(zlib.decompress(body))


def unpacked_tuning(body: bytes) -> Tuning:
    return _tuning_decoder.decode(zlib.decompress(body))
