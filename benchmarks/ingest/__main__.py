"""``python -m benchmarks.ingest``."""

from __future__ import annotations

import sys

from benchmarks.ingest import main

main(sys.argv[1:])
