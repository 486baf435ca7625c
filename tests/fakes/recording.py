"""A run of the test's own process, with a service of its own, where the run of one test is not what is looked at."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import underfed
from tests.fakes.service import Service, running_service, wait_until
from underfed.trainer import control


@contextmanager
def recording() -> Iterator[Service]:
    """Recorded until the block is left: then everything has arrived. ``control.watch_all()`` holds until then."""
    run_id = f"test-{uuid.uuid4().hex[:12]}"
    rings = Path("/dev/shm") / run_id
    rings.mkdir(mode=0o700)
    with running_service() as service, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("UNDERFED_")]:
            patch.delenv(name)
        patch.setenv("UNDERFED_STRICT", "1")
        patch.setenv("UNDERFED_RUN_ID", run_id)
        patch.setenv("UNDERFED_DIR", str(rings))
        patch.setenv("UNDERFED_RINGS", str(rings))
        patch.setenv("UNDERFED_URL", service.url)
        patch.setenv("UNDERFED_LINGER_S", "60")
        patch.setattr(control._state, "watches_all", False)  # as before, when this ends
        yield service
        underfed.finish()
        wait_until(service.ends, "the end arrives")
    shutil.rmtree(rings, ignore_errors=True)
