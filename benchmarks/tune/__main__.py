"""``python -m benchmarks.tune``."""

from __future__ import annotations

import sys

from benchmarks.tune import main

main(sys.argv[1:])
