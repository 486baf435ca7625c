"""Windows in a file, one checksummed frame after another: appended whole, read up to the first torn one."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

HEAD = struct.Struct("<4sIII")
"""magic, bytes of the label, bytes of the body, CRC-32 of both."""

MAGIC = b"UFS2"


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a kept window without opening it."""

    stream: str
    """``RANK-INCARNATION``."""
    window_index: int
    previous_window_index: int | None
    resume: Mapping[str, Any]
    """Where the next collector would go on, see ``resume``."""


@dataclass(frozen=True, slots=True)
class Frame:
    label: Label
    body: bytes
    """As it is sent."""
    segment: int
    end: int
    """Offset in its segment at which the next frame begins."""


def encode_frame(label: Label, body: bytes) -> bytes:
    # Uncompressed it would be a quarter of what is kept.
    named = {each.name: getattr(label, each.name) for each in fields(label)}
    text = zlib.compress(json.dumps(named, separators=(",", ":")).encode(), 1)
    return HEAD.pack(MAGIC, len(text), len(body), zlib.crc32(body, zlib.crc32(text))) + text + body


def read_segment(path: Path, segment: int, offset: int = 0) -> Iterator[Frame]:
    """Frames from ``offset`` on. A torn or damaged one ends it: what follows cannot be trusted to be aligned."""
    with path.open("rb") as file:
        file.seek(offset)
        while (frame := _read_frame(file, segment)) is not None:
            yield frame


def _read_frame(file: BinaryIO, segment: int) -> Frame | None:
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    magic, text_length, body_length, checksum = HEAD.unpack(head)
    if magic != MAGIC:
        return None
    text, body = file.read(text_length), file.read(body_length)
    if zlib.crc32(body, zlib.crc32(text)) != checksum or len(body) < body_length:
        return None
    return Frame(Label(**json.loads(zlib.decompress(text))), body, segment, file.tell())
