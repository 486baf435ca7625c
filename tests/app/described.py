"""The API's description as it is committed, which a test holds to what the service serves.

To make it takes a second of CPU time, in each process that collects tests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parents[2] / "frontend" / "openapi.json"
DESCRIBED: dict[str, Any] = json.loads(COMMITTED.read_text())
PATHS: dict[str, Any] = DESCRIBED["paths"]
"""By path and method."""
