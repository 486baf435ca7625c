"""The run of a command in which no loader was seen: who ran what, how it ended, and why nothing was measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from underfed import rundir
from underfed.clock import now_ns, wall_clock
from underfed.config import Config
from underfed.facts import End, write_facts
from underfed.rank import make_run_id, read_rank
from underfed.recording import Recording, make_directory, say


@dataclass(frozen=True, slots=True)
class Beginning:
    """When the command was started, on both clocks."""

    started_at: str
    origin_ns: int

    @classmethod
    def now(cls) -> Beginning:
        return cls(wall_clock(), now_ns())


def record_unseen(config: Config, command: Sequence[str], begun: Beginning, status: int, reason: str) -> str:
    """Through a collector, as any run, and with one line for the person who trains. Returns the run's id.

    Raises:
        OSError: there is no place to record it.
    """
    rank = read_rank(os.environ)
    run_id = config.run_id or make_run_id(config.name, rank)
    recording = Recording(config, rank, run_id, make_directory(config, rank, run_id), "run")
    recording.origin = replace(recording.origin, started_at=begun.started_at, origin_ns=begun.origin_ns)
    recording.facts = replace(recording.facts, command=list(command), script=None, not_measured={"loader": reason})
    write_facts(recording.directory / rundir.RUN, origin=recording.origin, run=recording.facts)
    say(f"run {config.name} at {config.url}/runs/{run_id}: {reason}")
    recording.begin()
    recording.end(end_of(status))
    return run_id


def end_of(status: int) -> End:
    """From an exit status as in ``subprocess``."""
    if status == 0:
        return End("finished", None, 0)
    return End("crashed", describe(status), status)


def describe(status: int) -> str:
    from underfed.procfs import describe_exit

    return describe_exit(status) if status < 0 else f"the command ended with exit code {status}"


def name_of(command: Sequence[str]) -> str:
    """What a run of this command would call itself: its Python program, wherever that stands, else its first word."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word == "-m" and following:
            return following.rpartition(".")[2]
        if word.endswith(".py"):
            return Path(word).stem
    return Path(command[0]).name or "command"
