"""What inflating a body takes."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, tracemalloc
from underfed_server.errors import TooLargeError
from underfed_server.ingest.inflate import inflate
body = sys.stdin.buffer.read()
tracemalloc.start()
try:
    inflate(body, "gzip")
except TooLargeError:
    print(tracemalloc.get_traced_memory()[1])
"""


def most_allocated_bytes(refused: bytes) -> int:
    """Until a body that is too large is refused.

    In a process of its own: what others allocate meanwhile does not count, nor may stopping to trace them crash.
    """
    return int(
        subprocess.run([sys.executable, "-c", PROGRAM], input=refused, stdout=subprocess.PIPE, check=True).stdout
    )
