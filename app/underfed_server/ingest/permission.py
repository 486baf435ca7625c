"""What the sender of a request may do: in every project or in some, and the token or the person that it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import get_args

from underfed_server.errors import ForbiddenError, InvalidError
from underfed_server.model import Scope

SCOPES: tuple[Scope, ...] = get_args(Scope)
ALL = frozenset(SCOPES)

GIVEN_BY: Mapping[Scope, frozenset[Scope]] = {
    "ingest": frozenset({"ingest", "admin"}),
    "view": frozenset({"view", "edit", "admin"}),
    "edit": frozenset({"edit", "admin"}),
    "admin": frozenset({"admin"}),
}
"""By scope: those that include it."""

_FOR: Mapping[Scope, str] = {
    "ingest": "send windows",
    "view": "read",
    "edit": "change names, tags, notes, views, or what is archived",
    "admin": "delete or restore runs, or to see or change tokens, alerts, retention",
}


ONLY_OWNER = (
    "only the owner of this service may change something: open the link that `underfed serve` printed, or "
    "sign in with the token in the file `owner-token` of its data directory"
)

NOT_KNOWN = "this token is not known here: it is wrong, was revoked, or has expired"

MOST_NAMED = 3
"""Of projects in a refusal."""


@dataclass(frozen=True, slots=True)
class Permission:
    """Permission of one request."""

    scopes: frozenset[Scope]
    """What it may do in every project."""
    in_projects: Mapping[str, frozenset[Scope]] = field(default_factory=dict)
    """What it may do beyond that, by project."""
    token_id: str | None = None
    """The token that it comes from; ``None``: it comes from an address or a proxy instead."""
    session: bytes | None = None
    """Digest of the secret of the browser's session."""
    user: str | None = None
    """The user as the proxy in front of the service names them."""
    expires_at: datetime | None = None

    def projects(self, scope: Scope = "view") -> frozenset[str] | None:
        """Where it has the scope; ``None``: in every project."""
        if GIVEN_BY[scope] & self.scopes:
            return None
        return frozenset(project for project, scopes in self.in_projects.items() if GIVEN_BY[scope] & scopes)

    def has(self, scope: Scope, project: str) -> bool:
        return is_among(project, self.projects(scope))

    def has_anywhere(self, scope: Scope) -> bool:
        return self.projects(scope) != frozenset()

    def opens(self, project: str) -> bool:
        """Whether it may read what is of the project."""
        return self.has("view", project)

    def require(self, scope: Scope, project: str | None = None) -> None:
        """``project``: which it is about, where that is known and the sender sees it.

        Raises:
            ForbiddenError: it has the scope in no project.
        """
        if not self.has_anywhere(scope):
            raise self._refusal(scope, project)

    def require_in(self, scope: Scope, project: str | None) -> None:
        """``None``: of what belongs to no project, and takes the scope in all.

        Raises:
            ForbiddenError: it does not have the scope there.
        """
        projects = self.projects(scope)
        if projects is None or project in projects:
            return
        if project is None:
            raise ForbiddenError(
                f"this takes the scope {scope!r} in every project; {self._who} has {self._held()}", field="project"
            )
        raise self._refusal(scope, project)

    def home(self, scope: Scope, named: str | None) -> str | None:
        """The project of something new: the named one, else the only one in which it has the scope; ``None``: of all.

        Raises:
            ForbiddenError: it does not have the scope in the named one.
            InvalidError: none is named, and there are several.
        """
        projects = self.projects(scope)
        if named is None and projects is not None:
            if len(projects) != 1:
                raise InvalidError(f"project: name one of {', '.join(sorted(projects))}", field="project")
            return next(iter(projects))
        self.require_in(scope, named)
        return named

    def _refusal(self, scope: Scope, project: str | None) -> ForbiddenError:
        if self is OPEN:
            return ForbiddenError(ONLY_OWNER, field=scope)
        where = "" if project is None else f" in {project!r}"
        return ForbiddenError(
            f"the scope {scope!r}{where} is needed to {_FOR[scope]}; {self._who} has {self._held(project)}",
            field=scope,
        )

    @property
    def _who(self) -> str:
        return "this token" if self.user is None else self.user

    def _held(self, project: str | None = None) -> str:
        """``view``, ``view in 'vision'``, ``view, and edit in 'speech' and 2 more projects``; of a project what it has
        there."""
        if project is not None and project in self.in_projects:
            return f"{' and '.join(sorted(self.scopes | self.in_projects[project]))} in {project!r}"
        by_scopes: dict[str, list[str]] = {}
        for each, scopes in sorted(self.in_projects.items()):
            by_scopes.setdefault(" and ".join(sorted(scopes)), []).append(each)
        parts = [f"{scopes} in {_listed(projects)}" for scopes, projects in by_scopes.items() if scopes]
        if self.scopes:
            parts.insert(0, " and ".join(sorted(self.scopes)))
        return ", and ".join(parts) or "none"


def _listed(projects: list[str]) -> str:
    more = f" and {len(projects) - MOST_NAMED} more projects" if len(projects) > MOST_NAMED else ""
    return ", ".join(map(repr, projects[:MOST_NAMED])) + more


def is_among(project: str, projects: Collection[str] | None) -> bool:
    """``None``: every project."""
    return projects is None or project in projects


def of_token(
    scopes: Collection[Scope], project: str | None, token_id: str, expires_at: datetime | None = None
) -> Permission:
    """``project``: the only one that it opens; ``None``: all."""
    held = frozenset(scopes)
    if project is None:
        return Permission(held, token_id=token_id, expires_at=expires_at)
    return Permission(frozenset(), {project: held}, token_id, expires_at=expires_at)


OPEN = Permission(frozenset({"ingest", "view"}))
"""Of whoever is on the machine of a service that asks nobody for a token."""

NOTHING = Permission(frozenset())
