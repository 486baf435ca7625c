"""What ``--tune`` reaches, and what that costs: against the best static setting, measured in the same run.

The pipelines of ``benchmarks/prediction``. Of each, every static setting is measured; then it is trained with ``tune``
from the slowest of them and from torch's default, for a fixed number of steps, with the service answering. The best
static setting is measured again before and after each such training: their difference is the noise beside the figure.
The job compares the indices of every batch with those that are due. Whole-run times, from ``iter(loader)`` to the last
step, are against as many steps at the static settings' measured pace.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] = ()) -> None:
    # Not at the top: the measured jobs import this package, too.
    from benchmarks.prediction.pipelines import pipelines
    from benchmarks.tune import measure, table
    from underfed_server.demo.photographs import photograph_files

    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of a run with the best setting (%(default)s)")
    parser.add_argument("--static-seconds", type=float, default=6.0, help="of each setting (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=1, help="of each tuned run (default: %(default)s)")
    parser.add_argument("--most-workers", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], metavar="PIPELINE", help="(default: all)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        known = [pipeline.name for pipeline in pipelines(directory)]
        if unknown := [name for name in options.only if name not in known]:
            parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(known)}")
        photograph_files(directory)
        plan = measure.Plan(options.seconds, options.static_seconds, options.repeats, options.most_workers)
        table.show(measure.measure(directory, plan, options.only))
