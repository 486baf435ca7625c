"""Settings of the service, and the values that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from underfed_server.errors import SettingsError
from underfed_server.settings import data_dir, read_settings


def test_without_arguments_it_is_for_this_machine_only() -> None:
    settings = read_settings([], {"UNDERFED_DIR": "/data"})
    assert (settings.host, settings.port, settings.is_loopback) == ("127.0.0.1", 7077, True)
    assert settings.database_url == "sqlite:////data/underfed.db"
    assert settings.token is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"UNDERFED_DIR": "/data"}, "/data"),
        ({"UNDERFED_DIR": "/data", "XDG_DATA_HOME": "/xdg"}, "/data"),
        ({"XDG_DATA_HOME": "/xdg"}, "/xdg/underfed"),
        ({"UNDERFED_DIR": "", "XDG_DATA_HOME": ""}, str(Path.home() / ".local/share/underfed")),
    ],
)
def test_data_lie_where_the_environment_says(environ: dict[str, str], expected: str) -> None:
    assert data_dir(environ) == Path(expected)


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.1", False), ("localhost.example", False)],
)  # fmt: skip
def test_only_an_address_of_this_machine_is_local(host: str, is_loopback: bool) -> None:
    assert read_settings(["--host", host], {}).is_loopback == is_loopback


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_does_not_exist_is_refused_by_name(port: str) -> None:
    with pytest.raises(SettingsError, match="--port"):
        read_settings(["--port", port], {})


@pytest.mark.parametrize("token", ["with space", "tab\t", "ünïcode", "line\n"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(SettingsError, match="UNDERFED_TOKEN") as raised:
        read_settings([], {"UNDERFED_TOKEN": token})
    assert token not in str(raised.value)


def test_a_token_is_never_shown() -> None:
    settings = read_settings([], {"UNDERFED_TOKEN": "s3cret-of-the-team"})
    assert settings.token == "s3cret-of-the-team"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("argv", "environ", "expected"),
    [
        ([], {}, (None, None)),
        (["--retain", "30d", "--max-size", "20GB"], {}, (30 * 24 * 3_600_000_000, 20_000_000_000)),
        (["--retain", "12h", "--max-size", "1.5TiB"], {}, (12 * 3_600_000_000, 3 * 2**39)),
        ([], {"UNDERFED_RETAIN": "8w", "UNDERFED_MAX_SIZE": "500 MB"}, (8 * 168 * 3_600_000_000, 500_000_000)),
        (["--retain", "2d"], {"UNDERFED_RETAIN": "8w"}, (48 * 3_600_000_000, None)),
    ],
)
def test_age_and_size_are_read_with_their_units(
    argv: list[str], environ: dict[str, str], expected: tuple[int | None, int | None]
) -> None:
    settings = read_settings(argv, environ)
    assert (settings.retain_us, settings.max_bytes) == expected


@pytest.mark.parametrize("wish", ["30", "0d", "-1d", "30m", "d", "1e3d", "30 days"])
def test_an_age_without_a_unit_is_refused_since_a_slip_would_cost_all_steps(wish: str) -> None:
    with pytest.raises(SettingsError, match="--retain must be"):
        read_settings([f"--retain={wish}"], {})


def test_an_age_that_reaches_beyond_the_calendar_is_refused_at_the_start() -> None:
    assert read_settings(["--keep-audit=99999w"], {}).keep_audit_us == 99_999 * 168 * 3_600_000_000
    with pytest.raises(SettingsError, match="--keep-audit must be"):
        read_settings(["--keep-audit=999999w"], {})


@pytest.mark.parametrize("wish", ["20", "0GB", "-1GB", "20gb", "20kB", "GB"])
def test_a_size_without_a_unit_is_refused(wish: str) -> None:
    with pytest.raises(SettingsError, match="--max-size must be"):
        read_settings([f"--max-size={wish}"], {})


def test_how_long_deleted_runs_and_the_audit_log_are_kept() -> None:
    days_us = 24 * 3_600_000_000
    settings = read_settings([], {})
    assert (settings.keep_deleted_us, settings.keep_audit_us) == (30 * days_us, 365 * days_us)
    settings = read_settings(["--keep-deleted", "7d"], {"UNDERFED_KEEP_AUDIT": "8w", "UNDERFED_KEEP_DELETED": "1d"})
    assert (settings.keep_deleted_us, settings.keep_audit_us) == (7 * days_us, 56 * days_us)
    aged = read_settings(["--archive-after", "90d"], {"UNDERFED_DELETE_AFTER": "52w"})
    assert (aged.archive_after_us, aged.delete_after_us) == (90 * days_us, 364 * days_us)
    with pytest.raises(SettingsError, match="--delete-after must not be less than --archive-after"):
        read_settings(["--archive-after", "90d", "--delete-after", "89d"], {})
    with pytest.raises(SettingsError, match="--delete-after must be at least a day"):
        read_settings([], {"UNDERFED_DELETE_AFTER": "23h"})
    with pytest.raises(SettingsError, match="--keep-deleted"):
        read_settings(["--keep-deleted", "soon"], {})


MAIL = {"UNDERFED_SMTP_FROM": "underfed@example.org"}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://ada:p%40ss@smtp.example.org", ("smtp.example.org", 587, "starttls", "ada", "p@ss")),
        ("smtps://smtp.example.org:4650/", ("smtp.example.org", 4650, "tls", None, None)),
        ("smtp+plain://localhost", ("localhost", 25, "none", None, None)),
    ],
)
def test_a_mail_server_is_named_by_its_url(url: str, expected: tuple[object, ...]) -> None:
    server = read_settings([], MAIL | {"UNDERFED_SMTP_URL": url}).alerts.mail_server
    assert server is not None
    assert (server.host, server.port, server.security, server.user, server.password) == expected
    assert server.sender == "underfed@example.org"
    assert "p@ss" not in repr(server)


@pytest.mark.parametrize(
    "url",
    [
        "smtp.example.org",
        "http://smtp.example.org",
        "smtp://",
        "smtp://h:x",
        "smtp://h/path",
        "smtp+plain://a:hidden@h",
    ],
)
def test_a_url_of_no_mail_server_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match="UNDERFED_SMTP_URL") as raised:
        read_settings([], MAIL | {"UNDERFED_SMTP_URL": url})
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    ("words", "environ", "named"),
    [
        ([], {"UNDERFED_SMTP_URL": "smtp://h"}, "UNDERFED_SMTP_FROM"),
        ([], {"UNDERFED_SMTP_URL": "smtp://h", "UNDERFED_SMTP_FROM": "a@b\nBcc: c@d"}, "UNDERFED_SMTP_FROM"),
        ([], {"UNDERFED_SECRET_KEY": "short"}, "UNDERFED_SECRET_KEY"),
        ([], {"UNDERFED_SECRET_KEY": f"{'x' * 32},short"}, "UNDERFED_SECRET_KEY"),
        (["--alert-networks", "10.0.0.0/99"], {}, "--alert-networks"),
        (["--public-url", "underfed.example.org"], {}, "--public-url"),
        (["--public-url", "https://x/?q=1"], {}, "--public-url"),
        (["--keep-alerts", "soon"], {}, "--keep-alerts"),
    ],
)
def test_how_alerts_are_sent_is_refused_by_name(words: list[str], environ: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        read_settings(words, environ)


def test_a_key_of_its_own_is_for_a_service_with_a_file_of_its_own() -> None:
    assert read_settings([], {"UNDERFED_DIR": "/data"}).alerts.key_path == Path("/data/secret-key")
    shared = read_settings(["--db", "postgresql+psycopg://h/d"], {"UNDERFED_SECRET_KEY": f"{'x' * 32}, {'y' * 32}"})
    assert (shared.alerts.key_path, shared.alerts.keys) == (None, ("x" * 32, "y" * 32))
