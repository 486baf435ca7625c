"""``/projects`` and ``/users``: what runs can be chosen by, and how long a project's steps and runs are kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictInt

from underfed_server.api.dependencies import MOST, AuthorDep, PartsDep, PermissionDep, StoreDep
from underfed_server.api.required_scope import needs
from underfed_server.errors import InvalidError
from underfed_server.model import AgedRuns, Model, ProjectInfo, ProjectRetention, UserInfo
from underfed_server.settings import LEAST_RUN_AGE_US
from underfed_server.store.columns.rounding import FEWEST_BITS, MOST_BITS
from underfed_server.store.team.retention_policy import FOR_EVER, RetentionPolicy, effective_policy

router = APIRouter()

LEAST_AGE_US = 3_600_000_000
"""Chunks span some minutes: a shorter age could not be met."""

LEAST_BYTES = 1_000_000
MOST_PREVIEWED = 50
"""Runs of each kind in a preview."""

ProjectName = Annotated[str, Path(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class RetentionWish(Model):
    """Null: the service's default. 0: no limit."""

    retain_us: StrictInt | None = Field(default=None, ge=0, le=MOST)
    max_bytes: StrictInt | None = Field(default=None, ge=0, le=MOST)
    precision_bits: StrictInt | None = Field(default=None, ge=FEWEST_BITS, le=MOST_BITS)
    """Durations are rounded to so many significant bits from now on, 8 of them to 0.4 %; null: not at all."""
    archive_after_us: StrictInt | None = Field(default=None, ge=0, le=MOST)
    """Whole runs that nobody changed for so long are archived."""
    delete_after_us: StrictInt | None = Field(default=None, ge=0, le=MOST)
    """Whole runs that nobody changed for so long are deleted. What they lost stays in the hours of week and team."""


@router.get("/projects", tags=["runs"], **needs("view"))
def projects(store: StoreDep, permission: PermissionDep) -> list[ProjectInfo]:
    """Every project with a run, by name; a token's own, where it is bound to one."""
    return store.projects(permission.projects())


@router.get("/users", tags=["runs"], **needs("view"))
def users(store: StoreDep, permission: PermissionDep) -> list[UserInfo]:
    """Everybody with a run, by name; in a token's own project, where it is bound to one."""
    return store.users(permission.projects())


@router.get("/projects/{project}/retention", tags=["projects"], **needs("view"))
def retention(project: ProjectName, parts: PartsDep) -> ProjectRetention:
    """The project's own retention, the service's default, and the storage that its runs use."""
    own, taken = parts.store.retention_policy(project)
    return ProjectRetention(
        project=project,
        default_retain_us=parts.default_policy.retain_us,
        default_max_bytes=parts.default_policy.max_bytes,
        default_archive_after_us=parts.default_policy.archive_after_us,
        default_delete_after_us=parts.default_policy.delete_after_us,
        **asdict(own),
        **asdict(taken),
    )


@router.put("/projects/{project}/retention", tags=["projects"], **needs("admin"))
def set_retention(project: ProjectName, wish: RetentionWish, parts: PartsDep, by: AuthorDep) -> ProjectRetention:
    """Replaces all that the project set before, and is in effect within a minute."""
    _require(wish.retain_us, LEAST_AGE_US, "retain_us", "an hour")
    _require(wish.max_bytes, LEAST_BYTES, "max_bytes", "a megabyte")
    policy = RetentionPolicy(**dict(wish))
    _require_ages(policy, parts.default_policy)
    parts.store.set_retention_policy(project, policy, by)
    return retention(project, parts)


@router.get("/projects/{project}/retention/preview", tags=["projects"], **needs("view"))
def preview(
    project: ProjectName,
    parts: PartsDep,
    archive_after_us: Annotated[int | None, Query(ge=0, le=MOST, description="0: never")] = None,
    delete_after_us: Annotated[int | None, Query(ge=0, le=MOST, description="0: never")] = None,
) -> AgedRuns:
    """Which whole runs would be archived and deleted now, by these ages, and where none is given by those in force.
    Nothing is changed.
    """
    own, _ = parts.store.retention_policy(project)
    asked = RetentionPolicy(archive_after_us=archive_after_us, delete_after_us=delete_after_us)
    in_force = effective_policy(own, parts.default_policy)
    _require_ages(asked, in_force)
    return parts.store.due_by_age(project, effective_policy(asked, in_force).ages, MOST_PREVIEWED)


def _require_ages(wish: RetentionPolicy, otherwise: RetentionPolicy) -> None:
    """Raises:
    InvalidError: an age of whole runs is too small to be meant, or no run would live to be archived.
    """
    for field in ("archive_after_us", "delete_after_us"):
        _require(getattr(wish, field), LEAST_RUN_AGE_US, field, "a day")
    ages = effective_policy(wish, otherwise).ages
    if ages.archived and ages.deleted and ages.deleted < ages.archived:
        raise InvalidError(
            f"delete_after_us, {ages.deleted}, is less than archive_after_us, {ages.archived}: runs would be deleted "
            "before they are archived; 0 means that none are archived",
            field="delete_after_us",
        )


def _require(wish: int | None, least: int, field: str, said: str) -> None:
    """Raises:
    InvalidError: too small to be meant; a mistaken unit would delete all steps.
    """
    if wish is not None and wish != FOR_EVER and wish < least:
        raise InvalidError(f"{field} must be at least {said}, {least}, or 0 for no limit; not {wish}", field=field)
