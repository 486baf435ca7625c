"""The service in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.environment import clean_environment

SERVICE = """
import math
import sys
from underfed_server.__main__ import JUDGED_AT_ONCE, Server, listen
from underfed_server.api.admission.connections import raise_file_limit
from underfed_server.forked.answering import compact_streams, judge_runs
from underfed_server.forked.asked import AskedProcess
from underfed_server.forked.compaction import CompactionProcess
from underfed_server.api.admission.rate_limits import MOST_EXPORTS
from underfed_server.forked.exporting import ExportProcesses, works
from underfed_server.forked.forks import Forks
from underfed_server.forked.judge import JudgeProcess
from underfed_server.garbage import collect_and_look_seldom
from underfed_server.main import create_app
from underfed_server.settings import Settings
# A thousand agents of one address: the limit for one token is not what is measured.
settings = Settings("127.0.0.1", 0, sys.argv[1], requests_per_s=math.inf, bytes_per_s=math.inf)
exporting = works(MOST_EXPORTS)
with Forks(judge_runs, compact_streams, *exporting) as forks, listen(settings) as listening:
    judge = JudgeProcess(AskedProcess(forks, judge_runs, sys.argv[1]).ask)
    judges = bool(sys.argv[2:])
    prepare = CompactionProcess(AskedProcess(forks, compact_streams, sys.argv[1]).ask, forks)
    application = create_app(
        # Without its judge, whose process reads the curve, the one that receives would decode every window for it.
        settings, judge if judges else lambda store, run_id: (None, []),
        judged_at_once=JUDGED_AT_ONCE if judges else 1, prepare=prepare,
        beside=[forks], export=ExportProcesses(forks, exporting, sys.argv[1]),
    )
    collect_and_look_seldom()
    print(listening.getsockname()[1], flush=True)
    Server(application, most_connections=raise_file_limit()).run([listening])
"""


@dataclass(frozen=True, slots=True)
class Service:
    pid: int
    port: int


@contextmanager
def serving(database: Path | str, *, judges: bool) -> Iterator[Service]:
    """``database``: a file, or a URL. Without its judge a service stores windows and does nothing else."""
    url = f"sqlite:///{database}" if isinstance(database, Path) else database
    command = [sys.executable, "-c", SERVICE, url, *(["judges"] if judges else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as service:
        assert service.stdout is not None
        try:
            yield Service(service.pid, int(service.stdout.readline()))
        finally:
            service.terminate()
