"""Posts the windows of the team's runs to a service, and waits until all are judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx2 as httpx

from tests.fakes.gallery.job import Job
from tests.fakes.gallery.recorded import recorded
from tests.fakes.gallery.runs import BEFORE, answer, team
from tests.fakes.gallery.windows import length_s, windows

JUDGED_S = 500.0
NEARLY = 0.95
"""Of the time that all ranks take; between steps some goes by."""


@dataclass(slots=True)
class Live:
    """A rank that goes on: its later windows repeat the last one."""

    windows: Iterator[dict[str, Any]]


def ranks(job: Job) -> range:
    return range(job.ranks_a_host * len(job.machines))


def started_at(job: Job) -> datetime:
    ended_at = datetime.now(timezone.utc) - timedelta(hours=job.ended_h)
    return ended_at - timedelta(seconds=length_s(job))


def fill(url: str, jobs: Sequence[Job] | None = None, token: str | None = None) -> list[Job]:
    """Returns those that still run; they seem to have stopped until ``keep_alive``.

    Raises:
        httpx.HTTPStatusError: the service refused a window.
        TimeoutError: not all were judged.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    chosen = team() if jobs is None else list(jobs)
    with httpx.Client(base_url=url, headers=headers, timeout=30.0) as client:
        for job in chosen:
            _post(client, windows_of(job))
        for _, found in recorded() if jobs is None else ():
            _post(client, found)
        _wait_until(lambda job: _is_judged(client, job), [job for job in chosen if job.phases])
        if any(job.run_id == BEFORE for job in chosen):
            job = answer(_advised(client))
            _post(client, windows_of(job))
            _wait_until(lambda after: _is_proof(client, after.run_id), [job])
    return [job for job in chosen if job.is_live]


def keep_alive(url: str, live: Sequence[Job], seconds: float) -> None:
    """A heartbeat of each rank every other second: so a run that goes on is seen to run."""
    end = time.monotonic() + seconds
    beats = {(job.run_id, rank): _beats(job, rank) for job in live for rank in ranks(job)}
    with httpx.Client(base_url=url, timeout=30.0) as client:
        while time.monotonic() < end:
            for beat in beats.values():
                client.post("/api/v1/ingest", json=next(beat)).raise_for_status()
            time.sleep(2.0)


def _beats(job: Job, rank: int) -> Iterator[dict[str, Any]]:
    began = started_at(job)
    *_, last = windows(job, rank, began)
    *_, sampled = (window for window in windows(job, rank, began) if "process" in window)
    index = last["window_index"]
    while True:
        index += 1
        now_us = round((datetime.now(timezone.utc) - began) / timedelta(microseconds=1))
        keys = ("version", "run_id", "rank", "incarnation", "started_at")
        beat = {key: last[key] for key in keys} | {"window_index": index, "previous_window_index": index - 1}
        yield beat | _samples_at(sampled, now_us) | {"start_us": last["end_us"], "end_us": max(now_us, last["end_us"])}


def _samples_at(last: Mapping[str, Any], now_us: int) -> dict[str, Any]:
    """The newest samples with the current time: cumulative columns have grown."""
    process, host, gpus = last.get("process"), last.get("host"), last.get("gpus", [])
    found = {"process": process and _grown(process, now_us), "host": host and _grown(host, now_us)}
    return found | {"gpus": [_grown(gpu, now_us) for gpu in gpus]}


def _grown(samples: Mapping[str, Any], now_us: int) -> dict[str, Any]:
    counts = ("_cpu_us", "_pressure_us", "_read_bytes", "_written_bytes", "_received_bytes", "_sent_bytes")
    passed = now_us / max(1, samples["at_us"][-1])
    newest = {name: column[-1] for name, column in samples.items() if isinstance(column, list)}
    grown = {name: int(value * passed) if name.endswith(counts) else value for name, value in newest.items()}
    fixed = {name: value for name, value in samples.items() if not isinstance(value, list)}
    return fixed | {name: [value] for name, value in (grown | {"at_us": now_us}).items()}


def windows_of(job: Job) -> Iterator[dict[str, Any]]:
    """Of all its ranks."""
    began = started_at(job)
    for rank in ranks(job):
        yield from windows(job, rank, began)


def _post(client: httpx.Client, posted: Iterable[dict[str, Any]]) -> None:
    for window in posted:
        client.post("/api/v1/ingest", json=window).raise_for_status()


def _wait_until(is_done: Callable[[Job], bool], jobs: Sequence[Job]) -> None:
    waiting = list(jobs)
    end = time.monotonic() + JUDGED_S
    while waiting:
        if time.monotonic() > end:
            raise TimeoutError(f"not judged: {sorted(job.run_id for job in waiting)}")
        time.sleep(0.2)
        waiting = [job for job in waiting if not is_done(job)]


def _is_judged(client: httpx.Client, job: Job) -> bool:
    """Judged with all its steps: a run whose windows are still being written is judged by those stored so far."""
    found = client.get(f"/api/v1/runs/{job.run_id}/diagnosis").json()
    return found.get("judged_at") is not None and (
        _is_whole(job, found) if job.is_live else found["status"] != "running"
    )


def _is_whole(job: Job, found: Mapping[str, Any]) -> bool:
    """Of a run that has no end to be judged after. One with too few steps for a verdict has no hours."""
    used = found["hours_used"]
    return used is None or used * 3_600 >= NEARLY * length_s(job) * len(ranks(job))


def _is_proof(client: httpx.Client, run_id: str) -> bool:
    """Whether the run whose advice it followed shows the observed gain."""
    ledger = client.get(f"/api/v1/runs/{BEFORE}/diagnosis").json()["ledger"]
    return any(entry["run_id"] == run_id for entry in ledger)


def _advised(client: httpx.Client) -> dict[str, Any]:
    advice = client.get(f"/api/v1/runs/{BEFORE}/diagnosis").json()["advice"]
    settings: dict[str, Any] = next(each["settings"] for each in advice if each["change"] == "num_workers")
    return settings
