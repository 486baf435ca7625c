"""The page asks for metrics that there are: one that is refused would leave a page without any chart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from underfed_server.measurements import METRICS

DECLARED = Path(__file__).parents[2] / "frontend" / "src" / "charts" / "declared"


@pytest.mark.parametrize("page", ["run", "compare"])
def test_the_service_knows_each_metric(page: str) -> None:
    asked = set(re.findall(r"\bmetric: '(\w+)'", (DECLARED / f"{page}.ts").read_text()))
    assert len(asked) > 3
    assert asked <= METRICS.keys()
