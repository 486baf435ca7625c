"""Plants realistic slips into a copy of the code, one at a time, and reports which of them the tests notice.

    python -m tests.planted_faults [--only TEXT] [--jobs 1]

Each fault names the tests that should notice it, so that it costs seconds; all of them take about ten minutes. Exits
with 1 where a fault escapes, where its text is no longer found in the code, or where its tests do not run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue

from tests.planted_faults.every import PARTS
from tests.planted_faults.fault import Fault
from tests.planted_faults.running import Found, Outcome, Suite
from tests.planted_faults.scratch import scratch_copy


def main() -> int:
    options = parse(sys.argv[1:])
    chosen = {part: [fault for fault in faults if options.only in fault.id] for part, faults in PARTS.items()}
    faults = [fault for some in chosen.values() for fault in some]
    if not faults:
        print(f"no fault has {options.only!r} in its sentence")
        return 1
    begun = time.monotonic()
    found = judge_all(faults, options.jobs)
    print()
    for part, some in chosen.items():
        if some:
            print(line(part, [found[fault.id] for fault in some]))
    everything = list(found.values())
    print(line("all", everything), f"in {(time.monotonic() - begun) / 60:.0f} min")
    return 0 if all(each.outcome is Outcome.CAUGHT for each in everything) else 1


def judge_all(faults: Sequence[Fault], jobs: int) -> dict[str, Found]:
    """By sentence. Each job has a copy of the code."""
    found: dict[str, Found] = {}
    suites: SimpleQueue[Suite] = SimpleQueue()
    with ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
        every = [Suite(stack.enter_context(scratch_copy())) for _ in range(jobs)]
        for suite in every:
            stack.callback(suite.close)
            suites.put(suite)

        def judge(fault: Fault) -> Found:
            suite = suites.get()
            try:
                return suite.judge(fault)
            finally:
                suites.put(suite)

        for each in pool.map(judge, faults):
            found[each.fault.id] = each
            report(each)
        confirmed = every[0].confirmed(list(found.values()))
    for each in confirmed:
        if each != found[each.fault.id]:
            report(each)
    return {each.fault.id: each for each in confirmed}


def report(found: Found) -> None:
    print(
        f"{found.outcome.value:>17}  {found.fault.id}", *([found.by] if found.by else []), sep=f"\n{'':19}", flush=True
    )


def line(part: str, found: Sequence[Found]) -> str:
    counts = {outcome: sum(each.outcome is outcome for each in found) for outcome in Outcome}
    escaped_before = sum(each.fault.escapes_before for each in found)
    counted = [f"{count} {outcome.value}" for outcome, count in counts.items() if count or outcome is Outcome.CAUGHT]
    return f"{part + ':':<11} {len(found):>3} faults, {', '.join(counted)}; {escaped_before} escaped when first planted"


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted_faults")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults with this in their sentence")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time, each in a copy of its own")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
