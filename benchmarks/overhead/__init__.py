"""What the agent costs: on the training thread, in a worker, at import, in its collector, and over ten million steps.

Run it as ``python -m benchmarks.overhead``. Whatever is compared is compared within one process, in epochs or blocks of
steps that alternate at random, so that both sides see the same machine, the same workers and the same drift. What a
step costs is said first as a mean over whole epochs of a loop as users have it, then over blocks of one live iterator
that costs nothing itself, beside peers. Figures are medians over pairs with their 95 % interval; the load of the
machine is printed beside them. Peers are called as their documentation says: tqdm around the loader,
``torch.profiler`` with CPU activity on every step, TraceML with its runtime, ``wrap_dataloader_fetch`` and
``trace_step``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="of a loop, with the agent and without it each")
    parser.add_argument("--epochs", type=int, default=40, help="of 3,000 steps, with the agent and without it each")
    parser.add_argument("--seconds", type=float, default=20.0, help="to watch a collector (default: %(default)s)")
    parser.add_argument("--long", action="store_true", help="also memory over 10^7 steps: minutes")
    options = parser.parse_args(arguments)
    # Not at the top: each of these is also the program of the jobs that it measures.
    from benchmarks.overhead import collector, endurance, epochs, footprint, slowdown, steps, workers

    epochs.main(options.epochs)
    steps.main(options.steps)
    slowdown.main(options.steps // 4)
    workers.main()
    footprint.main()
    collector.main(options.seconds)
    if options.long:
        endurance.main()
