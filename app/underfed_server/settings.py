"""Settings of the service: arguments take precedence over the environment, and a bad value is refused by name."""

from __future__ import annotations

import argparse
import ipaddress
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from underfed_server.errors import SettingsError
from underfed_server.logs import FORMATS, LEVELS, LogFormat, LogLevel
from underfed_server.model import Scope
from underfed_server.proxy_groups import SCOPES_OF_PEOPLE, ProxyGroups, read_proxy_groups

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7077
DATABASE_NAME = "underfed.db"
BACKUPS_NAME = "backups"
BACKUPS_KEPT = 7
OWNER_TOKEN_NAME = "owner-token"
SECRET_KEY_NAME = "secret-key"
LEAST_TOKEN = 16
"""Characters of a token that somebody chose: of letters and digits that is more than anybody tries."""

REQUESTS_PER_S = 5_000.0
"""What one token or address may send: the posts of some thousand ranks that share it."""

BYTES_PER_S = 200e6

HOURS = {"h": 1, "d": 24, "w": 168}
HOUR_US = 3_600_000_000
LEAST_RUN_AGE_US = 24 * HOUR_US
"""Of whole runs, before anything becomes of them."""

KEEP_DELETED_US = 30 * 24 * HOUR_US
KEEP_AUDIT_US = 365 * 24 * HOUR_US
KEEP_ALERTS_US = 30 * 24 * HOUR_US
BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

LEAST_KEY = 32
"""Characters of a key that secrets are encrypted with: it is tried offline by whoever has a copy of the database."""

MailSecurity = Literal["tls", "starttls", "none"]
MAIL_SCHEMES: Mapping[str, tuple[MailSecurity, int]] = {
    "smtp": ("starttls", 587),
    "smtps": ("tls", 465),
    "smtp+plain": ("none", 25),
}
"""What protects the connection, and the port that is usual with it."""

MAIL_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
"""Without names, comments or quotes, none of which an address needs."""

PROXY_GROUPS_HEADER = "X-Forwarded-Groups"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Backups:
    """Copies of an SQLite file, made by the service itself."""

    every_s: float
    directory: Path
    keep: int
    """The newest so many; older ones are deleted."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where alerts by e-mail are handed in."""

    host: str
    port: int
    security: MailSecurity
    sender: str
    """The address that they come from."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """How alerts are sent."""

    networks: tuple[Network, ...] = ()
    """Addresses that are not public and to which webhooks may be posted, also without TLS."""
    mail_server: MailServer | None = None
    """``None``: no alert is sent by e-mail."""
    public_url: str | None = None
    """Of the service's page, for links; ``None``: as whoever made a rule reached it."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    """What addresses and secrets of channels are encrypted with: the first one; each may decrypt."""
    key_path: Path | None = None
    """A key of the service's own, for where none is given; ``None``: there is none."""
    keep_us: int = KEEP_ALERTS_US
    """So long the delivery log keeps a message."""


@dataclass(frozen=True, slots=True)
class Settings:
    host: str
    port: int
    """0: any free port."""
    database_url: str
    """An SQLAlchemy URL."""
    token: str | None = field(default=None, repr=False)
    """The token from the environment; ``None``: not given."""
    proxy_addresses: tuple[Network, ...] = ()
    """Proxies whose headers are trusted: who is signed in, from where, over TLS or not."""
    proxy_user_header: str | None = None
    """The header in which they name the user."""
    proxy_scopes: tuple[Scope, ...] = ("view",)
    """What users that they name may do in every project, whatever their groups."""
    proxy_groups: ProxyGroups = field(default_factory=dict)
    """What they may do beyond that, by their groups."""
    proxy_groups_header: str = PROXY_GROUPS_HEADER
    """The header in which they name the user's groups, with commas between."""
    retain_us: int | None = None
    """Single steps older than this are deleted where a project does not say otherwise; ``None``: never."""
    max_bytes: int | None = None
    """The oldest single steps are deleted until a project takes no more; ``None``: never."""
    archive_after_us: int | None = None
    """Runs that nobody changed for so long are archived where a project does not say otherwise; ``None``: never."""
    delete_after_us: int | None = None
    """Likewise, deleted."""
    keep_deleted_us: int = KEEP_DELETED_US
    """So long a deleted run can be restored."""
    keep_audit_us: int = KEEP_AUDIT_US
    """So long an entry of the audit log is kept."""
    requests_per_s: float = REQUESTS_PER_S
    """Infinite: no limit; the next one too."""
    bytes_per_s: float = BYTES_PER_S
    owner_token_path: Path | None = None
    """Where an open service keeps the token of its owner; ``None``: nobody is, and nothing can be changed."""
    backups: Backups | None = None
    """``None``: none are made."""
    alerts: AlertSettings = AlertSettings()
    log_format: LogFormat | None = None
    """``None``: text on a terminal, else JSON."""
    log_level: LogLevel = "warning"

    @property
    def is_loopback(self) -> bool:
        """Only this machine can reach the service."""
        return self.host == "localhost" or _is_loopback_address(self.host)


