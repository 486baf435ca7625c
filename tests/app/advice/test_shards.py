"""Advice where a data set's shards are fewer than workers: no more workers than it has shards, or more shards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.advice.made_case import altered, changes, made_case, made_verdict, of, recommended, refused
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import starved
from underfed_server.advice.advise import recommend
from underfed_server.facts.record import RunFacts


def sharded(loading: int, workers: int, **known: Any) -> RunFacts:
    """``loading`` of its workers load, each batch blocked for 80 ms beside 20 ms of work."""
    facts = Played(load_ms=80, work_ms=20, num_workers=loading).facts(is_iterable=True, usable_cores=8.0)
    return altered(facts, settings={"num_workers": workers}, loader={"takes_whole_shards": True, **known})


def test_more_shards_gain_what_the_workers_that_have_none_would_load() -> None:
    best = recommended(sharded(2, 4, dataset_shards=2), few_shards=0.5).advice[0]
    assert (best.change, best.from_, best.to) == ("more_shards", 2, 4)
    assert best.predicted_speedup == pytest.approx(40 / 20, rel=0.1)
    assert best.settings == {}
    assert best.changes_batch_order


@pytest.mark.parametrize("shards", [2, None])
def test_no_worker_is_advised_that_would_have_no_shard(shards: int | None) -> None:
    found = recommended(sharded(2, 4, dataset_shards=shards), few_shards=0.5)
    assert "num_workers" not in changes(found)
    reason = refused("num_workers", found).why
    assert ("The data set has 2 shards" if shards else "Only 2 of 4 workers") in reason


def test_workers_are_advised_up_to_the_number_of_shards() -> None:
    known = {"takes_whole_shards": True, "dataset_shards": 2}
    facts = altered(starved(is_iterable=True), loader=known)
    assert of("num_workers", recommended(facts, no_workers=0.7)).to == 2
    divided = altered(facts, loader={"takes_whole_shards": False})
    assert of("num_workers", recommended(divided, no_workers=0.7)).to == 3


def test_where_each_shard_has_its_worker_more_of_both_are_advised() -> None:
    found = recommended(sharded(2, 2, dataset_shards=2), too_few_workers=0.5)
    best = of("more_shards", found)
    assert best.to == 4
    assert best.predicted_speedup == pytest.approx(2.0, rel=0.1)
    assert "The data set has 2 shards" in refused("num_workers", found).why


def test_shards_are_left_alone_where_there_are_enough_or_samples_are_shared_out() -> None:
    for known in ({"dataset_shards": 64}, {"dataset_shards": 2, "takes_whole_shards": False}):
        found = recommended(sharded(2, 2, **known), too_few_workers=0.5)
        assert "more_shards" not in changes(found)
        assert of("num_workers", found).to == 4


def test_the_lines_for_more_shards_are_those_of_the_package() -> None:
    names = {"IterableDataset": "to_iterable_dataset(num_shards=4)", "WebDataset": "ShardWriter", "Mine": "Iterable"}
    for name, words in names.items():
        facts = sharded(2, 4, dataset_shards=2, dataset_type=name)
        assert words in recommend(made_case(facts, made_verdict(few_shards=0.5))).advice[0].diff
