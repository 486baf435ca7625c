"""What the service makes of the answers of the process that judges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.made_windows import made_stream
from tests.app.store.posting import post
from underfed_server.diagnose import FoundDiagnosis
from underfed_server.errors import TryLaterError
from underfed_server.forked.forks import Forks, NoForksError
from underfed_server.forked.judge import JudgeProcess
from underfed_server.store.reading.spark import Curve
from underfed_server.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(f"sqlite:///{tmp_path}/underfed.db")) as opened:
        post(opened, made_stream(3))
        yield opened


def test_a_process_that_is_asked_for_as_the_service_ends_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    forks = Forks.__new__(Forks)

    class Closing:
        """It is closed by another thread just before something is sent through it."""

        def sendall(self, _: bytes) -> None:
            forks.is_over = True
            raise BrokenPipeError

    for name, value in (("_works", (print,)), ("_turn", threading.Lock()), ("_control", Closing()), ("is_over", False)):
        monkeypatch.setattr(forks, name, value, raising=False)
    with pytest.raises(TryLaterError, match="the service ends"):
        forks.new(print)


def test_the_service_judges_itself_where_no_process_can_be_forked(store: Store) -> None:
    asked: list[str] = []

    def end(run_id: str) -> tuple[FoundDiagnosis | None, Curve]:
        asked.append(run_id)
        raise NoForksError("it has died")

    judge = JudgeProcess(end)
    found, curve = judge(store, "run-1")
    assert found is not None and curve != []
    judge(store, "run-1")
    assert asked == ["run-1"]
