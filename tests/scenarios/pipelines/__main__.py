"""``python -m tests.scenarios.pipelines NAME [STRENGTH]``: trains as the pipeline does, once."""

from __future__ import annotations

import argparse
import os

import torch

from tests.scenarios.pipelines.pipeline import HOT, KINDS, STRENGTHS, names, pipeline


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios.pipelines", description=__doc__)
    parser.add_argument("name", choices=names(*KINDS, HOT))
    parser.add_argument("strength", nargs="?", choices=STRENGTHS, default="clear")
    arguments = parser.parse_args()
    chosen = pipeline(arguments.name)
    if chosen.train is None:
        parser.error(f"{arguments.name} has synthetic windows and no training")
    if chosen.cpus is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.cpus])
    torch.set_num_threads(1)
    chosen.train(arguments.strength)


if __name__ == "__main__":
    main()
