"""Fills a running service with the team's runs: ``python -m tests.fakes.gallery [--live SECONDS] URL``."""

from __future__ import annotations

import argparse

from tests.fakes.gallery.filling import fill, keep_alive


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.gallery", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--live", type=float, default=0.0, help="then go on with the runs that have not ended")
    arguments = parser.parse_args()
    live = fill(arguments.url)
    keep_alive(arguments.url, live, arguments.live)


if __name__ == "__main__":
    main()
