"""``python -m benchmarks.overhead``."""

from __future__ import annotations

import sys

from benchmarks.overhead import main

main(sys.argv[1:])
