"""How far a verdict that is confirmed is from the one that would be found anew at that moment.

Run it as ``python -m benchmarks.held_verdicts``; it takes two minutes. Where there is more to judge than time, a
verdict that nothing new contradicts is confirmed for up to thirty seconds before it is found anew. Here runs are judged
so, by a clock of their windows, and each time that one is confirmed it is found anew as well and compared. Waits are
lognormal and one in a hundred is a stall of twenty times as much, so figures move all the time.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from benchmarks.judging import Waits, windows_of_ranks
from underfed_server.api.due_runs import MOST_APART_S, SPARED, DueRuns
from underfed_server.diagnose import Diagnoser, found_in, save
from underfed_server.ingest.decode import decode
from underfed_server.ingest.posted import PostedWindow
from underfed_server.model import Diagnosis
from underfed_server.store.store import Store
from underfed_server.store.writing.counted_window import counted

WINDOW_S = 4
SECONDS = 400

CASES: Mapping[str, tuple[int, Callable[[int], Waits]]] = {
    "one rank waits for half of its time": (1, lambda _: (60e3, 60e3)),
    "eight do": (8, lambda _: (60e3, 60e3)),
    "eight wait for a tenth": (8, lambda _: (6e3, 6e3)),
    "one waits for a fiftieth": (1, lambda _: (1.5e3, 1.5e3)),
    "eight wait for a tenth, later for half": (8, lambda _: (6e3, 60e3)),
    "one waits for a sixth, later for a fifth": (1, lambda _: (13.4e3, 18e3)),
    "eight wait for a sixth, later one for half": (8, lambda rank: (13.4e3, 60e3 if rank == 3 else 13.4e3)),
}


@dataclass(slots=True)
class Seen:
    counts: Counter[str] = field(default_factory=Counter)
    shares: list[float] = field(default_factory=list)
    """By so much the stated share of waiting differed at each confirmation."""
    paces: list[float] = field(default_factory=list)
    """Likewise steps a second, as a part of them."""

    def compare(self, confirmed: Diagnosis, anew: Diagnosis) -> None:
        self.counts["confirmed"] += 1
        self.counts["bound"] += confirmed.bound != anew.bound
        self.counts["level"] += confirmed.level != anew.level
        self.counts["cause"] += _cause(confirmed) != _cause(anew)
        if confirmed.stated_stall_fraction is not None and anew.stated_stall_fraction is not None:
            self.shares.append(abs(anew.stated_stall_fraction - confirmed.stated_stall_fraction))
        if confirmed.steps_per_s and anew.steps_per_s:
            self.paces.append(abs(anew.steps_per_s / confirmed.steps_per_s - 1))


def main() -> None:
    seen = [_judged(ranks, waits_us) for ranks, waits_us in CASES.values()]
    print(f"{SECONDS} s of training. Of each kind: how many verdicts were found and confirmed; how many of those")
    print("confirmed have another bound, level or leading cause than found anew; by how many points their share of")
    print("waiting differs: median, 95 of 100, most")
    for name, each in zip([*CASES, "all"], [*seen, _together(seen)], strict=True):
        counts = "".join(f"{each.counts[what]:>11}" for what in ("found", "confirmed", "bound", "level", "cause"))
        print(f"{name:<45}{counts}   {_spread(each.shares)}")
    print(f"steps a second differ by {_spread(_together(seen).paces)} %")


def _judged(ranks: int, waits_us: Callable[[int], Waits]) -> Seen:
    seen, now_s = Seen(), 0.0
    with tempfile.TemporaryDirectory() as directory:
        store = Store(
            f"sqlite:///{Path(directory, 'underfed.db')}", now=lambda: datetime.fromtimestamp(now_s, timezone.utc)
        )
        try:
            due, diagnoser, last = DueRuns(), Diagnoser(), None
            for number, bodies in enumerate(windows_of_ranks(ranks, SECONDS // WINDOW_S, WINDOW_S, waits_us)):
                for rank, body in enumerate(bodies):
                    # The ranks of a host take turns.
                    now_s = WINDOW_S * (number + rank / ranks)
                    posted = PostedWindow(decode(body), "", body)
                    store.submit(posted).result()
                    due.note([counted(posted)], now_s)
                    due.note_pace(MOST_APART_S / SPARED, now_s)
                    is_due = bool(due.ready(now_s))
                    if not (is_due or due.confirm(now_s)):
                        continue
                    diagnosis = diagnoser.diagnose(store, "RUN")
                    assert diagnosis is not None
                    if not is_due:
                        assert last is not None
                        seen.compare(last, diagnosis)
                        continue
                    due.take("RUN", now_s)
                    seen.counts["found"] += 1
                    last, verdict = diagnosis, save(store, found_in(diagnosis)).verdict
                    due.note_verdict("RUN", verdict and (verdict.bound, verdict.level, verdict.cause))
        finally:
            store.close()
    return seen


def _cause(diagnosis: Diagnosis) -> str | None:
    return diagnosis.causes[0].cause if diagnosis.causes else None


def _together(seen: Sequence[Seen]) -> Seen:
    counts = sum((each.counts for each in seen), Counter[str]())
    return Seen(counts, [one for each in seen for one in each.shares], [one for each in seen for one in each.paces])


def _spread(parts: Sequence[float]) -> str:
    if not parts:
        return "–"
    return ", ".join(f"{100 * each:.2f}" for each in (*np.percentile(parts, [50, 95]), max(parts)))


if __name__ == "__main__":
    main()
