"""The causes, a file each, and what they find in a run. A new file here is a new cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.cause import Cause, share_below, signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import CauseFinding, Evidence, Signal
from underfed_server.names import CAUSES, CauseName

TURNS = ("first", "usual", "last")


@cache
def all_causes() -> Mapping[CauseName, Cause]:
    """In the order in which they take their shares."""
    causes: dict[CauseName, Cause] = {name: import_module(f"{__name__}.{name}").CAUSE for name in CAUSES}
    return dict(sorted(causes.items(), key=lambda each: (TURNS.index(each[1].turn), each[0])))


def find_causes(examined: Examination, leading: CauseName | None = None) -> list[CauseFinding]:
    """The largest first. Together they cost at most the stall; a copy that is not hidden comes on top of it.

    Args:
        leading: the cause that leads until another costs clearly more.
    """
    found = []
    for name, cause in all_causes().items():
        each = cause.find(examined)
        if each is None:
            continue
        finding = CauseFinding(
            cause=name, cost_fraction=each.cost_fraction, sentence=each.sentence, evidence=list(each.evidence)
        )
        if _is_reported(finding, examined):
            found.append(finding)
            if cause.is_of_loading:
                examined = examined.explained(each.cost_fraction, is_of_queue=cause.is_of_queue)
    # Ranks that are late in turn cost the job more than what explains the judged one's wait.
    shared = found if examined.together else _beside_slow_rank(found, examined.rank.stall_fraction)
    kept = [each for each in shared if _is_reported(each, examined)]
    return _in_order(kept, leading)


def read_signals(examined: Examination, causes: Sequence[CauseFinding]) -> list[Signal]:
    """Of the wait, then of each cause: those that say how much is loaded at once come first."""
    return [*_wait_signals(examined), *_signals_of_causes(examined, {finding.cause for finding in causes})]


def symptoms(examined: Examination) -> list[str]:
    """Names of the signals of causes that are marked where no cause was found."""
    return [row.signal for row in _signals_of_causes(examined, set()) if row.reading == "symptom"]


def _signals_of_causes(examined: Examination, found: set[CauseName]) -> list[Signal]:
    """A row that shows a cause is marked with its name."""
    rows = []
    for name, cause in reversed(list(all_causes().items())):
        for row in (read(examined, name in found) for read in cause.signals):
            if row is not None:
                rows.append(row.model_copy(update={"says": cause.label}) if row.reading == "cause" else row)
    return rows


def _wait_signals(examined: Examination) -> list[Signal]:
    """The wait; with a device clock also for how long of it the device was idle, and what instant data would save."""
    rank = examined.rank
    if not rank.has_device_clock:
        rows = [_wait("Waiting for a batch", rank.stall_fraction, "data_wait_us")]
    else:
        reading = "symptom" if rank.stall_fraction >= THRESHOLDS.watch_fraction else "ruled_out"
        share = rank.data_wait_us / rank.step_us
        on_host = Evidence(what="of step time", value=share, unit="fraction", series="data_wait_us")
        name, healthy = "Waiting for a batch, by the host's clock", "while the GPU works"
        rows = [
            _wait("GPU idle while the loop waits", rank.stall_fraction, "gpu_idle_us"),
            signal(name, on_host, healthy, reading, _how_much(rank.stall_fraction)),
        ]
        lost = measures.input_lost_fraction(rank)
        if lost is not None:
            rows.append(_wait("Saved by instant data, computed", lost, None))
    if examined.workers:
        empty, name = measures.empty_queue_fraction(rank), "Requests that found no batch ready"
        limit = THRESHOLDS.watch_fraction
        rows.append(share_below(limit, name, "of requests", empty, "queue empty", series="queue_depth"))
    return rows


def _wait(name: str, fraction: float, series: str | None) -> Signal:
    return share_below(THRESHOLDS.watch_fraction, name, "of step time", fraction, _how_much(fraction), series=series)


def _how_much(fraction: float) -> str:
    return "waits for data" if fraction >= THRESHOLDS.limited_fraction else "some wait"


def _is_reported(finding: CauseFinding, examined: Examination) -> bool:
    """With data, every cause may be found; a transfer-bound run is explained by those of copies alone."""
    cause = all_causes()[finding.cause]
    if cause.at_any_bound:
        return True
    if not (examined.bound == "data" or (examined.bound == "transfer" and cause.is_of_copy)):
        return False
    return finding.cost_fraction >= THRESHOLDS.minor_cost_fraction


def _beside_slow_rank(found: Sequence[CauseFinding], stall_fraction: float) -> list[CauseFinding]:
    """What one rank waits longer than the others is ``slow_rank``; why it does is evidence, and costs nothing more."""
    slow = next((each for each in found if each.cause == "slow_rank"), None)
    copies = [each for each in found if all_causes()[each.cause].is_of_copy]
    others = [each for each in found if each is not slow and each not in copies]
    if slow is None or not others:
        return list(found)
    why = max(others, key=lambda each: each.cost_fraction)
    reason = Evidence(what="Why this rank waits", value=why.cause_label, unit="setting")
    rest = 1 - slow.cost_fraction / stall_fraction
    return [
        slow.model_copy(update={"sentence": f"{slow.sentence} {why.sentence}", "evidence": [*slow.evidence, reason]}),
        *(each.model_copy(update={"cost_fraction": each.cost_fraction * rest}) for each in others),
        *copies,
    ]


def _in_order(found: Sequence[CauseFinding], leading: CauseName | None) -> list[CauseFinding]:
    def weight(finding: CauseFinding) -> float:
        return finding.cost_fraction * (THRESHOLDS.clearly_larger_factor if finding.cause == leading else 1.0)

    return sorted(found, key=weight, reverse=True)
