"""Rows of the table "why we say so": a signal, what was measured, what is healthy, and how it reads."""

from __future__ import annotations

from typing import Literal

from underfed_server.diagnosis import measures
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.model import Evidence, Signal

Reading = Literal["cause", "symptom", "ruled_out", "not_measured"]


def signal(name: str, measured: Evidence, healthy: str, reading: Reading, says: str) -> Signal:
    """``says``: the reading in two or three words, where it is a cause or a symptom."""
    words = {"ruled_out": "ruled out", "not_measured": "not measured"}.get(reading, says)
    return Signal(signal=name, measured=measured, healthy=healthy, reading=reading, says=words)


def under(
    limit: float, name: str, what: str, value: float | None, says: str, *, is_cause: bool = False,
    series: str | None = None,
) -> Signal:  # fmt: skip
    """A fraction that is healthy below ``limit``. ``is_cause``: the cause that it speaks of was found."""
    is_bad = value is not None and value >= limit
    reading: Reading = "not_measured" if value is None else "ruled_out"
    if is_bad:
        reading = "cause" if is_cause else "symptom"
    measured = Evidence(what=what, value=value, unit="fraction", series=series)
    return signal(name, measured, f"under {limit * 100:.0f}%", reading, says)


def part_of_wait(name: str, share: float | None, limit: float, *, is_cause: bool) -> Signal:
    says = "the cause" if is_cause else "some wait"
    return under(limit, name, "of step time", share, says, is_cause=is_cause)


def wait_signals(examined: Examination) -> list[Signal]:
    """The wait; with a device clock also for how long of it the device was idle, and what instant data would save."""
    rank = examined.rank
    if not rank.has_device_clock:
        rows = [_wait("Waiting for a batch", rank.stall_fraction, "data_wait_us")]
    else:
        is_waiting = rank.stall_fraction >= THRESHOLDS.watch_fraction
        on_host = Evidence(
            what="of step time", value=rank.data_wait_us / rank.step_us, unit="fraction", series="data_wait_us"
        )
        rows = [
            _wait("GPU idle while the loop waits", rank.stall_fraction, "gpu_idle_us"),
            signal("Waiting for a batch, by the host's clock", on_host, "while the GPU works",
                   "symptom" if is_waiting else "ruled_out", _how_much(rank.stall_fraction)),
        ]  # fmt: skip
        lost = measures.input_lost_fraction(rank)
        if lost is not None:
            rows.append(_wait("Saved by instant data, computed", lost, None))
    if examined.workers:
        empty = measures.empty_queue_fraction(rank)
        rows.append(
            under(THRESHOLDS.watch_fraction, "Requests that found no batch ready", "of requests", empty, "queue empty",
                  series="queue_depth")
        )  # fmt: skip
    return rows


def _wait(name: str, fraction: float, series: str | None) -> Signal:
    return under(THRESHOLDS.watch_fraction, name, "of step time", fraction, _how_much(fraction), series=series)


def _how_much(fraction: float) -> str:
    return "waits for data" if fraction >= THRESHOLDS.limited_fraction else "some wait"
