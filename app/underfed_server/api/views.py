"""``/views``: lists of runs that were given a name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StringConstraints

from underfed_server.api.dependencies import ALLOWED, AuthorDep, PermissionDep, StoreDep
from underfed_server.api.runs import WITHOUT_NUL
from underfed_server.model import ErrorBody, View

router = APIRouter(prefix="/views", tags=["runs"], dependencies=ALLOWED)

Name = Annotated[str, StringConstraints(max_length=100, min_length=1, strip_whitespace=True, pattern=WITHOUT_NUL)]
Query = Annotated[str, StringConstraints(max_length=4_000, pattern=WITHOUT_NUL)]
TAKEN = {"model": ErrorBody, "description": "There is another one of this name"}


class NewView(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    query: Query
    """Of the address of the list, without the question mark: filter, sorting, columns and grouping."""


class ViewChanges(BaseModel):
    """Only what is given is changed."""

    model_config = ConfigDict(extra="forbid")

    name: Name = ""
    query: Query = ""


@router.get("")
def views(store: StoreDep, permission: PermissionDep) -> list[View]:
    """By name; a token that is bound to a project sees those of the project."""
    return store.views(permission.project)


@router.post("", status_code=201, responses={409: TAKEN})
def make(new: NewView, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> View:
    """Save a list of runs under a name, for all who see the same runs."""
    return store.make_view(new.name, new.query, permission.project, by)


@router.patch("/{view_id}", responses={409: TAKEN})
def change(view_id: str, changes: ViewChanges, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> View:
    """Rename a view, or have it name another list."""
    return store.change_view(view_id, changes.model_dump(exclude_unset=True), permission.project, by)


@router.delete("/{view_id}", status_code=204)
def delete(view_id: str, store: StoreDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Delete a view; runs stay as they are."""
    store.delete_view(view_id, permission.project, by)
