"""The facts of this process: who it is, what it runs, and its last words."""

from __future__ import annotations

import getpass
import os
import platform
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from underfed.exchange import launch
from underfed.exchange.config import STACKS, Config, script_path
from underfed.exchange.facts import Leaving, Origin, RunFacts
from underfed.exchange.rank import Rank
from underfed.host import procfs
from underfed.host.clock import now_ns, wall_clock
from underfed.host.signal_handlers import passing
from underfed.trainer.scheduled import read_scheduled

TEXT_LENGTH = 2000
"""Most characters of a word of the command line, and of an exit reason."""

WORDS_LENGTH = TEXT_LENGTH - 200
"""What is known of the exit status is written behind them."""


def make_origin(config: Config, rank: Rank, run_id: str, directory: Path) -> Origin:
    return Origin(
        run_id=run_id,
        rank=rank.rank,
        incarnation=int(directory.name.rpartition("-")[2]),
        pid=os.getpid(),
        start_ticks=procfs.start_ticks(os.getpid()),
        boot_id=procfs.boot_id(),
        pid_namespace=procfs.pid_namespace(),
        hostname=platform.node(),
        started_at=wall_clock(),
        origin_ns=now_ns(),
        url=config.url,
        data_directory=str(config.data_directory),
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        device_order=os.environ.get("CUDA_DEVICE_ORDER"),
    )


def make_run_facts(config: Config, rank: Rank, started_by: str) -> RunFacts:
    from underfed import __version__

    return RunFacts(
        project=config.project,
        name=config.name,
        job=f"{config.project}/{config.name}",
        user=user_name(),
        hostname=platform.node(),
        command=[word[:TEXT_LENGTH] for word in sys.orig_argv[:200]],
        script=script_path(),
        pid=os.getpid(),
        rank=rank.rank,
        local_rank=rank.local_rank,
        node_rank=rank.node_rank,
        world_size=rank.world_size,
        agent_version=__version__,
        python_version=platform.python_version(),
        torch_version=None,
        started_by=started_by,
        tags=dict(config.tags),
        config=dict(config.config),
        launcher=rank.launcher,
        restart_count=rank.restart_count,
        advice_of=os.environ.get(launch.ADVICE_OF) or None,
        **asdict(read_scheduled(os.environ)),
        not_measured=_not_measured(config, rank),
    )


def _not_measured(config: Config, rank: Rank) -> dict[str, str]:
    reasons = {
        "other_hosts": rank.why_apart,
        "hotspots": f"switched off by {STACKS}=0" if config.stacks == "0" else None,
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}


def leaving() -> Leaving:
    """At exit: the words of the exception that Python printed, or that a child of multiprocessing is ending with. They
    say why, if it turns out that the process has failed; they do not say that it has."""
    error = sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        # torch's ``spawn`` ends so after the child's own exception.
        error = None if error.code in (None, 0) else error.__context__ or error
    return Leaving(None if error is None or is_interactive() else last_words(error))


def last_words(error: BaseException) -> str:
    """``Type: message``, as the end of a traceback has it. Of a long one its beginning and its end: the error of a
    worker begins with a traceback, and what went wrong stands behind that.
    """
    words = traceback.format_exception_only(type(error), error)[-1].strip()
    if len(words) <= WORDS_LENGTH:
        return words
    return f"{words[: WORDS_LENGTH // 3]} … {words[3 - WORDS_LENGTH * 2 // 3 :]}"


def is_interactive() -> bool:
    """Whether this is a notebook or prompt, where an earlier uncaught exception says nothing about how the run ends."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "PYTHONINSPECT" in os.environ


def user_name() -> str | None:
    with passing(KeyError, OSError):  # a container's user without a name
        return getpass.getuser()
    return None
