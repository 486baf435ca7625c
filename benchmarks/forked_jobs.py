"""Trainings that are measured: each in a process of its own, forked from one that has imported torch already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import underfed
from tests.fakes.environment import clean_environment

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class ForkedJobs:
    process: subprocess.Popen[str]

    def ask(self, run_id: str, order: Mapping[str, Any]) -> Any:
        """What the training answers to this order, recorded as this run.

        Raises:
            SystemExit: it failed, and printed why.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"run_id": run_id, "order": order}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer is None:
            raise SystemExit(f"failed: {order}")
        return answer


@contextmanager
def forked_jobs(module: str, directory: Path, **variables: str) -> Iterator[ForkedJobs]:
    """``python -m MODULE DIRECTORY``, which calls ``answer``."""
    environment = clean_environment(UNDERFED_DIR=str(directory), PYTHONWARNINGS="ignore", **variables)
    with subprocess.Popen(
        [sys.executable, "-m", module, str(directory)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield ForkedJobs(process)
        assert process.stdin is not None
        process.stdin.close()


def answer(train: Callable[[dict[str, Any]], Any]) -> None:
    """Each line of standard input is an order: ``train`` answers it with something that is JSON."""
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_in_child(train, asked["run_id"], asked["order"])), flush=True)


def _in_child(train: Callable[[dict[str, Any]], Any], run_id: str, order: dict[str, Any]) -> Any:
    """``None``: it failed, and printed why."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.environ["UNDERFED_RUN_ID"] = run_id
        try:
            result = train(order)
            underfed.finish()
            with os.fdopen(writing, "w") as output:
                json.dump(result, output)
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as output:
        text = output.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None
