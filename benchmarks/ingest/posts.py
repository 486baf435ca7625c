"""Posts prepared requests: as fast as they are answered, or each when an agent would send it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

ANSWERED = b"HTTP/1.1 200"
LATER = b"HTTP/1.1 503"
LATER_S = 2.0
"""What the service asks for that takes no more for now."""


class Connection:
    """The connection of one agent, kept alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def post(self, request: bytes) -> float:
        """Seconds until it was taken, as an agent that is asked to come later does.

        Raises:
            RuntimeError: it was refused for good.
        """
        begun = time.perf_counter()
        while (answer := await self._answer(request)).startswith(LATER):
            await asyncio.sleep(LATER_S)
        if not answer.startswith((ANSWERED, b"HTTP/1.1 204")):
            raise RuntimeError(answer.decode())
        return time.perf_counter() - begun

    async def _answer(self, request: bytes) -> bytes:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        fields = head.lower()
        length = int(fields.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in fields else 0
        return head + await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


async def connected(port: int) -> Connection:
    return Connection(*await asyncio.open_connection("127.0.0.1", port))


async def post_all(port: int, streams: Sequence[Sequence[bytes]]) -> list[float]:
    """Seconds that each post took; every stream in order, all at once."""

    async def post(stream: Sequence[bytes]) -> list[float]:
        connection = await connected(port)
        took = [await connection.post(request) for request in stream]
        connection.close()
        return took

    return [each for took in await asyncio.gather(*(post(stream) for stream in streams)) for each in took]


async def post_on_time(port: int, streams: Sequence[Sequence[bytes]], every_s: float) -> list[list[float]]:
    """As agents do: one post of each stream every ``every_s``, spread evenly. Seconds each took, by stream.

    A post that is late because the one before took too long counts from when it was due.
    """
    connections = [await connected(port) for _ in streams]
    start = time.perf_counter() + 0.5

    async def post(number: int) -> list[float]:
        took = []
        for index, request in enumerate(streams[number]):
            due = start + (index + number / len(streams)) * every_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            late = time.perf_counter() - due
            took.append(max(0.0, late) + await connections[number].post(request))
        return took

    try:
        return await asyncio.gather(*map(post, range(len(streams))))
    finally:
        for connection in connections:
            connection.close()
