"""The real runs that stand beside the made ones: several loaders, validation, frameworks, a crash, CPUs alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from tests.recorded_runs import Window, names, windows_of

APART_H = 5


def recorded() -> Iterator[tuple[str, list[Window]]]:
    """Identities and windows. One ended every ``APART_H`` hours."""
    now = datetime.now(timezone.utc)
    for number, name in enumerate(names()):
        found = windows_of(name, ended_at=now - timedelta(hours=1 + number * APART_H))
        yield found[0]["run_id"], found
