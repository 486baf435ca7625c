"""How wide the terminal's text is."""

from __future__ import annotations

import pytest
from rich.padding import Padding
from rich.table import Table

from underfed_server.terminal.console import PlainConsole, answered

WORDS = " ".join(f"word{number}" for number in range(60))


def table() -> Table:
    found = Table(box=None, pad_edge=False)
    found.add_column("what", no_wrap=True)
    found.add_column("why", no_wrap=True)
    found.add_row("first", WORDS)
    return found


def test_what_is_piped_is_neither_cut_nor_wrapped_and_ends_with_its_last_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    PlainConsole().print(Padding(table(), (0, 0, 0, 2)))
    PlainConsole().print(WORDS)
    assert capsys.readouterr().out.splitlines() == ["  what   why", f"  first  {WORDS}", WORDS]


def test_a_width_that_is_asked_for_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    PlainConsole().print(WORDS)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_a_command_that_is_interrupted_ends_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert answered(interrupted) == 130
    assert capsys.readouterr() == ("", "")
