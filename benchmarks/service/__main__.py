"""``python -m benchmarks.service``."""

from __future__ import annotations

import sys

from benchmarks.service import main

main(sys.argv[1:])