def data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where data lie by default: ``UNDERFED_DIR``, else ``underfed`` in the XDG data home."""
    environ = os.environ if environ is None else environ
    if chosen := environ.get("UNDERFED_DIR"):
        return Path(chosen).expanduser().absolute()
    home = environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path("~/.local/share").expanduser()).absolute() / "underfed"


def owner_token_path(environ: Mapping[str, str] | None = None) -> Path:
    """One for all open services with this data directory: commands of the same user find it here."""
    return data_dir(environ) / OWNER_TOKEN_NAME


def database_url_of(given: str | None, environ: Mapping[str, str]) -> str:
    """What ``--db`` names, else the file in the data directory."""
    return given or f"sqlite:///{data_dir(environ) / DATABASE_NAME}"


def read_settings(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the arguments of ``underfed serve`` and the environment.

    Raises:
        SettingsError: naming the argument or the variable. Arguments that argparse refuses end the process.
    """
    environ = os.environ if environ is None else environ
    arguments = _parser(environ).parse_args(argv)
    archive_after_us, delete_after_us = arguments.archive_after, arguments.delete_after
    if archive_after_us and delete_after_us and delete_after_us < archive_after_us:
        raise SettingsError("--delete-after must not be less than --archive-after: no run would live to be archived")
    return Settings(
        host=_host(arguments.host),
        port=_port(arguments.port),
        database_url=database_url_of(arguments.db, environ),
        token=_token(environ.get("UNDERFED_TOKEN")),
        **_proxy(arguments),
        retain_us=arguments.retain,
        max_bytes=arguments.max_size,
        archive_after_us=archive_after_us,
        delete_after_us=delete_after_us,
        keep_deleted_us=arguments.keep_deleted or KEEP_DELETED_US,
        keep_audit_us=arguments.keep_audit or KEEP_AUDIT_US,
        requests_per_s=_limit("--requests-per-s", arguments.requests_per_s),
        bytes_per_s=_limit("--bytes-per-s", arguments.bytes_per_s),
        owner_token_path=owner_token_path(environ),
        backups=_backups(arguments, environ),
        alerts=_alerts(arguments, environ),
        log_format=arguments.log_format,
        log_level=arguments.log_level,
    )


