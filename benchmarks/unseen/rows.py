"""What came out of one job: kept as JSON, printed as a row, with what can be judged without a reader."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.unseen.truths import Change, Unseen
from tests.app.diagnosis.invariants import contradictions
from underfed_server.model import Diagnosis

COLUMNS = (
    "job",
    "truth",
    "verdict",
    "causes",
    "advice",
    "refused",
    "observed",
    "bound right",
    "loader right",
    "wrongly advised",
)
HEADER = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
WAITING_LEVELS = ("watch", "limited", "bound")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One job, what was said of it, and what its changes gained: the factor on steps a second."""

    job: Unseen
    run: Any
    diagnosis: Any
    printed: dict[str, Any]
    gains: list[tuple[Change, float]]

    def as_json(self) -> str:
        mechanical = {
            "bound_is_right": bound_is_right(self),
            "loader_is_right": loader_is_right(self),
            "wrongly_advised": wrongly_advised(self),
            "contradictions": contradictions(Diagnosis.model_validate(self.diagnosis)),
        }
        return json.dumps({**asdict(self), "mechanical": mechanical}, indent=1)


def bound_is_right(outcome: Outcome) -> bool:
    """Where an expert says "partly", both a verdict and a warning will do."""
    bound, level = outcome.diagnosis["bound"], outcome.diagnosis["level"]
    match outcome.job.truth.bound:
        case "yes":
            return bool(bound == "data")
        case "partly":
            return bool(bound == "data" or level in WAITING_LEVELS)
        case "no":
            return bound not in ("data", "transfer", "unknown")


def loader_is_right(outcome: Outcome) -> bool | None:
    """``None`` where no loader is the problem, or none was named. Loaders are recognised by their data set."""
    name, dataset = outcome.diagnosis["loader"], outcome.job.truth.dataset
    types = [loader["dataset_type"] or "" for loader in outcome.run["loaders"] if loader["loader"] == name]
    if outcome.job.truth.role == "none" or dataset is None or not types:
        return None
    return dataset in types[0]


def goes_that_way(advice: dict[str, Any], change: Change) -> bool:
    before, after = advice["from"], advice["to"]
    if change.direction == "any" or not isinstance(before, int) or not isinstance(after, int):
        return True
    return after > before if change.direction == "more" else after < before


def wrongly_advised(outcome: Outcome) -> list[str]:
    truth = outcome.job.truth
    helpful = {change.name for change in truth.helps}
    wrong = []
    for advice in outcome.diagnosis["advice"]:
        forbidden = any(advice["change"] == change.name and goes_that_way(advice, change) for change in truth.never)
        if forbidden or (truth.leave_alone and advice["change"] not in helpful):
            wrong.append(str(advice["change"]))
    return wrong


def advised(advice: dict[str, Any]) -> str:
    """With what the run gains, as it is the run's speed that is observed."""
    setting = "" if advice["to"] is None else f" {advice['from']} → {advice['to']}"
    if advice["predicted_speedup"] is None:
        return f"{advice['change']}{setting}: no figure"
    is_of_one_loop = advice.get("run_speedup") is not None
    names = ("run_speedup", "run_low", "run_high") if is_of_one_loop else ("predicted_speedup", "low", "high")
    speedup, low, high = (advice[name] for name in names)
    interval = "no interval" if low is None else f"{low:.2f}–{high:.2f}"
    return f"{advice['change']}{setting}: {speedup:.2f}× ({interval})"


def answer(right: bool | None) -> str:
    return "–" if right is None else ("yes" if right else "NO")


def row(outcome: Outcome) -> str:
    """One row of a Markdown table."""
    truth, diagnosis = outcome.job.truth, outcome.diagnosis
    cells = (
        outcome.job.name + (" (held out)" if outcome.job.held_out else ""),
        f"{truth.bound}, {truth.role}: {truth.cause}",
        diagnosis["sentence"],
        "; ".join(f"{found['cause']} {found['cost_fraction']:.0%}" for found in diagnosis["causes"]) or "none",
        "; ".join(advised(advice) for advice in diagnosis["advice"]) or "none",
        "; ".join(refusal["change"] for refusal in diagnosis["refusals"]) or "none",
        "; ".join(f"{change.words} ({' '.join(change.arguments)}): {gain:.2f}×" for change, gain in outcome.gains)
        or "not measured",
        answer(bound_is_right(outcome)),
        answer(loader_is_right(outcome)),
        ", ".join(wrongly_advised(outcome)) or "no",
    )
    return f"| {' | '.join(str(cell).replace('|', '/').replace(chr(10), ' ') for cell in cells)} |"
