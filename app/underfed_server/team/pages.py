"""Pages of all runs at once, as the JSON that is served. Each can be sent to another process with the same database."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from underfed_server.names import Projects
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.store import Store
from underfed_server.team.lost_hours import read_team

Page = Callable[[Store], bytes]
"""Writes it."""

Pages = Callable[[Store, Page], bytes]
"""Has it written. Raises what the page raises."""


def write_here(store: Store, page: Page) -> bytes:
    """By the thread that asks."""
    return page(store)


def runs_page(asked: RunFilter) -> Page:
    """As :meth:`Store.runs`."""
    return partial(_runs, asked)


def jobs_page(asked: RunFilter) -> Page:
    """As :meth:`Store.jobs`."""
    return partial(_jobs, asked)


def team_page(projects: Projects) -> Page:
    """As :func:`read_team`."""
    return partial(_team, projects)


def _runs(asked: RunFilter, store: Store) -> bytes:
    return store.runs(asked)


def _jobs(asked: RunFilter, store: Store) -> bytes:
    return store.jobs(asked)


def _team(projects: Projects, store: Store) -> bytes:
    return read_team(store, projects).model_dump_json(by_alias=True).encode()
