"""``python -m benchmarks.yardsticks``."""

from __future__ import annotations

import sys

from benchmarks.yardsticks import main

main(sys.argv[1:])
