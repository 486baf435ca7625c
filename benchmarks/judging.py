"""What it costs the service to judge runs while they train: CPU a judgement, by what it is spent on.

Run it as ``python -m benchmarks.judging``. Every rank posts a window, and every run is judged after it, as the service
does: the runs in turn, so that what is kept in memory of one must outlast the others. All is CPU time, that of the
thread that writes what was found included; none of it is of the windows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.ingest.made import WINDOW_S, windows
from underfed_server import diagnose
from underfed_server.diagnose import Diagnoser, save
from underfed_server.forked.answering import judged
from underfed_server.garbage import collect_and_look_seldom
from underfed_server.ingest.decode import decode
from underfed_server.ingest.posted import PostedWindow
from underfed_server.store.store import Store

WORKERS = 8

WAIT_US = 60_000
"""Of 140 ms: most is to do where input is what a run waits for."""

PARTS = {
    "facts": ("read_facts",),
    "hotspots": ("read_hotspots",),
    "diagnosis": ("overview_of", "judge", "of_run", "diagnosis_of"),
    "advice": ("advise",),
    "earlier runs": ("find_pairing", "ledger_of", "measured_replay", "read_shared"),
}
"""Functions of the module that judges a run. All these, the curve and the rest are done by the process that judges."""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="that train at once (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=8, help="of each run, on one host (default: %(default)s)")
    parser.add_argument(
        "--windows", type=int, default=30, help="of 20 steps, of each rank before (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of a window and a judgement (default: %(default)s)")
    arguments = parser.parse_args(argv)
    runs = [f"run-{number}" for number in range(arguments.runs)]
    made = windows_of_ranks(arguments.ranks, arguments.windows + arguments.rounds)
    with tempfile.TemporaryDirectory() as directory:
        store = Store(f"sqlite:///{Path(directory, 'underfed.db')}")
        try:
            _post(store, runs, made[: arguments.windows])
            collect_and_look_seldom()
            diagnoser = Diagnoser()
            rounds = [_round(store, diagnoser, runs, [each]) for each in made[arguments.windows :]]
        finally:
            store.close()
    print(f"{arguments.runs} runs of {arguments.ranks} ranks, {WORKERS} workers and samples each; CPU ms a judgement")
    _print("", [*rounds[0], "all"])
    for number, spent in enumerate(rounds):
        name = f"after window {arguments.windows + number + 1}"
        _print(name, [f"{each / len(runs) * 1e3:.1f}" for each in (*spent.values(), sum(spent.values()))])


Round = Sequence[bytes]
"""A window of each rank."""


Waits = tuple[float, float]
"""Usual ones of a rank, in the first half of its windows and in the second."""


def windows_of_ranks(
    ranks: int, count: int, window_s: int = WINDOW_S, waits_us: Callable[[int], Waits] = lambda _: (WAIT_US, WAIT_US)
) -> Sequence[Round]:
    """The same for every run, whose name is filled in as it is posted. ``waits_us``: of a rank."""
    made = partial(windows, "RUN", count + 1, WORKERS, with_everything=True, window_s=window_s)
    waits = [waits_us(rank) for rank in range(ranks)]
    streams = [
        _of_rank(rank, made(seed=rank, usual_wait_us=first, later_wait_us=later))
        for rank, (first, later) in enumerate(waits)
    ]
    # The last one ends the run.
    return list(zip(*streams, strict=True))[:-1]


def _of_rank(rank: int, made: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """One rank samples the host and its devices for all."""
    for window in made:
        window["rank"] = rank
        if "run" in window:
            window["run"] |= {"hostname": "gpu-01", "local_rank": rank, "world_size": 8, "script": "train.py"}
            window["run"]["host"] = {"allowed_cpus": 64, "memory_limit_bytes": 2**39, "shm_bytes": 2**34}
            settings = {"num_workers": WORKERS, "prefetch_factor": 2, "batch_size": 32, "pin_memory": True}
            window["loaders"] = [{"loader": "train", "settings": settings}]
        if rank:
            window |= {"host": None, "gpus": []}
        yield json.dumps(window, separators=(",", ":")).encode()


def _post(store: Store, runs: Sequence[str], rounds: Sequence[Round]) -> None:
    """On return all of them are stored."""
    for each in rounds:
        for run_id in runs:
            bodies = [body.replace(b'"RUN"', b'"' + run_id.encode() + b'"') for body in each]
            posted = [store.submit(PostedWindow(decode(body), "", body)) for body in bodies]
            for done in posted:
                done.result()


def _round(store: Store, diagnoser: Diagnoser, runs: Sequence[str], rounds: Sequence[Round]) -> Mapping[str, float]:
    """Seconds by part, of all runs together."""
    beside = ("curve, rest", "saving", "list and note")
    spent: dict[str, float] = defaultdict(float, dict.fromkeys([*PARTS, *beside], 0.0))
    _post(store, runs, rounds)
    with _timed(spent):
        for run_id in runs:
            before, known = time.process_time(), sum(spent.values())
            found, curve = judged(diagnoser, store, run_id)
            judged_at = time.process_time()
            spent["curve, rest"] += judged_at - before - (sum(spent.values()) - known)
            if found is not None:
                save(store, found)
            saved_at = time.process_time()
            spent["saving"] += saved_at - judged_at
            store.note_judged(run_id, curve, store.now())
            store.summary(run_id)
            spent["list and note"] += time.process_time() - saved_at
    return spent


@contextmanager
def _timed(spent: dict[str, float]) -> Iterator[None]:
    with ExitStack() as stack:
        for part, names in PARTS.items():
            for name in names:
                stack.enter_context(patch.object(diagnose, name, _adding(spent, part, getattr(diagnose, name))))
        yield


def _adding(spent: dict[str, float], part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        before = time.process_time()
        try:
            return function(*arguments, **named)
        finally:
            spent[part] += time.process_time() - before

    return partial(timed)


def _print(name: str, figures: Sequence[str]) -> None:
    print(f"{name:<18}" + "".join(f"{figure:>14}" for figure in figures), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
