"""Signals of the rarer causes: a row for each that this run could have had, and was asked about."""

from __future__ import annotations

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.memory import fullest
from underfed_server.diagnosis.reading import Reading, cause, cause_or_symptom, signal, symptom, whole_percent
from underfed_server.diagnosis.rules.thread_oversubscription import threads_a_worker
from underfed_server.model import Cause, Evidence, Signal


def rarer_signals(judged: Judged, found: set[Cause], limits: Limits) -> list[Signal]:
    rows = [_sampler(judged, found, limits), _startup(judged, found, limits)]
    if judged.workers:
        rows += [_delivery(judged, found, limits), _held_back(judged, found, limits), _threads(judged, found, limits)]
    if judged.workers and judged.loader and judged.loader.settings.get("pin_memory"):
        rows.append(
            _part("Waiting for the pin thread", judged.wait.pin, "pin_thread", found, limits.minor_cost_fraction)
        )
    if judged.workers > 1 and judged.loader and judged.loader.is_iterable:
        rows.append(_repeated(judged, found, limits))
    if judged.facts.uses_gpu:
        rows.append(_copy(judged, found, limits))
    rows.append(_memory(judged, found, limits))
    if len(judged.facts.ranks) > 1:
        rows.append(_rank(judged, found, limits))
    return rows


def _part(name: str, share: float | None, of: Cause, found: set[Cause], limit: float) -> Signal:
    """A part of the wait."""
    return signal(
        name,
        Evidence(what="of step time", value=share, unit="fraction"),
        f"under {whole_percent(limit)}",
        cause_or_symptom(of, found, share is not None and share >= limit, share),
        "the cause" if of in found else "some wait",
    )


def _sampler(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    return _part("Drawing indices", judged.wait.sampler, "slow_sampler", found, limits.minor_cost_fraction)


def _startup(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    return _part("Beginning an epoch", judged.wait.startup, "worker_startup", found, limits.minor_cost_fraction)


def _delivery(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    return _part("Handing over finished batches", judged.wait.delivery, "ipc_copy", found, limits.delivery_fraction)


def _held_back(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    return _part("Waiting while later batches are ready", judged.wait.held_back, "slow_samples", found,
                 limits.minor_cost_fraction)  # fmt: skip


def _threads(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    helpers = judged.loads.helpers if threads_a_worker(judged) is not None else None
    return signal(
        "CPU time of further threads in a worker",
        Evidence(what="of its CPU time", value=helpers, unit="fraction"),
        f"under {whole_percent(limits.helper_cpu_fraction)}",
        cause_or_symptom(
            "thread_oversubscription", found, helpers is not None and helpers >= limits.helper_cpu_fraction, helpers
        ),
        "thread pools",
    )


def _repeated(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    compared = judged.loader.compared_batches if judged.loader else None
    repeated = judged.loader.repeated_batches if judged.loader else None
    share = repeated / compared if compared and repeated is not None else None
    return signal(
        "Batches that another worker gave too",
        Evidence(what="of those compared", value=share, unit="fraction"),
        f"under {whole_percent(limits.repeated_fraction)}",
        "not_measured" if share is None else cause("unsharded_iterable", found),
        "repeated data",
    )


def _copy(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    exposed = measures.exposed_copy_us(judged.rank)
    share = None if exposed is None else exposed / judged.rank.step_us
    return signal(
        "Copy to the device that is not hidden",
        Evidence(what="of step time", value=share, unit="fraction", series="h2d_exposed_us"),
        f"under {whole_percent(limits.watch_fraction)}",
        cause_or_symptom("pageable_copy", found, share is not None and share >= limits.watch_fraction, share),
        "exposed copy",
    )


def _memory(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    room = fullest(judged.rank, judged.facts.host)
    left = None if room is None else room.least_left_bytes / room.total_bytes
    return signal(
        "Memory and /dev/shm left, the fuller one",
        Evidence(what="of it", value=left, unit="fraction"),
        f"over {whole_percent(limits.near_full_fraction)}",
        _memory_reading(left, found, limits),
        "memory short",
    )


def _memory_reading(left: float | None, found: set[Cause], limits: Limits) -> Reading:
    if "memory_pressure" in found:
        return "cause"
    return symptom(left is not None and left < limits.near_full_fraction, left)


def _rank(judged: Judged, found: set[Cause], limits: Limits) -> Signal:
    """How much longer the slowest rank waits than the median one."""
    shares = [rank.stall_fraction for rank in judged.facts.ranks if len(rank.steps)]
    excess = max(shares) - judged.facts.median_rank.stall_fraction
    return _part("Longest wait of a rank beyond the median", excess, "slow_rank", found, limits.straggler_fraction)