def _parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="underfed serve", description="The service and its page.")

    def also_a_variable(name: str, metavar: str, read: Callable[[str, str], object], about: str) -> None:
        """``--max-size`` may come as ``UNDERFED_MAX_SIZE``, too. ``read``: of its name and what was given, empty where
        nothing was."""
        given = environ.get(f"UNDERFED_{name.removeprefix('--').replace('-', '_').upper()}", "")
        parser.add_argument(name, metavar=metavar, type=partial(read, name), default=given, help=about)

    parser.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument("--db", metavar="URL", help="SQLAlchemy URL; default: an SQLite file in the data directory")
    said = "how long single steps are kept, as in 30d; overviews and verdicts stay"
    also_a_variable("--retain", "AGE", _age_us, said)
    said = "a project may take so much, as in 20GB: its oldest single steps give way"
    also_a_variable("--max-size", "SIZE", _size_bytes, said)
    said = "whole runs that nobody changed for so long are {}, as in {} (default: never)"
    also_a_variable("--archive-after", "AGE", _run_age_us, said.format("archived", "90d"))
    lost = "; what they lost stays counted"
    also_a_variable("--delete-after", "AGE", _run_age_us, said.format("deleted", "52w") + lost)
    also_a_variable("--keep-deleted", "AGE", _age_us, "how long a deleted run can be restored, as in 7d (default: 30d)")
    also_a_variable("--keep-audit", "AGE", _age_us, "how long who changed what is kept (default: 365d)")
    said = "copy the SQLite file so often, as in 12h or 1d (default: never)"
    also_a_variable("--backup-every", "AGE", _age_us, said)
    also_a_variable("--backup-dir", "DIR", _text, "where to (default: backups in the data directory)")
    said = "keep the newest N (default: %(default)s)"
    parser.add_argument("--backup-keep", metavar="N", type=int, default=BACKUPS_KEPT, help=said)
    said = "where a proxy stands whose X-Forwarded-… headers are believed, as in 10.0.0.0/8,fd00::/8"
    also_a_variable("--proxy-address", "NETWORKS", _networks, said)
    said = "header in which it names the user, as in X-Forwarded-User"
    also_a_variable("--proxy-user-header", "NAME", _header, said)
    said = "what people may do who are signed in there: view, edit or admin (default: view; with --proxy-groups what "
    also_a_variable("--proxy-scope", "SCOPES", _text, f"{said}their groups may)")
    said = "JSON: what their groups may do in which projects (docs/access.md)"
    also_a_variable("--proxy-groups", "FILE", _text, said)
    said = f"header in which the proxy names a user's groups (default: {PROXY_GROUPS_HEADER})"
    also_a_variable("--proxy-groups-header", "NAME", _header, said)
    said = "from one token, or from one address where none is asked for; 0: no limit (default: %(default)s)"
    parser.add_argument("--requests-per-s", metavar="N", type=float, default=REQUESTS_PER_S, help=said)
    parser.add_argument("--bytes-per-s", metavar="N", type=float, default=BYTES_PER_S, help=f"likewise {said}")
    said = "private networks that alerts may be posted to, also without TLS, as in 10.0.0.0/8,127.0.0.1 "
    also_a_variable("--alert-networks", "NETWORKS", _networks, f"{said}(default: public addresses alone)")
    also_a_variable("--public-url", "URL", _public_url, "address of the page in alerts, where people reach it")
    also_a_variable("--keep-alerts", "AGE", _age_us, "how long the log of sent alerts is kept (default: 30d)")
    parser.add_argument("--log-format", choices=FORMATS, help="default: text on a terminal, else a JSON object a line")
    said = "info: a line for each request but those of agents and health checks; debug: for those too"
    parser.add_argument("--log-level", choices=LEVELS, default="warning", help=f"{said} (default: %(default)s)")
    return parser


def _proxy(arguments: argparse.Namespace) -> dict[str, Any]:
    user_header, groups, groups_header = (
        arguments.proxy_user_header, arguments.proxy_groups, arguments.proxy_groups_header,
    )  # fmt: skip
    if user_header and not arguments.proxy_address:
        raise SettingsError("--proxy-user-header needs --proxy-address: from anywhere else anybody could send it")
    if groups and not user_header:
        raise SettingsError("--proxy-groups needs --proxy-user-header: the audit log names people, not groups")
    if groups_header and not groups:
        raise SettingsError("--proxy-groups-header needs --proxy-groups: the file that says what each group may do")
    scopes = _listed(arguments.proxy_scope or ("" if groups else "view"))
    return {
        "proxy_addresses": arguments.proxy_address,
        "proxy_user_header": user_header or None,
        "proxy_scopes": tuple(map(_scope, scopes)),
        "proxy_groups": read_proxy_groups(Path(groups).expanduser()) if groups else {},
        "proxy_groups_header": groups_header or PROXY_GROUPS_HEADER,
    }


def _backups(arguments: argparse.Namespace, environ: Mapping[str, str]) -> Backups | None:
    if arguments.backup_every is None:
        return None
    if not database_url_of(arguments.db, environ).startswith("sqlite"):
        raise SettingsError(
            "--backup-every is for SQLite; PostgreSQL makes its own back-ups: docs/operations.md says how"
        )
    if arguments.backup_keep < 1:
        raise SettingsError(f"--backup-keep must be 1 or more, not {arguments.backup_keep}")
    chosen = arguments.backup_dir
    directory = Path(chosen).expanduser().absolute() if chosen else data_dir(environ) / BACKUPS_NAME
    return Backups(arguments.backup_every / 1e6, directory, arguments.backup_keep)


def _alerts(arguments: argparse.Namespace, environ: Mapping[str, str]) -> AlertSettings:
    # A key in a file is of one process, or of several that share a directory: those on one database need not.
    is_file = database_url_of(arguments.db, environ).startswith("sqlite")
    return AlertSettings(
        networks=arguments.alert_networks,
        mail_server=_mail_server(environ),
        public_url=arguments.public_url,
        keys=_keys(environ.get("UNDERFED_SECRET_KEY", "")),
        key_path=data_dir(environ) / SECRET_KEY_NAME if is_file else None,
        keep_us=arguments.keep_alerts or KEEP_ALERTS_US,
    )


