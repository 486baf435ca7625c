"""What else a service takes, and what its parts take from each other: idle, beside exports, over a day, in several
processes on PostgreSQL.

Run it as ``python -m benchmarks.service``, or with the names of parts. Shares and ratios are within one run; times are
only as good as the machine is idle. How quick pages are under the load of many runs is in ``live_runs``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence


def _idle() -> None:
    from benchmarks.service.idle import PAGES, SECONDS, share_of_a_core

    print(f"idle, with {PAGES} open pages for {SECONDS:.0f} s: {share_of_a_core():.2%} of a core")


def _exports() -> None:
    from benchmarks.service.exports import beside_an_export

    print(f"\n{'pages beside an export':<26}{'alone, ms':>12}{'beside, ms':>12}{'ratio':>8}")
    for name, (alone_ms, beside_ms) in beside_an_export().items():
        print(f"{name:<26}{alone_ms:12.1f}{beside_ms:12.1f}{beside_ms / alone_ms:8.2f}", flush=True)


def _memory() -> None:
    from benchmarks.service.memory import HOURS, RANKS, over_a_day

    print(f"\n{HOURS} hours of {RANKS} ranks, as fast as they are taken; MB of the service's processes together")
    for hour, megabytes in over_a_day():
        print(f"after {hour:>2} h {megabytes:8.0f}", flush=True)


def _processes() -> None:
    from benchmarks.service.processes import COUNTS, on_postgresql

    print(f"\n{'processes on PostgreSQL':<26}{'windows/s':>12}{'service µs':>12}{'database µs':>13}   (CPU a window)")
    for count in COUNTS:
        figures = on_postgresql(count)
        print(
            f"{count:<26}{figures.windows_per_s:12,.0f}{figures.service_us:12,.0f}{figures.database_us:13,.0f}",
            flush=True,
        )


PARTS: Mapping[str, Callable[[], None]] = {
    "idle": _idle,
    "exports": _exports,
    "memory": _memory,
    "processes": _processes,
}


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help=f"of {', '.join(PARTS)}; all when none is given")
    for name in parser.parse_args(argv).part or PARTS:
        PARTS[name]()
    print(f"\nload {os.getloadavg()[0]:.1f}")
