"""Keeps the windows of a token that is bound to a project in that project."""

from __future__ import annotations

from msgspec.structs import replace

from underfed_server.errors import ForbiddenError
from underfed_server.ingest.wire import Run, Window

UNNAMED = ("", "default")
"""The project of runs for which the agent was given none."""


def within(window: Window, project: str) -> Window:
    """The window with its run in ``project``: a run whose agent names no project belongs to its token's.

    Raises:
        ForbiddenError: its run names another project.
    """
    if window.run is None or window.run.project == project:
        return window
    if window.run.project not in UNNAMED:
        raise ForbiddenError(
            f"this token is for the project {project!r}, and the run says {window.run.project!r}", field="run.project"
        )
    return replace(window, run=_named(window.run, project))


def _named(run: Run, project: str) -> Run:
    """A job is ``project/name``, so it changes with the project."""
    before, slash, name = run.job.partition("/")
    job = f"{project}/{name}" if slash and before == run.project else run.job
    return replace(run, project=project, job=job)
