"""``underfed delete`` and ``restore`` against a real service: what they ask, what they do, and what stays."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.serving import serving, settings_for
from tests.app.store.posting import post
from underfed_server.main import create_app
from underfed_server.store.store import Store
from underfed_server.terminal.commands import runs
from underfed_server.terminal.removal import delete, restore

Capture = pytest.CaptureFixture[str]
TOKEN = "a-token-of-the-tests"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store behind the service that the commands talk to, with two runs that ended and one that goes on."""
    settings = settings_for(tmp_path, token=TOKEN)
    application = create_app(settings)
    with serving(application, settings) as address:
        monkeypatch.setenv("UNDERFED_URL", address)
        monkeypatch.setenv("UNDERFED_TOKEN", TOKEN)
        monkeypatch.delenv("COLUMNS", raising=False)
        opened = application.parts.store
        for run_id in ("alpha", "beta"):
            post(opened, [made_window(0, run_id=run_id, run=RUN | {"name": run_id}, end={"status": "finished"})])
            opened.save_diagnosis(made_diagnosis(run_id, hours_lost=1.5, hours_used=4.0))
        post(opened, [made_window(0, run_id="going", run=RUN)])
        yield opened


def there(store: Store) -> set[str]:
    return {change.run_id for change in store.changed_since(store.now().replace(year=2020)) if not change.deleted_at}


def test_runs_are_deleted_after_a_question_and_restored(
    store: Store, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert delete(["alpha", "bet"]) == 0
    said = capsys.readouterr().out
    assert "2 runs, to be restored for 30 days" in said
    assert "The 3 h that they lost stay in the figures" in said
    assert "Nothing was deleted." in said
    assert there(store) == {"alpha", "beta", "going"}

    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert delete(["alpha", "bet", "alpha"]) == 0
    assert "underfed restore alpha beta" in capsys.readouterr().out
    assert there(store) == {"going"}
    assert runs(["--deleted"]) == 0
    listed = capsys.readouterr().out
    assert "alpha" in listed and "going" not in listed

    assert restore(["al", "beta"]) == 0
    assert "2 runs restored." in capsys.readouterr().out
    assert there(store) == {"alpha", "beta", "going"}
    assert runs(["--deleted"]) == 0
    assert "No deleted run" in capsys.readouterr().out


def test_where_nobody_can_be_asked_it_takes_a_word(
    store: Store, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert delete(["alpha"]) == 1
    assert "--yes" in capsys.readouterr().err
    assert delete(["alpha", "--yes"]) == 0
    assert there(store) == {"beta", "going"}


def test_of_several_runs_none_is_deleted_where_one_is_running(store: Store, capsys: Capture) -> None:
    assert delete(["alpha", "going", "--yes"]) == 1
    assert "going is still running" in capsys.readouterr().err
    assert there(store) == {"alpha", "beta", "going"}


def test_what_is_not_deleted_is_not_restored(store: Store, capsys: Capture) -> None:
    assert restore(["alpha"]) == 1
    assert "no deleted run begins with 'alpha'" in capsys.readouterr().err
