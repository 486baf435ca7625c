"""Measured by what others have published: a tutorial's ladder, an I/O benchmark's own figures, a decode taken for I/O.

``ladder``: the workload of PyTorch's tutorial on data loading, rung by rung; at each the next one should be the first
advice. ``dlio``: workloads of the DLIO benchmark; what it says of itself beside what is said of it. ``parquet``: tables
that lie in memory, so that nothing waits for storage. Each prints tables in Markdown. No code of theirs is here: ladder
and tables are written from descriptions, and DLIO is fetched from its repositories.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

NAMES = ("ladder", "dlio", "parquet")


def main(arguments: Sequence[str] = ()) -> None:
    # Not at the top: the jobs import this package, too.
    from benchmarks.yardsticks import dlio, ladder, parquet

    parser = argparse.ArgumentParser(prog="python -m benchmarks.yardsticks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*NAMES, []], help=f"of {', '.join(NAMES)}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="directory for runs, diagnoses and data")
    parser.add_argument("--repeats", type=int, default=3, help="each setting so often, in turn; medians are compared")
    parser.add_argument("--steps", type=int, help="instead of each workload's own number: to see that it works")
    parser.add_argument("--dlio", type=Path, nargs="+", default=[], metavar="DIR", help=dlio.CHECKOUTS)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = (options.keep or Path(place)).resolve()
        for name in options.names or NAMES:
            (folder / name).mkdir(parents=True, exist_ok=True)
            match name:
                case "ladder":
                    ladder.measure(folder / name, options.repeats, options.steps)
                case "dlio":
                    dlio.measure(
                        folder / name, [each.resolve() for each in options.dlio], options.repeats, options.steps
                    )
                case "parquet":
                    parquet.measure(folder / name, options.steps)
