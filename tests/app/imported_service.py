"""What a service has imported and built before it reads its settings: the fork server that starts services for tests
imports this. It predicts gains from fewer steps: what tests ask of services that run is not how near they come.
"""

from __future__ import annotations

import os
import sys

import anyio._backends._asyncio  # noqa: F401  # at the first request
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto  # noqa: F401  # these when uvicorn starts
import uvloop  # noqa: F401
from pytest import MonkeyPatch

import underfed_server.__main__
from tests.fakes.short_predictions import short_predictions
from underfed_server import logs
from underfed_server.api import application as api

__all__ = ["underfed_server"]


del sys.modules["underfed_server.__main__"]
"""A service runs it anew, as its main module."""


def _be_another_process() -> None:
    """What each process draws for itself when it imports the service."""
    logs._PROCESS = os.urandom(4).hex()


os.register_at_fork(after_in_child=_be_another_process)

short_predictions().start()
_routes = api.skeleton()
MonkeyPatch().setattr(api, "skeleton", lambda: _routes)
for _route in _routes.routes:
    # Each works out at its first request what it takes and gives: half of what a service costs that is asked little.
    _route.matches({"type": "http", "method": "GET", "path": "/nothing", "headers": []})
