"""Growth of memory, distinguished from jitter, jumps and too short a look."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from underfed_server.facts.growth import SOON_US, growth_per_hour, is_growing

HOUR_US = 3_600_000_000
BYTES = 500_000_000.0


def seconds(count: int) -> NDArray[np.float64]:
    return np.arange(count, dtype=np.float64) * 1e6


@pytest.mark.parametrize("samples", [301, 600, 3_600])
def test_a_leak_is_measured_in_bytes_an_hour(samples: int) -> None:
    at_us = seconds(samples)
    leak = BYTES + 1.2e9 * at_us / HOUR_US
    assert growth_per_hour(at_us, leak) == pytest.approx(1.2e9)
    assert is_growing(at_us, leak) is True


def test_start_up_and_spikes_do_not_count() -> None:
    at_us = seconds(600)
    values = np.where(at_us < 60e6, BYTES * at_us / 60e6, BYTES)
    values[::7] *= 3
    slope = growth_per_hour(at_us, values)
    assert slope is not None and abs(slope) < 0.01 * BYTES
    assert is_growing(at_us, values) is False


@pytest.mark.parametrize("seed", range(5))
def test_jitter_is_no_growth_however_short_the_look(seed: int) -> None:
    at_us = seconds(301)
    jitter = BYTES * (1 + np.random.default_rng(seed).normal(0, 0.005, 301))
    assert is_growing(at_us, jitter) is False


def test_a_hundredth_more_is_no_growth_however_steep() -> None:
    """Allocators take and give back as much at any time."""
    at_us = seconds(3_600)
    leak = BYTES * (1 + 0.15 * at_us / HOUR_US)
    assert is_growing(at_us[:301], leak[:301]) is False
    assert is_growing(at_us, leak) is True


def test_less_than_five_minutes_say_nothing_of_an_hour() -> None:
    at_us = seconds(300)
    assert growth_per_hour(at_us, at_us) is None
    assert is_growing(at_us, at_us) is None
    assert is_growing(at_us, at_us, SOON_US) is True, "but that it grows at present"


def test_what_fills_up_and_then_rests_does_not_grow() -> None:
    """Pages that workers copy in their first epoch, caches: half of the look is as steep as a leak."""
    at_us = seconds(600)
    filled = BYTES + 1e6 * np.minimum(at_us, 330e6) / 1e6
    assert is_growing(at_us, filled) is False
    assert is_growing(at_us, BYTES + 1e6 * at_us / 1e6) is True


def test_samples_that_were_not_taken_are_left_out() -> None:
    at_us = seconds(600)
    values = np.where(np.arange(600) % 10 == 0, BYTES + at_us, np.nan)
    assert growth_per_hour(at_us, values) == pytest.approx(HOUR_US)
    assert growth_per_hour(at_us, np.full(600, np.nan)) is None


def test_what_stays_at_0_does_not_grow() -> None:
    at_us = seconds(600)
    assert is_growing(at_us, np.zeros(600)) is False
    assert is_growing(at_us, np.where(at_us < 300e6, 0.0, at_us)) is True
