"""Reads of every loader of a run what its steps show, over the newest of them and over the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial

import numpy as np

from underfed_server.facts.hosts import Hosts, gpu_util, newest_since, span_of, uses_gpu
from underfed_server.facts.long_steps import Written
from underfed_server.facts.record import LoaderFacts, RankFacts
from underfed_server.facts.recorded import Apart, RecordedSteps, apart, read_recorded
from underfed_server.facts.roles import Used, loops_of, roles_of
from underfed_server.measurements import COPY, STALL, BatchRows, StepRows
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.details import RunSetup
from underfed_server.store.reading.samplers import read_samplers
from underfed_server.store.reading.series import read_sums
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.reading.tunings import Tunings, read_tunings
from underfed_server.store.runs.summaries import StepTotals, step_totals
from underfed_server.store.store import Store

FIRST_RANK = 0

MOST_LOADERS = 20
"""Of a run with more, those that least time was spent with are counted and not judged: each costs a read of its newest
steps, once a second and rank."""

Totals = Mapping[int, StepTotals]
"""Of one loader, by rank."""


def read_loaders(
    hosts: Hosts, run: RunSetup, warmup_steps: int, judged_steps: int, tunings: Tunings
) -> tuple[LoaderFacts, ...]:
    """Most time spent first; last those without a step."""
    totals = read_totals(hosts.reader, run.run_id)
    read = dict([*totals.items()][:MOST_LOADERS])
    places = [(rank, name) for name, of_ranks in read.items() for rank in of_ranks]
    recorded = read_recorded(hosts.reader, run.run_id, places, judged_steps + 1, tunings)
    used = [
        Used(name, spent_us(of_ranks), {rank: recorded[rank, name] for rank in of_ranks})
        for name, of_ranks in read.items()
    ]
    roles, loops = roles_of(used), loops_of(used)
    infos = {each.loader: each for each in run.loaders}
    found = []
    for place, name in enumerate([*totals, *sorted(infos.keys() - totals.keys())]):
        ranks = tuple(
            _rank(hosts, name, each, _of_rank(recorded, rank), warmup_steps)
            for rank, each in sorted(totals.get(name, {}).items())
        )
        loop = loops.get(name, place)
        found.append(LoaderFacts(name, infos.get(name), roles.get(name, "other"), loop, ranks))
    return tuple(found)


def read_steps(store: Store, run_id: str, rank: int, loader: str, *, warmup_steps: int, judged_steps: int) -> RankFacts:
    """The judged steps of one rank as in :func:`read_loaders`, without all else."""
    with store.reading() as reader:
        hosts = Hosts(reader, run_id, read_samplers(reader, run_id))
        names = [name for name, ranks in read_totals(reader, run_id).items() if rank in ranks][:MOST_LOADERS]
        tunings = read_tunings(reader, run_id)
        places = [(rank, name) for name in dict.fromkeys([loader, *names])]
        recorded = read_recorded(reader, run_id, places, judged_steps + 1, tunings)
        return _judged(hosts, rank, loader, _of_rank(recorded, rank), warmup_steps)[0]


def read_totals(reader: Reader, run_id: str) -> dict[str, Totals]:
    """By loader, most time spent first."""
    found: dict[str, dict[int, StepTotals]] = {}
    for each in step_totals(reader.connection, run_id):
        found.setdefault(each.loader, {})[each.rank] = each
    return dict(sorted(found.items(), key=lambda one: (-spent_us(one[1]), one[0])))


def spent_us(totals: Totals) -> float:
    return float(sum(each.step_us for each in totals.values()))


def _of_rank(recorded: Mapping[tuple[int, str], RecordedSteps], rank: int) -> dict[str, RecordedSteps]:
    return {name: each for (of, name), each in recorded.items() if of == rank}


def _rank(
    hosts: Hosts, loader: str, totals: StepTotals, recorded: Mapping[str, RecordedSteps], warmup_steps: int
) -> RankFacts:
    rank = totals.rank
    if loader not in recorded:
        return _with_totals(_without_steps(rank), totals, totals.data_wait_us, totals.edges_us)
    judged, found = _judged(hosts, rank, loader, recorded, warmup_steps)
    is_timed = bool(np.isfinite(judged.steps.gpu_idle_us).any())
    is_asked = is_timed or np.isfinite(judged.steps.h2d_exposed_us).any()
    # As the roll-ups sum them, which are kept when single steps are deleted.
    summed = read_sums(hosts.reader, hosts.run_id, rank, steps_lane(loader), [STALL, COPY]) if is_asked else {}
    stall_us = summed.get(STALL, 0.0) if is_timed else totals.data_wait_us
    stall_us = 0.0 if judged.is_held_up else stall_us
    beside_us = found.edges_us + max(0.0, totals.edges_us - found.known_edges_us)
    return replace(
        _with_totals(judged, totals, stall_us, beside_us),
        total_copy_us=summed.get(COPY),
        uses_gpu=is_timed or uses_gpu(hosts, rank),
        gpu_util=gpu_util(hosts, rank, span_of(judged)),
        hostname=hosts.samplers.hostnames.get(rank),
    )


def _judged(
    hosts: Hosts, rank: int, loader: str, recorded: Mapping[str, RecordedSteps], warmup_steps: int
) -> tuple[RankFacts, Apart]:
    found = apart(recorded, loader, warmup_steps, partial(_written, hosts, rank))
    judged = replace(
        _without_steps(rank),
        steps=found.steps,
        others_wait_us=found.others_wait_us,
        others_stall_us=found.others_stall_us,
        pausing_us=found.pausing_us,
        paused_us=found.paused_us,
        checkpoints=found.checkpoints,
        between_epochs=found.between_epochs,
        epochs=recorded[loader].present_epochs,
        changed=recorded[loader].changed,
    )
    return judged, found


def _written(hosts: Hosts, rank: int, since_us: float) -> list[Written]:
    """By the rank, and by the first one, which writes checkpoints for all where one does."""
    sampled = [newest_since(since_us, partial(hosts.process, each)) for each in dict.fromkeys((rank, FIRST_RANK))]
    is_alone = len(hosts.samplers.hostnames) == 1
    return [Written.of(rows.at_us, rows.written_bytes, is_alone=is_alone) for rows in sampled]


def _without_steps(rank: int) -> RankFacts:
    steps = StepRows(**{each.name: np.empty(0) for each in fields(StepRows)})
    return RankFacts(
        rank=rank, steps=steps, batches=BatchRows(**{each.name: np.empty(0) for each in fields(BatchRows)})
    )


def _with_totals(rank: RankFacts, totals: StepTotals, stall_us: float, beside_us: float) -> RankFacts:
    """``beside_us``: what epochs cost beside their steps, which the loop waits for."""
    return replace(
        rank,
        total_steps=totals.steps,
        total_step_us=totals.step_us + beside_us,
        total_data_wait_us=totals.data_wait_us + beside_us,
        total_stall_us=stall_us + beside_us,
        total_epochs=totals.epochs,
        total_edges_us=beside_us,
    )
