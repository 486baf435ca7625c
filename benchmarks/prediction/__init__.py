"""How well a run's speed at other settings is predicted from the run alone: every pipeline at every setting, measured.

Nine pipelines × ``num_workers`` 0–4 × ``prefetch_factor`` 1–8, and short epochs with workers that persist or not; each
setting several times, in turn. Every run is recorded by the agent, and from each record the others are predicted. The
error is that of the predicted against the measured speed-up; beside it is printed how much the measured one differs
between two repeats. A run during which others used more than a quarter of a core is measured again, at most twice.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="of each setting (default: %(default)s)")
    parser.add_argument("--most-workers", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument(
        "--keep", type=Path, help="directory for measurements; those that are there are not measured again"
    )
    parser.add_argument("--only", nargs="*", default=[], metavar="PIPELINE", help="(default: all)")
    parser.add_argument("--residuals", type=Path, help="write the table that intervals are made of to this file")
    options = parser.parse_args(arguments)
    # Not at the top: the measured jobs import this package, too.
    from benchmarks.prediction import evaluate, measure, table
    from underfed_server.demo.photographs import photograph_files

    with tempfile.TemporaryDirectory() as place:
        directory = options.keep or Path(place)
        directory.mkdir(parents=True, exist_ok=True)
        photograph_files(directory)
        measure.measure(directory, options.repeats, options.most_workers, options.only)
        figures, choices, noise = evaluate.evaluate(directory)
        table.show(figures, choices, noise)
        if options.residuals:
            made_of = f"{len(figures)} predictions of {len(noise)} pipelines, {date.today():%Y-%m-%d}"
            evaluate.write_residuals(figures, made_of, options.residuals)
