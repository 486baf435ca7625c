"""``python -m benchmarks.stacks``."""

from __future__ import annotations

import sys

from benchmarks.stacks import main

main(sys.argv[1:])
