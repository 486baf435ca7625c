"""``/compare``: several runs against the first of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from underfed_server.api.dependencies import ALLOWED, StoreDep
from underfed_server.comparison.side_by_side import read_comparison
from underfed_server.errors import InvalidError
from underfed_server.model import MOST_COMPARED, Comparison

router = APIRouter(tags=["runs"], dependencies=ALLOWED)


@router.get("/compare")
def compare(
    store: StoreDep,
    run_id: Annotated[
        list[str],
        Query(min_length=2, max_length=MOST_COMPARED, description="The first is the baseline of all others"),
    ],
) -> Comparison:
    """How fast each run is compared with the first, why, which settings differ, and what makes them hard to compare."""
    if len(set(run_id)) < len(run_id):
        raise InvalidError("run_id: a run was given twice", field="run_id")
    return read_comparison(store, run_id)
