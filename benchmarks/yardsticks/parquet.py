"""Parquet decoded from memory: as many workers as there are cores, and twice as many, in one thread each or in more."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.unseen.rows import advised, answer
from benchmarks.unseen.trial import recorded, service_of_its_own
from benchmarks.yardsticks.markdown import table

CAUSE = "cpu_limited"
NEVER = ("storage_wait", "storage_limit")
NEVER_ADVISED = ("tmpfs",)
"""The files lie there already."""


@dataclass(frozen=True, slots=True)
class Decode:
    """One way to decode, and what was said of it."""

    num_workers: int
    in_pool: bool
    diagnosis: Any

    @property
    def causes(self) -> list[str]:
        return [found["cause"] for found in self.diagnosis["causes"]]

    @property
    def is_right(self) -> bool:
        """The cores are the first cause, and storage is none."""
        advice = [each["change"] for each in self.diagnosis["advice"]]
        return self.causes[:1] == [CAUSE] and not {*NEVER, *NEVER_ADVISED} & {*self.causes, *advice}


def measure(folder: Path, steps: int | None) -> None:
    cores = len(os.sched_getaffinity(0))
    more = ("--steps", str(steps)) if steps else ()
    decodes = [_decode(workers, in_pool, more) for in_pool in (False, True) for workers in (cores, 2 * cores)]
    kept = {f"{each.num_workers} {each.in_pool}": each.diagnosis for each in decodes}
    (folder / "parquet.json").write_text(json.dumps(kept, indent=1))
    print(parquet_table(decodes), flush=True)


def _decode(workers: int, in_pool: bool, more: Sequence[str]) -> Decode:
    with service_of_its_own("parquet") as service:
        command = [sys.executable, "-m", "benchmarks.yardsticks.parquet_job", "--data", str(service.folder)]
        command += ["--num-workers", str(workers), *(["--in-pool"] if in_pool else []), *more]
        recorded("parquet", command, service=service)
        return Decode(workers, in_pool, service.diagnosis(service.finished_run()["run_id"]))


HEAD = ("workers", "decoded by", "stall", "causes", "first advice", f"`{CAUSE}`, no storage")


def parquet_table(decodes: Sequence[Decode]) -> str:
    return table(HEAD, [_row(each) for each in decodes])


def _row(decode: Decode) -> list[str]:
    diagnosis = decode.diagnosis
    stall, advice = diagnosis["data_stall_fraction"], diagnosis["advice"]
    return [
        str(decode.num_workers),
        "Arrow's threads" if decode.in_pool else "the worker",
        "–" if stall is None else f"{stall:.0%}",
        "; ".join(f"{found['cause']} {found['cost_fraction']:.0%}" for found in diagnosis["causes"]) or "none",
        advised(advice[0]) if advice else "none",
        answer(decode.is_right),
    ]
