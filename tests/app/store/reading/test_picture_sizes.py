"""Sizes of pictures, and looks at the agent itself, are added up over ranks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_windows import made_window, posted
from tests.app.store.posting import post
from underfed_server.errors import InvalidError
from underfed_server.ingest.decode import decode
from underfed_server.model import PictureSize
from underfed_server.store.reading.stacks import read_stacks
from underfed_server.store.store import Store

SMALL = {"decoded_width": 640, "decoded_height": 480, "used_width": 224, "used_height": 224, "count": 7}
LARGE = {"decoded_width": 4000, "decoded_height": 3000, "used_width": 224, "used_height": 224, "count": 5}


def seen(sizes: list[dict[str, int]], agent_samples: int = 1) -> list[dict[str, Any]]:
    return [{"loader": "train", "picture_sizes": sizes, "agent_samples": agent_samples}]


def test_they_are_added_up_over_ranks(store: Store) -> None:
    post(store, [made_window(0, stacks=seen([SMALL, LARGE], 2))])
    post(store, [made_window(0, rank=1, stacks=seen([LARGE], 3))])
    with store.reading() as reader:
        found = read_stacks(reader.connection, "run-1", "train")
    assert found.picture_sizes == (PictureSize(**{**LARGE, "count": 10}), PictureSize(**SMALL))
    assert found.agent_samples == 5


def test_of_an_agent_that_does_not_report_any_there_are_none(store: Store) -> None:
    post(store, [made_window(0, stacks=[{"loader": "train"}])])
    with store.reading() as reader:
        found = read_stacks(reader.connection, "run-1", "train")
    assert (found.picture_sizes, found.agent_samples) == ((), 0)


@pytest.mark.parametrize(
    "wrong", [{"used_width": 0}, {"decoded_height": -1}, {"count": -1}, {"decoded_width": 1 << 40}]
)
def test_what_is_no_size_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidError) as refused:
        decode(posted(made_window(0, stacks=seen([SMALL | wrong]))))
    assert refused.value.field == f"stacks[0].picture_sizes[0].{next(iter(wrong))}"
