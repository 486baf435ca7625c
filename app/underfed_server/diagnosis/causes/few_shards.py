"""An iterable data set has fewer shards than there are workers, so some workers never load a batch."""

from __future__ import annotations

import numpy as np

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, share_signal
from underfed_server.diagnosis.examination import Examination
from underfed_server.facts.record import RankFacts
from underfed_server.model import Evidence, LoaderInfo

LEAST_ROUNDS = 4
"""Batches for each worker before one that gave none counts as idle. Workers are asked in turn: each that has a shard
gives one batch a round. Own choice: the judged span may begin within a round."""


def find(examined: Examination) -> Found | None:
    rank, loader, workers = examined.rank, examined.loader, examined.workers
    loading = loading_workers(rank, loader)
    if loader is None or not loading or loading >= workers:
        return None
    recoverable = measures.recoverable_share(examined.facts, rank, examined.wait.loading)
    return Found(
        # With all of them a batch comes as much sooner as there are more that load.
        min(examined.unexplained, examined.wait.loading * recoverable, 1 - loading / workers),
        _sentence(loading, workers, loader.dataset_shards),
        [
            Evidence(what="Workers that loaded a batch", value=loading, unit="count"),
            evidence.setting("num_workers", workers),
            Evidence(what="Shards of the data set, for this rank", value=loader.dataset_shards, unit="count"),
            evidence.load(rank),
            evidence.work(rank),
        ],
    )


def _sentence(loading: int, workers: int, shards: int | None) -> str:
    who = f"{loading} of {workers} workers {'gives' if loading == 1 else 'give'} all batches"
    if shards is None:
        return f"{who}: the data set has nothing to load for the others."
    return f"{who}: the data set has {shards} {'shard' if shards == 1 else 'shards'}, none for the others."


def loading_workers(rank: RankFacts, loader: LoaderInfo | None) -> int | None:
    """Those of an iterable data set's workers that have something to load. ``None``: it has none, or it is not known.

    Seen in the batches where an epoch begins with them: later a worker may have come to the end of its shards. Where
    they are too few, as the data set says of itself.
    """
    workers = (loader.num_workers if loader else None) or 0
    if loader is None or not loader.is_iterable or not workers:
        return None
    shards = loader.dataset_shards
    gave = rank.batches.worker[np.isfinite(rank.batches.worker)]
    if _shows_all(rank, len(gave), workers):
        seen = len(np.unique(gave))
        return workers if shards is not None and seen < workers <= shards else seen
    return min(workers, shards) if shards and loader.takes_whole_shards else None


def _shows_all(rank: RankFacts, batches: int, workers: int) -> bool:
    """Whether a worker that has something to load must be among those that gave these batches."""
    first = rank.batches.batch_index[np.isfinite(rank.batches.batch_index)]
    enough = LEAST_ROUNDS * workers
    return batches >= enough and float(np.min(first, initial=np.inf)) < enough


def _idle_share(examined: Examination) -> float | None:
    loading = loading_workers(examined.rank, examined.loader)
    return None if loading is None else 1 - loading / examined.workers


CAUSE = Cause(
    label="too few shards",
    find=find,
    cured_by=("more_shards",),
    signals=(
        share_signal(
            "Workers that never load",
            _idle_share,
            of="of the workers",
            says="have no shard",
            where=lambda examined: examined.workers > 1 and bool(examined.loader and examined.loader.is_iterable),
        ),
    ),
    turn="first",
    is_of_loading=True,
)
