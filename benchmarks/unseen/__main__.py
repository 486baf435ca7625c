"""``python -m benchmarks.unseen``."""

from __future__ import annotations

import sys

from benchmarks.unseen import main

main(sys.argv[1:])
