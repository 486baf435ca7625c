"""Roll-ups: merging buckets loses nothing of what was measured, and adds nothing."""

from __future__ import annotations

import numpy as np
import pytest

from underfed_server.store.columns.ladder import summarise, total
from underfed_server.store.columns.lanes import steps_lane

NAN = float("nan")


@pytest.mark.parametrize("step_us", [[5.0, 7.0, NAN, NAN], [NAN, NAN, 7.0, 5.0], [NAN, 5.0, 7.0, NAN]])
def test_what_was_not_measured_changes_nothing_of_the_bucket_it_is_merged_into(step_us: list[float]) -> None:
    index = np.arange(4.0)
    columns = {"start_us": 10 * index, "step_us": np.array(step_us)}
    merged = total(summarise(steps_lane("train"), columns, index, [0, 2]))
    stat = merged.stats["step_us"]
    assert (merged.rows[0], stat.count[0], stat.sum[0], stat.min[0], stat.max[0]) == (4, 2, 12, 5, 7)
