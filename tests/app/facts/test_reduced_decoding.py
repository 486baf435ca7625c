"""From which size on a picture is worth decoding smaller, by what was seen of sizes."""

from __future__ import annotations

import pytest

from tests.app.made_loading import resized
from underfed_server.facts.reduced_decoding import reduction_of

USED = (224, 224)


@pytest.mark.parametrize(("decoded", "by"), [
    ((4000, 3000), 8), ((1792, 1792), 8), ((1791, 1792), 4), ((4000, 500), 2), ((448, 448), 2), ((447, 600), None),
    ((100, 100), None),
])  # fmt: skip
def test_what_is_used_stays_as_large(decoded: tuple[int, int], by: int | None) -> None:
    found = reduction_of([resized(decoded, USED, 10)])
    assert (found and found.by) == by


def test_crops_of_which_some_are_small_are_reduced_by_what_nearly_all_bear() -> None:
    large, small = resized((2000, 2000), USED, 60), resized((500, 500), USED, 35)
    found = reduction_of([large, small, resized((200, 200), USED, 5)])
    assert found is not None
    assert (found.by, found.fraction, found.most) == (2, 0.95, large)
    assert reduction_of([large, small, resized((200, 200), USED, 20)]) is None


def test_a_few_looks_say_nothing() -> None:
    assert reduction_of([resized((4000, 3000), USED, 9)]) is None
    assert reduction_of([]) is None
