"""The file that says what groups of people, as a proxy names them, may do in which projects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from underfed_server.errors import SettingsError
from underfed_server.model import Scope

ALL_PROJECTS = "*"

SCOPES_OF_PEOPLE: Mapping[str, Scope] = {"view": "view", "edit": "edit", "admin": "admin"}
"""Windows are sent by agents, each with a token of its own."""

ProxyGroups = Mapping[str, Mapping[str, Scope]]
"""By group: what its members may do, by project, or in :data:`ALL_PROJECTS`."""

MOST_BYTES = 1_000_000


def read_proxy_groups(path: Path) -> ProxyGroups:
    """``{"vision team": {"vision": "edit", "shared": "view"}, "leads": {"*": "admin"}}``.

    Raises:
        SettingsError: the file cannot be read, or not all of it can be understood.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"--proxy-groups: {path} cannot be read: {error.strerror}") from error
    if len(text) > MOST_BYTES:
        raise _wrong(path, f"it is larger than {MOST_BYTES // 1_000_000} MB")
    try:
        said = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, str(error)) from error
    if not isinstance(said, dict) or not said:
        raise _wrong(path, "it names no group")
    return {_group(path, group): _projects(path, group, projects) for group, projects in said.items()}


def in_words(groups: ProxyGroups) -> dict[str, str]:
    """By group: ``shared: view, vision: edit``, as the audit log has it."""
    return {
        group: ", ".join(f"{project}: {scope}" for project, scope in sorted(projects.items()))
        for group, projects in sorted(groups.items())
    }


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Raises:
    ValueError: a name stands there twice, of which the parser would drop one.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands there twice")
    return found


def _group(path: Path, group: str) -> str:
    if not group.strip() or group != group.strip() or "," in group or not group.isprintable():
        raise _wrong(path, f"{group!r} is no group that a header can name: it has no comma, and no space at its ends")
    return group


def _projects(path: Path, group: str, projects: object) -> Mapping[str, Scope]:
    if not isinstance(projects, dict) or not projects:
        raise _wrong(path, f'the group {group!r} needs projects, as in {{"vision": "edit"}} or {{"*": "view"}}')
    return {_project(path, project): _scope(path, group, scope) for project, scope in projects.items()}


def _project(path: Path, project: str) -> str:
    if not project or len(project) > 500 or "\x00" in project:
        raise _wrong(path, f"{project[:50]!r} is the name of no project")
    if project != ALL_PROJECTS and ALL_PROJECTS in project:
        raise _wrong(path, f"{project!r} is no pattern: a project is named whole, or all are by {ALL_PROJECTS!r}")
    return project


def _scope(path: Path, group: str, scope: object) -> Scope:
    known = SCOPES_OF_PEOPLE.get(scope) if isinstance(scope, str) else None
    if known is None:
        raise _wrong(path, f"the group {group!r} may be given {', '.join(SCOPES_OF_PEOPLE)}, not {scope!r}")
    return known


def _wrong(path: Path, why: str) -> SettingsError:
    return SettingsError(f"--proxy-groups: {path} cannot be understood: {why}")
