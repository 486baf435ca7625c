"""Trains the programs under ``underfed run`` and keeps what arrived: ``python -m tests.recorded_runs.record [NAME…]``.

A program writes what it saw by its own clock into the folder ``NOTED``.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.fakes.environment import clean_environment
from tests.fakes.launching import UNDERFED, make_known
from tests.fakes.service import running_service, wait_until
from tests.recorded_runs import RECORDINGS, Window

PROGRAMS = Path(__file__).parent / "programs"
HOME = "/home/ada/work"
LONGEST_S = 400

PYTHON = ("python",)
SHELL = ("bash",)
EIGHT_RANKS = ("python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=8")


@dataclass(frozen=True, slots=True)
class Recorded:
    program: str
    words: tuple[str, ...] = PYTHON
    """What starts it."""
    processes: int = 1
    """That record steps, at one time or one after the other."""
    exit_code: int = 0
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Of ``underfed run``."""

    @property
    def command(self) -> list[str]:
        return [*self.words, self.program, *self.arguments]


RUNS = {
    "three_loaders": Recorded("three_loaders.py"),
    "straggler": Recorded("straggler.py", EIGHT_RANKS, 8),
    "shell_loop": Recorded("shell_loop.sh", SHELL, 3),
    "checkpoints": Recorded("checkpoints.py"),
    "short_run": Recorded("short_run.py"),
    "crash": Recorded("crash.py", exit_code=1),
    "paired": Recorded("paired.py"),
    "with_lightning": Recorded("with_lightning.py"),
    "with_trainer": Recorded("with_trainer.py"),
    "with_accelerate": Recorded("with_accelerate.py"),
    "web_stream": Recorded("web_stream.py"),
    "crowded_worker": Recorded("crowded.py", arguments=("1", "1920", "5", "16", "15")),
    "crowded_alone": Recorded("crowded.py", arguments=("0", "1920", "5", "16", "15")),
    "crowded_tiny": Recorded("crowded.py", arguments=("2", "2400", "0", "4", "2")),
    "crowded_pictures": Recorded("crowded_pictures.py", arguments=("1",)),
    "crowded_pictures_by_two": Recorded("crowded_pictures.py", arguments=("2",)),
    "joined_volumes": Recorded("joined_volumes.py"),
    "tuned": Recorded("tuned.py", options=("--tune",)),
}


def record(name: str) -> tuple[list[Window], list[dict[str, Any]]]:
    """What arrived, and what the program's processes noted."""
    run = RUNS[name]
    with running_service() as service, TemporaryDirectory() as folder:
        spool, program, noted = (Path(folder) / each for each in ("spool", "work", "noted"))
        shutil.copytree(PROGRAMS, program)
        spool.mkdir()
        noted.mkdir()
        make_known(str(spool))
        environment = clean_environment(
            UNDERFED_URL=service.url, UNDERFED_DIR=str(spool), UNDERFED_NAME=name.replace("_", "-"),
            UNDERFED_RUN_ID=f"recorded-{name.replace('_', '-')}", UNDERFED_PROJECT="recorded", NOTED=str(noted),
            PYTHON=sys.executable, CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1",
        )  # fmt: skip
        command = [sys.executable if word == "python" else word for word in run.command]
        ended = subprocess.run(
            [*UNDERFED, "run", *run.options, "--", *command], cwd=program, env=environment, timeout=LONGEST_S,
            capture_output=True, check=False,
        )  # fmt: skip
        assert ended.returncode == run.exit_code, ended.stderr.decode()
        wait_until(lambda: len(service.ends()) >= run.processes, "all ranks end")
        truth = [json.loads(path.read_text()) for path in sorted(noted.iterdir())]
        assert len(truth) == run.processes, truth
        return _neutral(service.windows, str(program), run), truth


def _neutral(windows: Sequence[Window], folder: str, run: Recorded) -> list[Window]:
    """Without what would identify the machine that recorded."""
    text = json.dumps(windows).replace(folder, HOME)
    for path, neutral in ((sys.prefix, "/opt/venv"), (str(PROGRAMS.parents[2]), "/opt/underfed")):
        text = text.replace(path, neutral)
    found: list[Window] = json.loads(text)
    for window in found:
        if "run" in window:
            script = None if run.words == SHELL else run.program
            window["run"] |= {"user": "ada", "hostname": "node-03", "command": run.command, "script": script}
    return found


def keep(name: str) -> None:
    windows, truth = record(name)
    packed = gzip.compress(json.dumps(windows, separators=(",", ":")).encode(), mtime=0)
    (RECORDINGS / f"{name}.json.gz").write_bytes(packed)
    (RECORDINGS / f"{name}.truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    print(f"{name}: {len(windows)} windows, {len(packed):,} bytes", flush=True)


def main(words: Sequence[str]) -> int:
    RECORDINGS.mkdir(exist_ok=True)
    for name in words or RUNS:
        keep(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
