"""What ingest costs: posts a second, CPU of the service a post, bytes on disk a step; agents' waits; peers beside us.

Run it as ``python -m benchmarks.ingest``. The generator shares the machine with the service, so posts a second are a
lower bound; CPU a post and bytes a step are what to compare. ``with its judge``: as in real use, where runs are
judged as their windows arrive, with the rest of the service's core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    num_workers: int | None
    """``None``: nothing of batches."""
    with_everything: bool = False
    judges: bool = False
    """Runs are judged meanwhile."""
    on_postgresql: bool = False


CASES = {
    "steps alone": Case(None),
    "and batches of 0 workers": Case(0),
    "and batches of 2 workers": Case(2),
    "everything, 8 workers, 4 GPUs": Case(8, with_everything=True),
    "steps alone, with its judge": Case(None, judges=True),
    "everything, with its judge": Case(8, with_everything=True, judges=True),
    "steps alone, on PostgreSQL": Case(None, on_postgresql=True),
    "everything, on PostgreSQL": Case(8, with_everything=True, on_postgresql=True),
}
"""All with samples of process and host; everything is what the agent of a rank sends that samples its host."""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--windows", type=int, default=420, help="of 20 steps, for each run (default: %(default)s)")
    parser.add_argument("--agents", type=int, default=1_000, help="that post every 2 s (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=30.0, help="that they do so (default: %(default)s)")
    parser.add_argument(
        "--mlflow", metavar="PROGRAM", help="mlflow of another environment (default: the one on the path)"
    )
    arguments = parser.parse_args(argv)
    _print_load(arguments.windows)
    _print_agents(arguments.agents, arguments.seconds)
    _print_peers(arguments.windows, arguments.mlflow)


def _print_load(windows: int) -> None:
    from benchmarks.ingest.made import STEPS_A_WINDOW
    from benchmarks.ingest.ours import CONNECTIONS, as_fast_as_possible

    print(f"{CONNECTIONS} runs at once, {windows * STEPS_A_WINDOW:,} steps each, {STEPS_A_WINDOW} a post")
    _print_row("columns", "posts/s", "p50 ms", "p99 ms", "CPU µs/post", "wire B/step", "disk B/step", "of it unused")
    for name, case in CASES.items():
        if case.on_postgresql and not _has_postgresql():
            print(f"{name:<30}(psycopg or PostgreSQL's server is not installed here)")
            continue
        result = as_fast_as_possible(
            windows,
            case.num_workers,
            with_everything=case.with_everything,
            judges=case.judges,
            on_postgresql=case.on_postgresql,
        )
        unused = result.unused_bytes_a_step
        _print_row(
            name,
            f"{result.posts_per_s:,.0f}",
            f"{result.p50_ms:.1f}",
            f"{result.p99_ms:.1f}",
            f"{result.cpu_us_a_post:,.0f}",
            f"{result.wire_bytes_a_step:.1f}",
            f"{result.stored_bytes_a_step:.1f}",
            "–" if unused is None else f"{unused:.1f}",
        )


def _print_agents(agents: int, seconds: float) -> None:
    from benchmarks.ingest.ours import EVERY_S, on_time

    print(f"\n{agents:,} agents, a post every {EVERY_S:.0f} s each, for {seconds:.0f} s")
    _print_row("", "posts", "p50 ms", "p99 ms", "first p99", "last p99", "cores")
    for name in ("steps alone", "everything, 8 workers, 4 GPUs", "everything, with its judge"):
        case = CASES[name]
        result = on_time(agents, seconds, case.num_workers, with_everything=case.with_everything, judges=case.judges)
        waits = (f"{wait:.1f}" for wait in (result.p50_ms, result.p99_ms, result.first_p99_ms, result.last_p99_ms))
        _print_row(name, f"{result.posts:,}", *waits, f"{result.cores:.2f}")


def _has_postgresql() -> bool:
    try:
        from tests.fakes.postgresql import programs

        programs()
    except (ImportError, RuntimeError):
        return False
    return True


def _print_peers(windows: int, program: str | None) -> None:
    from benchmarks.ingest.peers import METRICS, mlflow, ours, victoria_metrics

    print(f"\nthe same {len(METRICS)} metrics of each step ({', '.join(METRICS)}), 20 steps a post, 16 runs at once")
    _print_row("", "steps/s", "CPU µs/step", "disk B/step", "overview ms")
    few = max(10, windows // 40)
    for peer in (ours(16, windows), victoria_metrics(16, windows), mlflow(program, 16, few)):
        if peer is None:
            print("(a peer is not installed here)")
            continue
        figures = (f"{peer.steps_per_s:,.0f}", f"{peer.cpu_us_a_step:.1f}", f"{peer.bytes_a_step:.1f}")
        _print_row(peer.name, *figures, f"{peer.overview_ms:.1f}")
    print(f"(of MLflow {few * 20:,} steps a run, of the others {windows * 20:,})")


def _print_row(name: str, *figures: str) -> None:
    print(f"{name:<30}" + "".join(f"{figure:>13}" for figure in figures), flush=True)
