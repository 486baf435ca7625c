"""What the service was told: arguments win over the environment, and a bad value is refused by name."""

from __future__ import annotations

import argparse
import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from underfed_server.errors import SettingsError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 7077
DATABASE_NAME = "underfed.db"


@dataclass(frozen=True, slots=True)
class Settings:
    host: str
    port: int
    """0: any free port."""
    database_url: str
    """An SQLAlchemy URL."""
    token: str | None = field(default=None, repr=False)
    """As a person gave it in the environment; ``None``: not given."""

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


def read_settings(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the arguments of ``underfed serve`` and the environment.

    Raises:
        SettingsError: naming the argument or the variable. Arguments that argparse refuses end the process.
    """
    environ = os.environ if environ is None else environ
    arguments = _parser().parse_args(argv)
    return Settings(
        host=_host(arguments.host),
        port=_port(arguments.port),
        database_url=arguments.db or f"sqlite:///{data_dir(environ) / DATABASE_NAME}",
        token=_token(environ.get("UNDERFED_TOKEN")),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="underfed serve", description="The service and its page.")
    parser.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument("--db", metavar="URL", help="SQLAlchemy URL; default: an SQLite file in the data directory")
    return parser


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
    return token


def _is_loopback_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
