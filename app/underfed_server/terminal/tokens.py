"""``underfed token``: creates, lists and revokes the tokens of a service, or of its database while no service runs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from underfed_server.errors import SettingsError
from underfed_server.ingest.permission import SCOPES
from underfed_server.model import TokenInfo, TokenList, TokenMade
from underfed_server.store.runs.audit_log import Author
from underfed_server.store.store import Store
from underfed_server.store.team import access_tokens
from underfed_server.terminal.client import client_from_environment
from underfed_server.terminal.console import Answer, print_answer

_TYPED = ("name", "scopes", "project")
OPERATOR = Author("underfed token --db")
"""In the audit log: whoever can open the database itself."""

UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Tokens(Protocol):
    """The tokens of a running service, or of a database that no service has open."""

    def tokens(self) -> TokenList: ...
    def make_token(self, asked: dict[str, Any]) -> TokenMade: ...
    def revoke_token(self, token_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class StoredTokens:
    """Straight from the tables: for an operator who lost the last token and can open the database."""

    store: Store

    def tokens(self) -> TokenList:
        with self.store.reading() as reader:
            return TokenList(tokens=access_tokens.list_tokens(reader.connection))

    def make_token(self, asked: dict[str, Any]) -> TokenMade:
        said = {**asked, "expires_at": asked["expires_at"] and datetime.fromisoformat(asked["expires_at"])}
        return self.store.write(
            lambda connection: access_tokens.make_token(connection, now=self.store.now(), by=OPERATOR, **said)
        )

    def revoke_token(self, token_id: str) -> None:
        self.store.write(
            lambda connection: access_tokens.revoke_token(connection, token_id, self.store.now(), by=OPERATOR)
        )


def token(argv: Sequence[str]) -> int:
    """Create, list and revoke the access tokens of a service."""
    arguments = _parser().parse_args(argv)

    def find() -> Answer:
        with _opened(arguments.db) as tokens:
            model, shown = _done(arguments, tokens)
        return model, lambda: shown

    return print_answer(find, as_json=arguments.json, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="underfed token", description=token.__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print the API's object")
    shared.add_argument(
        "--db", metavar="URL", help="open this database instead of asking the service, as for `underfed serve`"
    )
    does = parser.add_subparsers(dest="does", metavar="create|list|revoke", required=True)
    create = does.add_parser("create", parents=[shared], help="create one and print it: it cannot be read again")
    create.add_argument("--name", required=True, help="what or whom the token is for")
    create.add_argument(
        "--scope",
        required=True,
        help=f"what the token may do: {', '.join(SCOPES)}; several with commas, admin may do all",
    )
    create.add_argument("--project", help="the only project that it opens (default: all)")
    create.add_argument(
        "--expires", metavar="AGE", help="after which it expires, as in 12h, 90d or 8w (default: never)"
    )
    does.add_parser("list", parents=[shared], help="all tokens, the newest first")
    revoke = does.add_parser("revoke", parents=[shared], help="end a token, and the browser sessions opened with it")
    revoke.add_argument("token_id", metavar="ID", help="as `underfed token list` shows it")
    return parser


@contextmanager
def _opened(database_url: str | None) -> Iterator[Tokens]:
    """Raises:
    StartError: a service uses the database, and has to be asked instead.
    """
    if database_url is None:
        yield client_from_environment()
        return
    store = Store(database_url)
    try:
        yield StoredTokens(store)
    finally:
        store.close()


def _done(arguments: argparse.Namespace, tokens: Tokens) -> tuple[BaseModel | None, RenderableType]:
    """The API's object, and the text for a person."""
    if arguments.does == "list":
        found = tokens.tokens()
        return found, _table(found.tokens)
    if arguments.does == "revoke":
        tokens.revoke_token(arguments.token_id)
        return None, Text(f"Token {arguments.token_id} is revoked, and is refused within a second.")
    made = tokens.make_token(
        {
            "name": arguments.name,
            "scopes": _scopes(arguments.scope),
            "project": arguments.project,
            "expires_at": _expiry(arguments.expires),
        }
    )
    return made, Group(
        Text(made.token), Text(f"It is shown this once. To revoke it: underfed token revoke {made.token_id}")
    )


def _scopes(text: str) -> list[str]:
    asked = [part for each in text.split(",") if (part := each.strip())]
    unknown = [each for each in asked if each not in SCOPES]
    if unknown or not asked:
        raise SettingsError(f"--scope must be of {', '.join(SCOPES)}, not {text!r}")
    return list(dict.fromkeys(asked))


def _expiry(text: str | None) -> str | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,4})([hdw])", text)
    if found is None:
        raise SettingsError(f"--expires must be a number of hours, days or weeks such as 12h, 90d or 8w, not {text!r}")
    return (datetime.now(timezone.utc) + int(found[1]) * UNITS[found[2]]).isoformat()


def _table(tokens: Sequence[TokenInfo]) -> RenderableType:
    if not tokens:
        return Text("No token yet: create one with underfed token create.")
    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for name in ("id", "name", "scopes", "project", "created", "expires", "last used", "state"):
        # What people wrote may take several lines, what they copy may not.
        table.add_column(name, no_wrap=name not in _TYPED, overflow="fold")
    for each in tokens:
        dates = (_written(each.made_at), _written(each.expires_at), _written(each.last_used_at, "%Y-%m-%d %H:%M"))
        project = "all" if each.project is None else each.project
        cells = (each.token_id, each.name, ", ".join(each.scopes), project, *dates, _state(each))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _written(at: datetime | None, form: str = "%Y-%m-%d") -> str:
    return "–" if at is None else f"{at:{form}}"


def _state(one: TokenInfo) -> str:
    if one.revoked_at is not None:
        return "revoked"
    return "expired" if one.expires_at is not None and one.expires_at <= datetime.now(timezone.utc) else "valid"
