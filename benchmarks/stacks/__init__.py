"""What looking at stacks costs, whether the shares are right, and the other ways that there are to look.

``python -m benchmarks.stacks`` takes under four minutes: what the agent's own looking costs workers and the training
process (``cost``), and how far shares are from the truth. ``python -m benchmarks.stacks all``, or names of ways,
measures other ways in place of that, each for a minute. Loading with parts of known shares runs in turn: alone, under a
way that looks every 10 ms, and timed part by part. The difference between the first two is what the way costs while it
looks, which is a twentieth of the time. A share is wrong by how far it is from the timed one. Interrupted: sleeps of a
C library that came back early, of 50, because of the way.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.overhead.pairs import Estimate, estimate
from benchmarks.stacks import cost
from benchmarks.stacks.pipelines import PIPELINES, Pipeline
from benchmarks.stacks.ways import CHOSEN, Way, looked_at, share_at, ways

BLOCK_S = 0.2
SLEEPS, SLEEP_NS = 50, 20_000_000


@dataclass(slots=True)
class Result:
    cost: list[float] = field(default_factory=list)
    """By block: time for a sample under the way, relative to alone."""
    cpu_cost: list[float] = field(default_factory=list)
    """The same of the loading thread's time on a CPU."""
    took_ns: list[tuple[int, ...]] = field(default_factory=list)

    def truth(self) -> list[float]:
        parts = [sum(part) for part in zip(*self.took_ns, strict=True)]
        return [part / sum(parts) for part in parts]


def main(argv: Sequence[str] = ()) -> None:
    found = {way.name: way for way in ways()}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stacks", description=__doc__)
    parser.add_argument(
        "way", nargs="*", help=f"all, or those whose name contains it, of: {', '.join(found)}; default: the agent's own"
    )
    parser.add_argument("--rounds", type=int, default=20, help="blocks of each kind (default: %(default)s)")
    arguments = parser.parse_args(argv)
    if not arguments.way:
        cost.main()
    wanted = arguments.way or [CHOSEN]
    for name in [name for name in found if wanted == ["all"] or any(each in name for each in wanted)]:
        print(f"\n{name}: {interrupted(_fresh(name))} of {SLEEPS} sleeps interrupted")
        for make in PIPELINES:
            report(make(), _fresh(name), arguments.rounds)


def _fresh(name: str) -> Way:
    return next(way for way in ways() if way.name == name)


def report(pipeline: Pipeline, way: Way, rounds: int) -> None:
    result = measure(pipeline, way, rounds)
    seen = way.seen()
    shares = [share_at(seen, *place) for place in pipeline.places]
    found = [share / max(1, sum(shares)) for share in shares]
    truth = result.truth()
    wrong = max(abs(one - other) for one, other in zip(found, truth, strict=True))
    known = sum(shares) / max(1, sum(seen.values()))
    pairs = ", ".join(f"{one:.0%} of {other:.0%}" for one, other in zip(found, truth, strict=True))
    print(
        f"  {pipeline.name:<22} {_percent(result.cost)} time, {_percent(result.cpu_cost)} CPU; "
        f"wrong by {100 * wrong:4.1f} points ({pairs}; {known:.0%} of {sum(seen.values()):,} known)",
        flush=True,
    )


def _percent(costs: list[float]) -> str:
    found: Estimate = estimate([100 * (cost - 1) for cost in costs])
    return f"{found.value:+5.1f} % [{found.low:+.1f}, {found.high:+.1f}]"


def measure(pipeline: Pipeline, way: Way, rounds: int) -> Result:
    result = Result()
    for _ in range(3):
        pipeline.plain()
        pipeline.timed()
    for _ in range(rounds):
        alone_s, alone_cpu_s = per_sample(pipeline.plain)
        with looked_at(way):
            looked_at_s, looked_at_cpu_s = per_sample(pipeline.plain)
        result.cost.append(looked_at_s / alone_s)
        result.cpu_cost.append(looked_at_cpu_s / alone_cpu_s)
        per_sample(lambda: result.took_ns.append(pipeline.timed()))
    return result


def per_sample(load: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and seconds on a CPU."""
    began_s, cpu_s, samples = time.perf_counter(), time.thread_time(), 0
    while time.perf_counter() < began_s + BLOCK_S:
        load()
        samples += 1
    return (time.perf_counter() - began_s) / samples, (time.thread_time() - cpu_s) / samples


def interrupted(way: Way) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    pause = (ctypes.c_long * 2)(0, SLEEP_NS)
    with looked_at(way):
        returned = [(libc.nanosleep(ctypes.byref(pause), None), ctypes.get_errno()) for _ in range(SLEEPS)]
    return sum(status != 0 and reason == errno.EINTR for status, reason in returned)
