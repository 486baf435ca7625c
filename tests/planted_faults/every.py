"""All planted faults, part by part."""

from __future__ import annotations

from collections.abc import Mapping

from tests.planted_faults.agent import AGENT
from tests.planted_faults.alerts import ALERTS
from tests.planted_faults.api import API
from tests.planted_faults.diagnosis import DIAGNOSIS
from tests.planted_faults.fault import Fault
from tests.planted_faults.page import PAGE
from tests.planted_faults.store import STORE

PARTS: Mapping[str, tuple[Fault, ...]] = {
    "agent": AGENT,
    "store": STORE,
    "diagnosis": DIAGNOSIS,
    "API": API,
    "alerts": ALERTS,
    "page": PAGE,
}
