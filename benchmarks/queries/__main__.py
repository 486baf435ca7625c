"""``python -m benchmarks.queries``."""

import sys

from benchmarks.queries import main

if __name__ == "__main__":
    main(sys.argv[1:])
