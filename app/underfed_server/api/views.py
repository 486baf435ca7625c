"""``/views``: lists of runs that were given a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import StringConstraints

from underfed_server.api.dependencies import AuthorDep, PermissionDep, StoreDep
from underfed_server.api.required_scope import needs
from underfed_server.api.runs import WITHOUT_NUL
from underfed_server.errors import NotFoundError
from underfed_server.ingest.permission import Permission
from underfed_server.model import ErrorBody, Model, View
from underfed_server.store.store import Store

router = APIRouter(prefix="/views", tags=["runs"])

Name = Annotated[str, StringConstraints(max_length=100, min_length=1, strip_whitespace=True, pattern=WITHOUT_NUL)]
Query = Annotated[str, StringConstraints(max_length=4_000, pattern=WITHOUT_NUL)]
Project = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=WITHOUT_NUL)]
TAKEN = {"model": ErrorBody, "description": "There is another one of this name"}


class NewView(Model):
    name: Name
    query: Query
    """Of the address of the list, without the question mark: filter, sorting, columns and grouping."""
    project: Project | None = None
    """Whose readers see it; null: of the only project that the caller may edit, or of all."""


class ViewChanges(Model):
    """Only what is given is changed."""

    name: Name = ""
    query: Query = ""


@router.get("", **needs("view"))
def views(store: StoreDep, permission: PermissionDep) -> list[View]:
    """By name; who sees some projects alone sees those of these projects."""
    return store.views(permission.projects())


@router.post("", status_code=201, responses={409: TAKEN}, **needs("edit"))
def make(new: NewView, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> View:
    """Save a list of runs under a name, for all who see the same runs."""
    return store.make_view(new.name, new.query, permission.home("edit", new.project), by)


@router.patch("/{view_id}", responses={409: TAKEN}, **needs("edit"))
def change(view_id: str, changes: ViewChanges, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> View:
    """Rename a view, or have it name another list."""
    return store.change_view(view_id, changes.model_dump(exclude_unset=True), _whose(view_id, store, permission), by)


@router.delete("/{view_id}", status_code=204, **needs("edit"))
def delete(view_id: str, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Delete a view; runs stay as they are."""
    store.delete_view(view_id, _whose(view_id, store, permission), by)


def _whose(view_id: str, store: Store, permission: Permission) -> str | None:
    """The project of a view that may be changed.

    Raises:
        NotFoundError: there is no such view. ForbiddenError: it may be seen and not changed.
    """
    found = next((view for view in store.views(permission.projects()) if view.view_id == view_id), None)
    if found is None:
        raise NotFoundError(f"there is no view {view_id!r}", field="view_id")
    permission.require_in("edit", found.project)
    return found.project
