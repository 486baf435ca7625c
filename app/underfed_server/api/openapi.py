"""Writes the API's description, from which the page's types are made.

Run it as ``python -m underfed_server.api.openapi > frontend/openapi.json``.
"""

from __future__ import annotations

import json
import sys

from underfed_server.api.application import skeleton


def description() -> str:
    """As a service of this version serves it at ``/api/v1/openapi.json``, indented."""
    return json.dumps(skeleton().openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(description())
