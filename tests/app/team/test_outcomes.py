"""Hit rates: misses count, unpredicted gains count as proven only, and each later run counts once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_entry
from underfed_server.model import LedgerEntry
from underfed_server.team.outcomes import hit_rates


def entry(observed: float, inside: bool | None, **changes: Any) -> LedgerEntry:
    return made_entry("r", observed).model_copy(update={"inside_interval": inside, "cause": "no_workers", **changes})


def test_misses_and_hits_are_counted_for_each_cause_and_change() -> None:
    rates = hit_rates(
        [
            entry(1.6, True),
            entry(1.2, False),
            entry(2.0, True, cause="storage_wait", change="tmpfs"),
            entry(1.3, None, predicted_speedup=None, cause=None, change="vectorize_collate"),
        ]
    )
    rows = [(rate.cause, rate.change, rate.proven, rate.predicted, rate.inside) for rate in rates]
    assert rows == [
        (None, None, 4, 3, 2),
        ("no_workers", None, 2, 2, 1),
        ("storage_wait", None, 1, 1, 1),
        (None, "num_workers", 2, 2, 1),
        (None, "tmpfs", 1, 1, 1),
        (None, "vectorize_collate", 1, 0, 0),
    ]
    assert rates[0].median_error == pytest.approx(0.25)
    assert rates[-1].median_error is None


def test_an_interval_too_wide_to_be_missed_is_not_hit_but_may_be_missed() -> None:
    wide = LedgerEntry.model_validate(dict(made_entry("r", 1.6)) | {"low": 1.1, "high": 2.4})
    assert not wide.is_narrow
    inside, outside = (wide.model_copy(update={"inside_interval": is_inside}) for is_inside in (True, False))
    (rates, *_) = hit_rates([entry(1.6, True), inside, outside])
    assert (rates.proven, rates.predicted, rates.inside) == (3, 2, 1)


def test_without_a_proof_there_is_no_rate() -> None:
    assert hit_rates([]) == []
