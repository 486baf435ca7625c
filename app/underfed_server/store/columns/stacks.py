"""What a rank's workers were seen to execute with a loader, in the bytes that are stored of it."""

from __future__ import annotations

import zlib

import msgspec

from underfed_server.ingest.wire import Stacks

LEVEL = 6

_decoder = msgspec.json.Decoder(Stacks)


def packed(stacks: Stacks) -> bytes:
    return zlib.compress(msgspec.json.encode(stacks), LEVEL)


def unpacked(body: bytes) -> Stacks:
    return _decoder.decode(zlib.decompress(body))
