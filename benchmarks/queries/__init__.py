"""What requests cost, however long the run: overviews, zooms, percentiles, the list of runs, a comparison.

Run it as ``python -m benchmarks.queries``: it stores one run of 10 million steps on 8 ranks and 20 runs of a million
steps (about a gigabyte, in a few minutes), and a second store with 5,000 runs, makes each request over HTTP and inside
the service, and prints median and 95th percentile in milliseconds, over HTTP with the CPU time of the service beside
them. ``--steps`` makes the runs shorter, ``--keep`` keeps the stores for the next time. Bytes a step are the whole
file's by its steps: once of steps with samples of process and host, once with batches of workers beside them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.queries.ask import print_answers
from benchmarks.queries.size import print_sizes
from benchmarks.queries.stores import open_stores


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000_000, help="of the long run (default: %(default)s)")
    parser.add_argument("--times", type=int, default=20, help="each question is asked (default: %(default)s)")
    parser.add_argument("--keep", metavar="DIRECTORY", help="directory in which stores are kept and found again")
    arguments = parser.parse_args(argv)
    with ExitStack() as stack:
        directory = Path(arguments.keep or stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(parents=True, exist_ok=True)
        print_sizes(directory, arguments.steps // 10)
        stores = open_stores(directory, arguments.steps)
        print_answers(stores, arguments.times)