def _keys(text: str) -> tuple[str, ...]:
    keys = tuple(_listed(text))
    if any(len(key) < LEAST_KEY for key in keys):
        raise SettingsError(
            f"each key in UNDERFED_SECRET_KEY must have at least {LEAST_KEY} characters, or it can be guessed; "
            "one is made by: openssl rand -hex 32"
        )
    return keys


def _public_url(name: str, text: str) -> str | None:
    if not text:
        return None
    if not re.fullmatch(r"https?://[!-~]{1,500}", text) or "?" in text or "#" in text:
        raise SettingsError(f"{name} must be such as https://underfed.example.org, not {text!r}")
    return text.rstrip("/")


def _mail_server(environ: Mapping[str, str]) -> MailServer | None:
    url, sender = environ.get("UNDERFED_SMTP_URL"), environ.get("UNDERFED_SMTP_FROM", "")
    if not url:
        return None
    # The value is not repeated: it may hold a password.
    wrong = SettingsError(
        "UNDERFED_SMTP_URL must be such as smtp://user:password@smtp.example.org:587 (STARTTLS), smtps://… (TLS), or "
        "smtp+plain://… (neither); what is special in a user or password is percent-encoded"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise wrong from error
    known = MAIL_SCHEMES.get(parts.scheme)
    if known is None or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise wrong
    security, usual = known
    if security == "none" and parts.username is not None:
        raise SettingsError("UNDERFED_SMTP_URL: with smtp+plain:// a password would be read on the way; leave it out")
    if not MAIL_ADDRESS.fullmatch(sender):
        raise SettingsError("UNDERFED_SMTP_FROM must be the address that alerts come from, as in underfed@example.org")
    user, password = (each and unquote(each) for each in (parts.username, parts.password))
    return MailServer(parts.hostname, port or usual, security, sender, user or None, password)


def _text(_: str, text: str) -> str:
    return text


def _header(name: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]*", text):
        raise SettingsError(f"{name} must be the name of a header, not {text!r}")
    return text


def _age_us(name: str, text: str) -> int | None:
    if not text:
        return None
    # Longer ones, of which no date of the calendar is so long ago, are slips.
    said = re.fullmatch(r"(\d{1,5})\s*(h|d|w)", text.strip())
    if said is None or not int(said[1]):
        raise SettingsError(f"{name} must be a number of hours, days or weeks such as 12h, 30d or 8w, not {text!r}")
    return int(said[1]) * HOURS[said[2]] * HOUR_US


def _run_age_us(name: str, text: str) -> int | None:
    age_us = _age_us(name, text)
    if age_us is not None and age_us < LEAST_RUN_AGE_US:
        raise SettingsError(f"{name} must be at least a day: a slip would take all runs")
    return age_us


def _size_bytes(name: str, text: str) -> int | None:
    if not text:
        return None
    said = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB|MiB|GiB|TiB)", text.strip())
    if said is None or not float(said[1]):
        raise SettingsError(f"{name} must be a size such as 500MB, 20GB or 1.5TiB, not {text!r}")
    return round(float(said[1]) * BYTES[said[2]])


def _listed(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _networks(name: str, text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(each) for each in _listed(text))
    except ValueError as error:
        raise SettingsError(f"{name} must be an address or a network such as 10.0.0.0/8: {error}") from error


def _scope(text: str) -> Scope:
    scope = SCOPES_OF_PEOPLE.get(text)
    if scope is None:
        raise SettingsError(
            f"--proxy-scope must be view, edit or admin, not {text!r}: agents need a token of their own"
        )
    return scope


def _limit(name: str, per_s: float) -> float:
    if not per_s >= 0:
        raise SettingsError(f"{name} must be 0 (no limit) or more, not {per_s:g}")
    return per_s or math.inf


def _host(host: str) -> str:
    if not host or any(character.isspace() or character == "/" for character in host):
        raise SettingsError(f"--host must be an address or a host name, not {host!r}")
    return host


def _port(port: int) -> int:
    if not 0 <= port <= 65_535:
        raise SettingsError(f"--port must be between 0 (any free port) and 65535, not {port}")
    return port


def _token(token: str | None) -> str | None:
    if not token:
        return None
    # It travels in an HTTP header, where anything else cannot be sent by an agent.
    if not (token.isascii() and token.isprintable()) or any(character.isspace() for character in token):
        raise SettingsError("UNDERFED_TOKEN must be printable ASCII without spaces")
    if len(token) < LEAST_TOKEN:
        raise SettingsError(
            f"UNDERFED_TOKEN must have at least {LEAST_TOKEN} characters, or it can be guessed; "
            "one is made by: openssl rand -hex 24"
        )
    return token


def _is_loopback_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
