"""How a recording ended: the reports of kernel and launcher count, the process's own words only say why."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.fakes.launching import run_under
from tests.fakes.service import Service, is_preliminary, wait_until
from tests.never_breaks.evidence import push
from underfed.collector.reading.ends import (
    UNKNOWN_STATUS,
    UNREPORTED,
    end_of,
    end_while_leaving,
    launchers_word,
    read_mark,
)
from underfed.collector.wire import as_json
from underfed.exchange import run_files
from underfed.exchange.facts import End, Leaving, write_facts
from underfed.host import procfs
from underfed.host.process_end import ProcessEnd, wait_for_one
from underfed.trainer.process_facts import last_words

WORDS = Leaving("ValueError: the loss is not a number")


@pytest.mark.parametrize(
    ("status", "mark", "end"),
    [
        (0, Leaving(), End("finished", None, 0)),
        (0, WORDS, End("finished", None, 0)),
        (1, WORDS, End("crashed", WORDS.last_words, 1)),
        (3, Leaving(), End("crashed", "exit code 3", 3)),
        (-2, Leaving("KeyboardInterrupt"), End("crashed", "KeyboardInterrupt", -2)),
        (-9, Leaving(), End("crashed", "killed by SIGKILL", -9)),
        (-9, None, End("crashed", "killed by SIGKILL", -9)),
        (5, None, End("crashed", "the process ended without marking its end, exit code 5", 5)),
        (0, None, End("finished", "the process ended without marking its end, exit code 0", 0)),
        (None, Leaving(), End("finished", UNREPORTED)),
        (None, WORDS, End("crashed", f"{WORDS.last_words} ({UNREPORTED})")),
        (None, None, End("crashed", f"the process ended without marking its end, {UNREPORTED}")),
    ],
)
def test_the_status_decides_and_words_explain(status: int | None, mark: Leaving | None, end: End) -> None:
    assert end_of(status, mark) == end


def test_long_words_keep_their_end_and_are_no_longer_than_the_service_takes() -> None:
    said = last_words(RuntimeError("Caught ValueError in worker 0.\n" + "  File …\n" * 400 + "ValueError: sample 36"))
    assert said.startswith("RuntimeError: Caught ValueError in worker 0.")
    assert said.endswith("ValueError: sample 36")
    longest = end_of(None, Leaving(said)).exit_reason
    assert longest is not None and len(longest) <= 2_000


def test_nobody_claims_a_status_before_there_is_one() -> None:
    for mark in (Leaving(), WORDS):
        end = end_while_leaving(mark)
        assert end.exit_code is None
        assert is_preliminary(as_json(end))
        assert UNKNOWN_STATUS in (end.exit_reason or "")


def test_a_mark_is_of_one_kind(tmp_path: Path) -> None:
    assert read_mark(tmp_path) is None
    for mark in (End("finished"), Leaving(), WORDS):
        write_facts(tmp_path / run_files.END, mark)
        assert read_mark(tmp_path) == mark


@pytest.mark.parametrize("content", [None, "", "{}", "null", "x"])
def test_a_launcher_that_reported_nothing_is_no_word(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / run_files.STATUS).write_text(content)
    assert launchers_word(tmp_path) is None


LEAVING = """
import os, signal, sys, time, underfed
from torch.utils.data import DataLoader
from tests.fakes.traces import collectors_of
from underfed.trainer import collector_process
for batch in underfed.watch(DataLoader(range(4)), name="train"):
    pass
while not (found := collectors_of(os.environ["UNDERFED_RUN_ID"])):
    time.sleep(0.01)
collector_process.start_process = lambda _directory: None
for collector in found:
    os.kill(collector, signal.SIGKILL)
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("sys.exit(3)", 3, marks=pytest.mark.soak),
        pytest.param("os._exit(5)", 5, marks=pytest.mark.soak),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        pytest.param("pass", 0, marks=pytest.mark.soak),
        pytest.param("raise ValueError('last')", 1, marks=pytest.mark.soak),
    ],
)
def test_what_the_launcher_collected_is_reported_where_no_kernel_can_be_asked(
    service: Service, tmp_path: Path, end: str, code: int
) -> None:
    """As before Linux 6.15: a process that nobody has open is gone when its rings are read."""
    program = tmp_path / "train.py"
    program.write_text(LEAVING.format(end=end))
    done = run_under("--", sys.executable, str(program))
    assert done.returncode == code
    assert push().returncode == 0
    wait_until(service.ends, "the end arrives")
    (reported,) = service.ends()
    assert (reported["status"], reported["exit_code"]) == ("finished" if code == 0 else "crashed", code)


def test_a_parent_that_never_collects_hides_nothing() -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    ending = ProcessEnd(child, procfs.start_ticks(child))
    assert not wait_for_one([ending], 0.0)
    os.kill(child, signal.SIGKILL)
    assert wait_for_one([ending], 10.0)
    assert ending.status() == -signal.SIGKILL
    os.waitpid(child, 0)
    ending.close()
