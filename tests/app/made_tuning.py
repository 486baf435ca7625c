"""Windows of a run that tunes itself, as an agent would post them: from no workers to three."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.app.made_windows import RUN, made_window

LOAD_MS, WORK_MS = 120, 50
HOST = {"cpu_count": 8, "usable_cores": 8.0, "cpu_slowdown": [[1, 1.0], [8, 1.0]]}

NONE: dict[str, Any] = {"num_workers": 0, "prefetch_factor": None, "batch_size": 32}
THREE: dict[str, Any] = {"num_workers": 3, "prefetch_factor": 2, "batch_size": 32}

BLOCK = 20
STARTUP = 5
"""Steps of a block in which its setting starts."""

Window = dict[str, Any]


@dataclass(slots=True)
class TunedRun:
    """Even steps; with three workers no step waits. Loads take 120 ms of CPU wherever they run."""

    run_id: str = "tuned"
    incarnation: int = 1
    steps: int = 0
    at_us: int = 0
    blocks: dict[int, list[dict[str, int]]] = field(default_factory=lambda: {0: [], 1: []})
    began: bool = False
    index: int = 0

    def train(self, steps: int, settings: Window, **said: Any) -> Window:
        """A window of so many steps with these settings; ``said``: its other keys."""
        workers, count = settings["num_workers"], range(self.steps, self.steps + steps)
        wait_us = 0 if workers else LOAD_MS * 1_000
        step_us = wait_us + WORK_MS * 1_000
        start_us, end_us = self.at_us, self.at_us + steps * step_us
        window = made_window(
            self.index,
            run_id=self.run_id,
            incarnation=self.incarnation,
            start_us=start_us,
            end_us=end_us,
            steps=[
                {
                    "loader": "train",
                    "epoch_index": 0,
                    "first_step_index": self.steps,
                    "first_batch_index": self.steps,
                    "start_us": start_us,
                    "step_us": [step_us] * steps,
                    "data_wait_us": [wait_us] * steps,
                }
            ],
            batches=[_batches(count, start_us, step_us, workers)],
            process={"at_us": [start_us, end_us], "process_cpu_us": [start_us, end_us], "workers_cpu_us": [0, 0]},
            host={"at_us": [start_us, end_us], "busy_cores": [1.0, 1.0]},
        )
        window |= {} if self.began else {"run": RUN | {"host": HOST}, "loaders": [loader(settings)]}
        self.began, self.index, self.steps, self.at_us = True, self.index + 1, self.steps + steps, end_us
        return window | said

    def block(self, number: int, settings: Window) -> Window:
        first, start_us = self.steps, self.at_us
        window = self.train(BLOCK, settings)
        block = {"first_step_index": first, "steps": BLOCK, "start_us": start_us, "end_us": self.at_us}
        self.blocks[number].append(block)
        return window | {"tuning": [self.tuning("searching")]}

    def tuning(self, status: str, **said: Any) -> Window:
        search = {"loader": "train", "status": status, "began_with": NONE, "trials": self.trials(status == "kept")}
        return search | said

    def kept(self, **said: Any) -> Window:
        """What is posted once the search has ended."""
        known = {
            "kept": THREE,
            "kept_from_step": self.steps,
            "speedup": 3.4,
            "low": 3.3,
            "high": 3.5,
            "trial_steps": 4 * BLOCK,
            "trial_us": 8_800_000,
            "searches": 1,
            "lines": ["num_workers=3"],
        }
        return self.tuning("kept", **known | said)

    def trials(self, is_over: bool) -> list[Window]:
        figures = ((NONE, 1e3 / (LOAD_MS + WORK_MS)), (THREE, 1e3 / WORK_MS))
        return [
            {
                "search": 0,
                "number": number,
                "settings": settings,
                "predicted_speedup": 3.2 if number else None,
                "predicted_low": 2.0 if number else None,
                "predicted_high": 3.6 if number else None,
                "steps": len(self.blocks[number]) * (BLOCK - STARTUP),
                "steps_per_s": pace,
                "low": 0.97 * pace,
                "high": 1.03 * pace,
                "kept": is_over and number == 1,
                "blocks": self.blocks[number],
            }
            for number, (settings, pace) in enumerate(figures)
            if self.blocks[number]
        ]


def loader(settings: Window) -> Window:
    return {"loader": "train", "settings": settings}


def waiting(run: TunedRun, steps: int = 60) -> Window:
    """It trains as it was started, and asks what to try."""
    return run.train(steps, NONE, tuning=[run.tuning("waiting")])


def searching(run: TunedRun) -> Iterator[Window]:
    for _ in range(2):
        yield run.block(0, NONE)
        yield run.block(1, THREE)


def tuned_windows(run: TunedRun, *, after: int = 60, **said: Any) -> Sequence[Window]:
    """``after``: steps since the kept setting is in use. ``said``: other keys of the tuning that is kept."""
    windows = [waiting(run), *searching(run)]
    kept = run.kept(**said)
    return [*windows, run.train(after, THREE, tuning=[kept], loaders=[loader(THREE)])]


def _batches(each: range, start_us: int, step_us: int, workers: int) -> Window:
    count = len(each)
    return {
        "loader": "train",
        "epoch_index": 0,
        "batch_index": list(each),
        "worker": [index % workers for index in each] if workers else None,
        "start_us": [start_us + place * step_us for place in range(count)],
        "load_us": [LOAD_MS * 1_000] * count,
        "cpu_us": [LOAD_MS * 1_000] * count,
        "runqueue_us": [0] * count,
        "blocked_us": [0] * count,
        "samples": [32] * count,
    }
