"""Where ``--tune`` writes what came of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.tuning.training_loop import NONE, TWO, Loop, workers
from underfed.exchange import launch, tuning
from underfed.exchange.parts import read_part
from underfed.trainer.tuning.reporter import Reporter


def test_the_launcher_has_it_too_so_that_it_can_print_it_after_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank, launcher = tmp_path / "rank-0", tmp_path / "launch"
    rank.mkdir()
    monkeypatch.setenv(launch.LAUNCH, str(launcher))
    loop = Loop({NONE: 50, TWO: 10}, candidates=workers(2))
    loop.run(400)
    reporter = Reporter(lambda _line: None)
    watched: Any = SimpleNamespace(name="train", directory=rank)
    recording: Any = SimpleNamespace(origin=SimpleNamespace(origin_ns=0))
    reporter.watched, reporter.recording, reporter.conductor = watched, recording, loop.conductor
    reporter.write()
    assert not launcher.exists()
    launcher.mkdir()
    reporter.write()
    written = read_part(launcher / tuning.FILE, tuning.TuningFacts)
    assert written == read_part(rank / tuning.FILE, tuning.TuningFacts)
    assert written.lines == ["num_workers=2,"]
