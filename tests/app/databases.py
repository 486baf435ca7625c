"""Databases for tests, each a copy: of one with the tables of this version, or of one that a module filled."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.fakes import postgresql


class Databases(Protocol):
    """Creates databases of one kind; all of them are dropped when :meth:`drop` returns."""

    def new(self, directory: Path) -> str:
        """The URL of a database without rows. A file is ``directory/underfed.db``."""

    def copy(self, url: str, directory: Path) -> str:
        """The URL of a copy of ``url``, which no process has open."""

    def drop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Files:
    """SQLite's."""

    template: Path

    def new(self, directory: Path) -> str:
        return self.copy(f"sqlite:///{self.template}", directory)

    def copy(self, url: str, directory: Path) -> str:
        file = directory / "underfed.db"
        shutil.copy(url.removeprefix("sqlite:///"), file)
        return f"sqlite:///{file}"

    def drop(self) -> None:
        """Files are deleted with their directories."""


@dataclass(frozen=True, slots=True)
class OnServer:
    """PostgreSQL's."""

    server: postgresql.Server
    _urls: list[str] = field(default_factory=list)

    def new(self, directory: Path) -> str:
        return self._made(postgresql.TEMPLATE)

    def copy(self, url: str, directory: Path) -> str:
        return self._made(url)

    def _made(self, template: str) -> str:
        self._urls.append(self.server.make(template))
        return self._urls[-1]

    def drop(self) -> None:
        while self._urls:
            self.server.drop(self._urls.pop())
