"""``/projects/{project}/retention``: how long and how exactly the single steps of a project's runs are kept."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from underfed_server.api.given import ALLOWED, GivenParts
from underfed_server.errors import InvalidError
from underfed_server.model import ProjectRetention
from underfed_server.store.columns.rounding import FEWEST_BITS, MOST_BITS
from underfed_server.store.team.keeping import FOR_EVER, Keeping

router = APIRouter(tags=["projects"], dependencies=ALLOWED)

LEAST_AGE_US = 3_600_000_000
"""Chunks span some minutes: a shorter age could not be kept to."""

LEAST_BYTES = 1_000_000
MOST = 2**53
"""The largest integer that every JSON reader has exactly."""

ProjectName = Annotated[str, Path(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class RetentionWish(BaseModel):
    """Null: as the service was told for all. 0: for ever, and of any size."""

    model_config = ConfigDict(extra="forbid")

    retain_us: StrictInt | None = Field(default=None, ge=0, le=MOST)
    max_bytes: StrictInt | None = Field(default=None, ge=0, le=MOST)
    precision_bits: StrictInt | None = Field(default=None, ge=FEWEST_BITS, le=MOST_BITS)
    """Durations are rounded to so many significant bits from now on, 8 of them to 0.4 %; null: not at all."""


@router.get("/projects/{project}/retention")
def retention(project: ProjectName, parts: GivenParts) -> ProjectRetention:
    """What the project set, what holds where it set nothing, and what its runs take."""
    own, taken = parts.store.keeping(project)
    return ProjectRetention(
        project=project,
        retain_us=own.retain_us,
        max_bytes=own.max_bytes,
        precision_bits=own.precision_bits,
        default_retain_us=parts.keeping.retain_us,
        default_max_bytes=parts.keeping.max_bytes,
        row_bytes=taken.row_bytes,
        ladder_bytes=taken.ladder_bytes,
        given_up_at=taken.given_up_at,
    )


@router.put("/projects/{project}/retention")
def set_retention(project: ProjectName, wish: RetentionWish, parts: GivenParts) -> ProjectRetention:
    """In place of all that the project set before; rows that are beyond it are given up within a minute."""
    _require(wish.retain_us, LEAST_AGE_US, "retain_us", "an hour")
    _require(wish.max_bytes, LEAST_BYTES, "max_bytes", "a megabyte")
    parts.store.keep(project, Keeping(wish.retain_us, wish.max_bytes, wish.precision_bits))
    return retention(project, parts)


def _require(wish: int | None, least: int, field: str, said: str) -> None:
    """Raises:
    InvalidError: a slip of units would cost all steps.
    """
    if wish is not None and wish != FOR_EVER and wish < least:
        raise InvalidError(f"{field} must be at least {said}, {least}, or 0 for no limit; not {wish}", field=field)
