"""Trains pipelines and keeps what their agents sent, for the tests to judge: each training gives other figures.

``python -m tests.scenarios.record NAME [STRENGTH]`` on a machine that has nothing else to do; without a name all
existing recordings are made again. All that exist are tested. A recording that is not judged as it should be is not
kept: other processes used the cores.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.app.serving import judged, start_service
from tests.fakes.service import running_service, wait_until
from tests.scenarios.pipelines.pipeline import Strength, pipeline
from tests.scenarios.pipelines.running import post, run_name, train
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client

RECORDINGS = Path(__file__).parent / "recordings"
ATTEMPTS = 4

NEUTRAL = {"user": "ada", "hostname": "gpu-03", "command": ["python", "train.py"], "script": "train.py"}
"""In place of what would identify the machine that recorded."""
NEUTRAL_PLACE = {"mount": "/data", "example": "/data/samples.bin"}

Windows = list[dict[str, Any]]


def recording(name: str, strength: Strength) -> Path:
    return RECORDINGS / f"{name}.{strength}.json.gz"


def recorded() -> list[tuple[str, Strength]]:
    """Names and strengths."""
    found = (path.name.removesuffix(".json.gz").rpartition(".") for path in sorted(RECORDINGS.glob("*.json.gz")))
    return [(name, strength) for name, _, strength in found]  # type: ignore[misc]  # as they were written


def read(path: Path) -> Windows:
    """In the order in which they are posted, as if the run had ended just now."""
    windows: Windows = json.loads(gzip.decompress(path.read_bytes()))
    ended_at = max(_at(window, "end_us") for window in windows)
    late = datetime.now(timezone.utc) - ended_at
    return [window | {"started_at": (_at(window) + late).isoformat()} for window in windows]


def _at(window: dict[str, Any], key: str | None = None) -> datetime:
    begun_at = datetime.fromisoformat(window["started_at"].replace("Z", "+00:00"))
    return begun_at + timedelta(microseconds=window[key] if key else 0)


def is_right(seen: Diagnosis, name: str, strength: Strength) -> bool:
    """Whether the first cause is the one that the pipeline has, beside what others took of the recording machine."""
    cause = None if strength == "none" else pipeline(name).cause
    if cause is None:
        return (seen.causes, seen.advice, seen.refusals) == ([], [], [])
    beside = [finding.sentence.startswith("Other jobs use") and finding.cause != cause for finding in seen.causes]
    own = [finding.cause for finding, is_beside in zip(seen.causes, beside, strict=True) if not is_beside]
    return own[:1] == [cause]


def record(name: str, strength: Strength) -> Windows:
    run_id = f"recorded-{run_name(name, strength)}"
    # A collector that has sent everything may still tidy up its spool.
    with running_service() as service, TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        train(name, strength, run_id, address=service.url, directory=Path(directory))
        wait_until(lambda: len(service.ends()) == pipeline(name).ranks, "all ranks end")
        windows = list(service.windows)
    for window in windows:
        if "run" in window:
            window["run"] |= NEUTRAL
        for place in window.get("storage", []):
            place.update(NEUTRAL_PLACE)
    return windows


def keep(name: str, strength: Strength) -> bool:
    with TemporaryDirectory() as directory:
        service = start_service(Path(directory) / "underfed.db")
        try:
            for attempt in range(ATTEMPTS):
                windows = record(name, strength)
                run_id = f"{windows[0]['run_id']}-{attempt}"
                post([window | {"run_id": run_id} for window in windows], service.address)
                seen = judged(Client(service.address), run_id)
                print(
                    f"{name} {strength}: {seen.sentence} {[(each.cause, each.cost_fraction) for each in seen.causes]}"
                )
                if is_right(seen, name, strength):
                    packed = gzip.compress(json.dumps(windows, separators=(",", ":")).encode(), mtime=0)
                    recording(name, strength).write_bytes(packed)
                    return True
        finally:
            service.kill()
    return False


def main(words: Sequence[str]) -> int:
    chosen = [(words[0], words[1] if len(words) > 1 else "clear")] if words else recorded()
    failed = [each for each in chosen if not keep(*each)]  # type: ignore[arg-type]  # a strength, as the user says
    for name, strength in failed:
        print(f"{name} {strength}: never judged as it should be, nothing kept", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
