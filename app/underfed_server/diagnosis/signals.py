"""The "why we say so" table: each signal, what was measured, what is healthy, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.rarer import rarer_signals
from underfed_server.diagnosis.reading import cause, cause_or_symptom, signal, symptom, whole_percent
from underfed_server.facts.record import RankFacts
from underfed_server.model import Cause, CauseFinding, Evidence, Signal


def read_signals(judged: Judged, causes: Sequence[CauseFinding], limits: Limits) -> tuple[Signal, ...]:
    found = {finding.cause for finding in causes}
    rows = _wait_signals(judged.rank, limits)
    if judged.workers:
        rows += _worker_signals(judged, found, limits)
    else:
        rows.append(
            signal(
                "Worker processes",
                Evidence(what="num_workers", value="0", unit="setting"),
                "1 or more",
                cause("no_workers", found),
                "the cause",
            )
        )
    return tuple(rows + _load_signals(judged, found, limits) + rarer_signals(judged, found, limits))


def _wait_signals(rank: RankFacts, limits: Limits) -> list[Signal]:
    """The wait; with a device clock also what of it the device idled, and what the replay says that it cost."""
    if not rank.has_device_clock:
        return [_wait_signal("Waiting for a batch", rank.stall_fraction, "data_wait_us", limits)]
    rows = [
        _wait_signal("GPU idle while the loop waits", rank.stall_fraction, "gpu_idle_us", limits),
        signal(
            "Waiting for a batch, by the host's clock",
            Evidence(
                what="of step time", value=rank.data_wait_us / rank.step_us, unit="fraction", series="data_wait_us"
            ),
            "while the GPU works",
            symptom(rank.stall_fraction >= limits.watch_fraction),
            "starved" if rank.stall_fraction >= limits.limited_fraction else "some wait",
        ),
    ]
    lost = measures.input_lost_fraction(rank)
    if lost is not None:
        rows.append(_wait_signal("Saved by instant data, replayed", lost, None, limits))
    return rows


def _wait_signal(name: str, fraction: float, series: str | None, limits: Limits) -> Signal:
    return signal(
        name,
        Evidence(what="of step time", value=fraction, unit="fraction", series=series),
        f"under {whole_percent(limits.watch_fraction)}",
        symptom(fraction >= limits.watch_fraction),
        "starved" if fraction >= limits.limited_fraction else "some wait",
    )


def _worker_signals(judged: Judged, found: set[Cause], limits: Limits) -> list[Signal]:
    rank = judged.rank
    empty = measures.empty_queue_fraction(rank)
    busy = measures.busy_workers_fraction(rank, judged.workers)
    return [
        signal(
            "No batch ready when asked",
            Evidence(what="of requests", value=empty, unit="fraction", series="queue_depth"),
            f"under {whole_percent(limits.watch_fraction)}",
            symptom(empty is not None and empty >= limits.watch_fraction, empty),
            "queue empty",
        ),
        signal(
            "Workers busy loading",
            Evidence(what="of the time", value=busy, unit="fraction"),
            f"under {whole_percent(limits.busy_workers_fraction)}",
            cause_or_symptom("too_few_workers", found, busy is not None and busy >= limits.busy_workers_fraction, busy),
            "no slack",
        ),
    ]


def _load_signals(judged: Judged, found: set[Cause], limits: Limits) -> list[Signal]:
    rank = judged.rank
    used = measures.used_cores_fraction(rank, judged.facts.host)
    queued = measures.load_share(rank, rank.batches.runqueue_us)
    blocked = measures.load_share(rank, rank.batches.blocked_us)
    storage = measures.storage_fraction(rank)
    collate = measures.load_share(rank, rank.batches.collate_us)
    return [
        signal(
            "Cores in use, of those allowed",
            Evidence(what="of the cores", value=used, unit="fraction", series="busy_cores"),
            f"under {whole_percent(limits.saturated_cores_fraction)}",
            cause_or_symptom("cpu_limited", found, used is not None and used >= limits.saturated_cores_fraction, used),
            "saturated",
        ),
        signal(
            "Loading ready, with no core free",
            Evidence(what="of load time", value=queued, unit="fraction", series="runqueue_us"),
            f"under {whole_percent(limits.runqueue_fraction)}",
            cause_or_symptom("cpu_limited", found, queued is not None and queued >= limits.runqueue_fraction, queued),
            "queues for a core",
        ),
        signal(
            "Loading blocked, not computing",
            Evidence(what="of load time", value=blocked, unit="fraction", series="blocked_us"),
            f"under {whole_percent(limits.blocked_fraction)}",
            cause_or_symptom(
                "storage_wait", found, blocked is not None and blocked >= limits.blocked_fraction, blocked
            ),
            "waits",
        ),
        signal(
            "Reads that reach storage",
            Evidence(what="of bytes asked for", value=storage, unit="fraction", series="read_bytes"),
            f"under {whole_percent(limits.storage_read_fraction)}",
            cause_or_symptom(
                "storage_wait",
                found,
                storage is not None and storage >= limits.storage_read_fraction,
                storage,
            ),
            "not cached",
        ),
        signal(
            "Joining samples into batches",
            Evidence(what="of load time", value=collate, unit="fraction", series="collate_us"),
            f"under {whole_percent(limits.collate_fraction)}",
            cause_or_symptom(
                "slow_collate", found, collate is not None and collate >= limits.collate_fraction, collate
            ),
            "slow collate",
        ),
    ]
