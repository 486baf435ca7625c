"""``python -m benchmarks.diagnosis``."""

from __future__ import annotations

import sys

from benchmarks.diagnosis import main

main(sys.argv[1:])
