"""The "why we say so" table: each signal, what was measured, what is healthy, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.limits import Limits
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Cause, CauseFinding, Evidence, Signal

Reading = Literal["cause", "symptom", "ruled_out", "not_measured"]


def read_signals(facts: RunFacts, causes: Sequence[CauseFinding], limits: Limits) -> tuple[Signal, ...]:
    found = {finding.cause for finding in causes}
    rank, loader = facts.median_rank, facts.loader
    workers = (loader.num_workers if loader else None) or 0
    rows = _wait_signals(rank, limits)
    if workers:
        rows += _worker_signals(facts, workers, found, limits)
    else:
        rows.append(
            _signal(
                "Worker processes",
                Evidence(what="num_workers", value="0", unit="setting"),
                "1 or more",
                _cause("no_workers", found),
                "the cause",
            )
        )
    return tuple(rows + _load_signals(facts, found, limits))


def _wait_signals(rank: RankFacts, limits: Limits) -> list[Signal]:
    """The wait; with a device clock also what of it the device idled, and what the replay says that it cost."""
    if not rank.has_device_clock:
        return [_wait_signal("Waiting for a batch", rank.stall_fraction, "data_wait_us", limits)]
    rows = [
        _wait_signal("GPU idle while the loop waits", rank.stall_fraction, "gpu_idle_us", limits),
        _signal(
            "Waiting for a batch, by the host's clock",
            Evidence(
                what="of step time", value=rank.data_wait_us / rank.step_us, unit="fraction", series="data_wait_us"
            ),
            "while the GPU works",
            _symptom(rank.stall_fraction >= limits.watch_fraction),
            "starved" if rank.stall_fraction >= limits.limited_fraction else "some wait",
        ),
    ]
    lost = measures.input_lost_fraction(rank)
    if lost is not None:
        rows.append(_wait_signal("Saved by instant data, replayed", lost, None, limits))
    return rows


def _wait_signal(name: str, fraction: float, series: str | None, limits: Limits) -> Signal:
    return _signal(
        name,
        Evidence(what="of step time", value=fraction, unit="fraction", series=series),
        f"under {whole_percent(limits.watch_fraction)}",
        _symptom(fraction >= limits.watch_fraction),
        "starved" if fraction >= limits.limited_fraction else "some wait",
    )


def _worker_signals(facts: RunFacts, workers: int, found: set[Cause], limits: Limits) -> list[Signal]:
    rank = facts.median_rank
    empty = measures.empty_queue_fraction(rank)
    busy = measures.busy_workers_fraction(rank, workers)
    handover = measures.handover_us(rank)
    return [
        _signal(
            "No batch ready when asked",
            Evidence(what="of requests", value=empty, unit="fraction", series="queue_depth"),
            f"under {whole_percent(limits.watch_fraction)}",
            _symptom(empty is not None and empty >= limits.watch_fraction, empty),
            "queue empty",
        ),
        _signal(
            "Workers busy loading",
            Evidence(what="of the time", value=busy, unit="fraction"),
            f"under {whole_percent(limits.busy_workers_fraction)}",
            _cause_or_symptom(
                "too_few_workers", found, busy is not None and busy >= limits.busy_workers_fraction, busy
            ),
            "no slack",
        ),
        _signal(
            "Hand-over to the training process",
            Evidence(what="a batch", value=handover, unit="us"),
            f"under {whole_percent(limits.watch_fraction)} of a step",
            _symptom(handover is not None and handover >= limits.watch_fraction * rank.step_us, handover),
            "slow hand-over",
        ),
    ]


def _load_signals(facts: RunFacts, found: set[Cause], limits: Limits) -> list[Signal]:
    rank = facts.median_rank
    used = measures.used_cores_fraction(rank, facts.host)
    queued = measures.load_share(rank, rank.batches.runqueue_us)
    blocked = measures.load_share(rank, rank.batches.blocked_us)
    storage = measures.storage_fraction(rank)
    collate = measures.load_share(rank, rank.batches.collate_us)
    return [
        _signal(
            "Cores in use, of those allowed",
            Evidence(what="of the cores", value=used, unit="fraction", series="busy_cores"),
            f"under {whole_percent(limits.saturated_cores_fraction)}",
            _cause_or_symptom("cpu_limited", found, used is not None and used >= limits.saturated_cores_fraction, used),
            "saturated",
        ),
        _signal(
            "Loading ready, with no core free",
            Evidence(what="of load time", value=queued, unit="fraction", series="runqueue_us"),
            f"under {whole_percent(limits.runqueue_fraction)}",
            _cause_or_symptom("cpu_limited", found, queued is not None and queued >= limits.runqueue_fraction, queued),
            "queues for a core",
        ),
        _signal(
            "Loading blocked, not computing",
            Evidence(what="of load time", value=blocked, unit="fraction", series="blocked_us"),
            f"under {whole_percent(limits.blocked_fraction)}",
            _cause_or_symptom(
                "storage_wait", found, blocked is not None and blocked >= limits.blocked_fraction, blocked
            ),
            "waits",
        ),
        _signal(
            "Reads that reach storage",
            Evidence(what="of bytes asked for", value=storage, unit="fraction", series="read_bytes"),
            f"under {whole_percent(limits.storage_read_fraction)}",
            _cause_or_symptom(
                "storage_wait",
                found,
                storage is not None and storage >= limits.storage_read_fraction,
                storage,
            ),
            "not cached",
        ),
        _signal(
            "Joining samples into batches",
            Evidence(what="of load time", value=collate, unit="fraction", series="collate_us"),
            f"under {whole_percent(limits.blocked_fraction)}",
            _symptom(collate is not None and collate >= limits.blocked_fraction, collate),
            "slow collate",
        ),
    ]


def whole_percent(limit: float) -> str:
    """Limits are round numbers, and read as such."""
    return f"{limit * 100:.0f}%"


def _signal(name: str, measured: Evidence, healthy: str, reading: Reading, says: str) -> Signal:
    words = {"ruled_out": "ruled out", "not_measured": "not measured"}.get(reading, says)
    return Signal(signal=name, measured=measured, healthy=healthy, reading=reading, says=words)


def _symptom(is_bad: bool, measured: float | None = 0.0) -> Reading:
    if measured is None:
        return "not_measured"
    return "symptom" if is_bad else "ruled_out"


def _cause(cause: Cause, found: set[Cause]) -> Reading:
    return "cause" if cause in found else "ruled_out"


def _cause_or_symptom(cause: Cause, found: set[Cause], is_bad: bool, measured: float | None) -> Reading:
    return "cause" if is_bad and cause in found else _symptom(is_bad, measured)
