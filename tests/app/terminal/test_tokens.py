"""``underfed token`` against a real service, and on its database while none runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.app.api.visitors import ROOT
from tests.app.serving import application_in, serving, settings_for
from underfed_server.main import Application
from underfed_server.model import TokenList, TokenMade
from underfed_server.terminal.client import Client, RefusedError
from underfed_server.terminal.tokens import token


@pytest.fixture
def application(tmp_path: Path, database_url: str) -> Application:
    return application_in(tmp_path, token=ROOT, database_url=database_url)


@pytest.fixture
def address(application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(application, settings_for(tmp_path)) as served:
        monkeypatch.setenv("UNDERFED_URL", served)
        monkeypatch.setenv("UNDERFED_TOKEN", ROOT)
        yield served


def made(capsys: pytest.CaptureFixture[str], *arguments: str) -> TokenMade:
    assert token(["create", "--json", *arguments]) == 0
    return TokenMade.model_validate_json(capsys.readouterr().out)


def test_a_token_is_made_used_listed_and_revoked(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert token(["create", "--name", "cluster", "--scope", "ingest,view", "--project", "vision"]) == 0
    secret, advice = capsys.readouterr().out.splitlines()
    assert "underfed token revoke" in advice
    client = Client(address, secret)
    assert client.runs().runs == []
    assert token(["list"]) == 0
    listed = capsys.readouterr().out
    for shown in ("cluster", "ingest", "view", "vision", "valid", advice.split()[-1]):
        assert shown in listed
    assert secret not in listed
    assert token(["revoke", advice.split()[-1]]) == 0
    with pytest.raises(RefusedError):
        client.runs()
    capsys.readouterr()
    assert token(["list"]) == 0
    assert "revoked" in capsys.readouterr().out


def test_a_token_that_ends_says_when(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    ends = made(capsys, "--name", "x", "--scope", "view", "--expires", "90d").expires_at
    assert ends is not None
    assert abs(ends - datetime.now(timezone.utc) - timedelta(days=90)) < timedelta(minutes=1)
    assert made(capsys, "--name", "x", "--scope", "view").expires_at is None


def test_only_an_administrator_may_and_others_read_why_not(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERFED_TOKEN", made(capsys, "--name", "x", "--scope", "view").token)
    assert token(["list"]) == 1
    assert "the scope 'admin' is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "--name", "x", "--scope", "root"], "--scope must be of ingest, view, edit, admin"),
        (["create", "--name", "x", "--scope", ","], "--scope must be of"),
        (["create", "--name", "x", "--scope", "view", "--expires", "soon"], "--expires must be"),
        (["create", "--name", " ", "--scope", "view"], "name"),
        (["revoke", "nothing"], "there is no token 'nothing'"),
    ],
)
def test_an_invalid_argument_is_refused_in_a_sentence(
    address: str, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert token(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("underfed: ")
    assert said in error


def test_whoever_lost_the_last_token_opens_the_database(
    application: Application, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    application.close()
    new = made(capsys, "--db", database_url, "--name", "found again", "--scope", "admin", "--expires", "1h")
    assert token(["list", "--json", "--db", database_url]) == 0
    assert [each.token_id for each in TokenList.model_validate_json(capsys.readouterr().out).tokens] == [new.token_id]
    assert token(["revoke", new.token_id, "--json", "--db", database_url]) == 0
    assert json.loads(capsys.readouterr().out) == {}
    again = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    assert again.new_token is not None
    again.close()


def test_a_file_that_a_service_has_open_is_left_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    running = application_in(tmp_path)
    assert token(["list", "--db", f"sqlite:///{tmp_path / 'underfed.db'}"]) == 1
    assert "another underfed service" in capsys.readouterr().err
    running.close()


def test_an_answer_that_is_not_the_services_is_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    application = application_in(tmp_path)
    with serving(application, settings_for(tmp_path)) as served:
        monkeypatch.setenv("UNDERFED_URL", f"{served}/docs")
        assert token(["list"]) == 1
    assert "underfed: " in capsys.readouterr().err
