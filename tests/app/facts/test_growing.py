"""A run is read while it grows: what is kept of it between judgements changes nothing of what it is judged by."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from tests.app.made_windows import made_stream
from tests.app.store.posting import KEY, post
from underfed_server.errors import TryLaterError
from underfed_server.facts.condense import condense
from underfed_server.facts.record import RunFacts
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact

WINDOWS, RANKS = 30, 2


def beside(store: Store) -> Store:
    """As another process opens it that judges."""
    return Store(store.database.writing.url.render_as_string(hide_password=False), only_reads=True)


def read(store: Store) -> RunFacts:
    return condense(store, "run-1", choose=lambda _loaders, _status: "train", warmup_steps=5, judged_steps=200)


def values(of: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every single value, with where it stands; columns as their bytes."""
    if is_dataclass(of):
        for each in fields(of):
            yield from values(getattr(of, each.name), f"{place}.{each.name}")
    elif isinstance(of, tuple | list):
        for number, each in enumerate(of):
            yield from values(each, f"{place}[{number}]")
    elif isinstance(of, np.ndarray):
        yield place, (of.dtype.str, of.shape, of.tobytes())
    else:
        yield place, repr(of)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 4))])
def test_what_is_kept_between_judgements_changes_no_bit_of_the_facts(store: Store, seed: int) -> None:
    """The windows come in parts of random size, in part compacted; one process judges after each part, and another that
    has just started reads all of it at once."""
    chance = random.Random(seed)
    streams = [list(made_stream(WINDOWS, rank=rank, seed=10 * seed + rank)) for rank in range(RANKS)]
    done = 0
    with closing(beside(store)) as growing:
        while done < WINDOWS:
            size = chance.randint(1, 8)
            for stream in streams:
                post(store, stream[done : done + size])
            done += size
            if chance.random() < 0.3:
                store.write(lambda connection: compact(connection, KEY))
            kept = dict(values(read(growing)))
            with closing(beside(store)) as fresh:
                assert kept == dict(values(read(fresh)))
    assert any(place.endswith(".steps.step_us") and shape[0] > 100 for place, (_, shape, _) in arrays(kept))


def arrays(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((place, value) for place, value in found.items() if isinstance(value, tuple))


def test_what_only_reads_cannot_write(store: Store) -> None:
    post(store, made_stream(1))
    with closing(beside(store)) as reading:
        assert reading.summary("run-1").steps == 20
        with pytest.raises(TryLaterError):
            reading.delete_run("run-1")
