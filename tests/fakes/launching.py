"""Commands started as a user starts them, bare and by ``underfed run``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tests.fakes.jobs import ROOT, environment

UNDERFED = (sys.executable, "-m", "underfed.cli")


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """``options`` of Popen; ``variables`` go into the environment."""
    variables = options.pop("variables", {})
    return subprocess.Popen(
        words,
        **{
            "cwd": ROOT,
            "env": environment(**variables),
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


def start_under(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """``words``: options of ``underfed run``, ``--``, the command."""
    return start(*UNDERFED, "run", *words, **options)


def finish(process: subprocess.Popen[bytes], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    output, errors = process.communicate(given, timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def run_under(*words: str, given: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    return finish(start_under(*words, **options), given)


def own_lines(errors: bytes) -> list[str]:
    """What the agent said."""
    return [line for line in errors.decode().splitlines() if line.startswith("underfed: ")]


def others(errors: bytes) -> bytes:
    """What the command itself wrote."""
    return b"".join(line for line in errors.splitlines(keepends=True) if not line.startswith(b"underfed: "))
