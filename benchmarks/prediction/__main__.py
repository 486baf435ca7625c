"""``python -m benchmarks.prediction``."""

from __future__ import annotations

import sys

from benchmarks.prediction import main

main(sys.argv[1:])
