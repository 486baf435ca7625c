"""A process that has imported what tests need and stays sound: each run of pytest is a fork of it, and costs no start.

Speaks JSON, a line each way: ``{"words": […], "said": FILE, "limit_s": N}``, answered by pytest's exit code, or by
``null`` where it did not end in time. Nothing of ours is imported before the fork: that is what faults are planted in.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress

FOREIGN = (
    "pytest", "_pytest.assertion.rewrite", "hypothesis", "numpy", "torch", "torch.utils.data", "sqlalchemy",
    "sqlalchemy.dialects.sqlite", "fastapi", "starlette.testclient", "msgspec", "pydantic", "prometheus_client",
    "psutil", "uvicorn", "alembic.command", "zstandard",
)  # fmt: skip
POLL_S = 0.05


def serve() -> None:
    for name in FOREIGN:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(run(asked["words"], asked["said"], asked["limit_s"])), flush=True)


def run(words: Sequence[str], said: str, limit_s: float) -> int | None:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        become_pytest(words, said)
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(POLL_S)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def become_pytest(words: Sequence[str], said: str) -> None:
    import pytest

    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(ours, standard)
    code = 3
    try:
        code = int(pytest.main(list(words)))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
