"""A run is read from what was decoded of it before: whatever came meanwhile, that is what reading it anew finds."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import made_stream
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.facts.condense import condense
from underfed_server.store.reading.tracks import Chunks, Rollups
from underfed_server.store.runs.removal import KEEP_DELETED
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import Tails

pytestmark = on_sqlite_alone


class Growing:
    """A run of two ranks to which something happens again and again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.incarnations = [1, 1]
        self.streams = [self.stream(rank) for rank in (0, 1)]

    def stream(self, rank: int) -> Any:
        started_at = f"2026-11-20T10:{self.incarnations[rank]:02}:00Z"
        changes = {"rank": rank, "incarnation": self.incarnations[rank], "started_at": started_at}
        return made_stream(1_000, steps=7, seed=rank, **changes)

    def window(self, rank: int) -> None:
        post(self.store, [next(self.streams[rank])])

    def compaction(self, rank: int) -> None:
        key = StreamKey("run-1", rank, self.incarnations[rank])
        self.store.write(lambda connection: compact(connection, key))

    def restart(self, rank: int) -> None:
        self.incarnations[rank] += 1
        self.streams[rank] = self.stream(rank)
        self.window(rank)

    def deletion(self, _rank: int) -> None:
        Retention(self.store, RetentionPolicy(retain_us=1)).delete_surplus()


HAPPENS = {Growing.window: 12, Growing.compaction: 4, Growing.restart: 1, Growing.deletion: 1}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_what_is_kept_of_a_run_reads_as_the_run_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    figures, run = random.Random(seed), Growing(store)
    read = partial(condense, store, "run-1", choose=lambda *_: "train", warmup_steps=5, judged_steps=40)
    for rank in (0, 1):
        run.window(rank)
    for _ in range(25):
        for happens in figures.choices([*HAPPENS], [*HAPPENS.values()], k=figures.randrange(1, 4)):
            happens(run, figures.randrange(2))
        kept = plain(read())
        with monkeypatch.context() as anew:
            anew.setattr(store, "_tails", Tails(0))
            anew.setattr(store, "_chunks", Chunks(0))
            anew.setattr(store, "_rollups", Rollups(0))
            assert kept == plain(read())


def test_what_a_rank_lost_is_of_all_its_chunks_as_more_come(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost_us() -> float:
        read = condense(store, "run-1", choose=lambda *_: "train", warmup_steps=5, judged_steps=40)
        return read.ranks[0].total_stall_us

    before_us = 0.0
    for window in made_stream(3, steps=300):
        post(store, [window])
        store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
        kept_us = lost_us()
        with monkeypatch.context() as anew:
            anew.setattr(store, "_rollups", Rollups(0))
            assert before_us < kept_us == lost_us()
        before_us = kept_us


def test_a_run_that_comes_again_under_its_name_is_another(store: Store, clock: WallClock) -> None:
    for seed in (0, 1):
        windows = list(made_stream(4, steps=7, seed=seed, started_at=f"2026-11-20T10:{seed:02}:00Z"))
        windows[-1]["end"] = {"status": "finished"}
        post(store, windows[:2])
        store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
        post(store, windows[2:3])
        sent = [us for each in windows[:3] for us in each["steps"][0]["step_us"]]
        assert store.steps("run-1", 0, "train", 40).step_us.tolist() == sent
        post(store, windows[3:])
        store.delete_run("run-1")
        clock.advance(days=KEEP_DELETED.days, seconds=1)
        while (run_id := store.forgettable()) is not None:
            store.forget_some(run_id)


def plain(found: Any) -> Any:
    """Comparable: arrays are equal where not measured, too."""
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.tobytes()
    if is_dataclass(found):
        return [plain(getattr(found, each.name)) for each in fields(found)]
    if isinstance(found, list | tuple):
        return [plain(each) for each in found]
    return repr(found)
