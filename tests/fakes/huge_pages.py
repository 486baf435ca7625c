"""What many processes are forked from lies in huge pages: a fork copies the page table of all memory, and a huge page
has one entry there in place of 512.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

MADV_COLLAPSE = 25


def lay_in_huge_pages() -> None:
    """All that was allocated so far. Where that cannot be had, as on Linux before 6.1, it stays as it is."""
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, access, _, _, file, *_ = line.split(maxsplit=5)
        if file == "0" and access == "rw-p":
            first, end = (int(address, 16) for address in place.split("-"))
            madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)
