"""What the ranks of a run said of tuning their loaders, with steps and instants as the run counts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import bindparam, select

from underfed_server.ingest import wire
from underfed_server.model import Trial, TrialBlock, Tuning
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.columns.packed import unpacked_tuning
from underfed_server.store.databases import tables
from underfed_server.store.reading.changed_settings import ChangedSettings
from underfed_server.store.reading.tracks import Reader, Track

_tuning = tables.tuning.c
_OF_RUN = (
    select(_tuning.rank, _tuning.incarnation, _tuning.loader, _tuning.body)
    .where(_tuning.run_id == bindparam("run_id"))
    .order_by(_tuning.rank, _tuning.loader, _tuning.incarnation)
)


@dataclass(frozen=True, slots=True)
class Tuned:
    """Of one rank and loader."""

    tuning: Tuning
    """Of its newest process that tuned."""
    trials: tuple[Trial, ...]
    """Of all its processes, oldest first."""
    changed: ChangedSettings | None
    """Since when it uses what was kept; ``None``: nothing else than what it began with is in use."""
    why_no_workers: str | None = None
    """What its newest process saw that speaks against workers, where it has none."""

    @property
    def searched(self) -> list[tuple[int, int]]:
        """The steps of each search: of its first one, and one past its last. They are of several settings; those
        before it that were measured for it are of one.
        """
        searches = [blocks for blocks in _other_blocks(self.trials).values() if blocks]
        return [(min(each.first_step_index for each in blocks), max(_after(blocks))) for blocks in searches]


Tunings = Mapping[tuple[int, str], Tuned]
"""By rank and loader."""


def tuned_of(tunings: Tunings, rank: int, loader: str) -> Tuned | None:
    """The ranks of a host switch at the same step, and the lowest of them reports for all. ``None``: not tuned."""
    leading = max((each for each, name in tunings if name == loader and each <= rank), default=None)
    return None if leading is None else tunings[leading, loader]


def read_tunings(reader: Reader, run_id: str) -> Tunings:
    """Empty for a run that does not tune itself."""
    found: dict[tuple[int, str], Tuned] = {}
    for row in reader.connection.execute(_OF_RUN, {"run_id": run_id}):
        tracks = reader.tracks(run_id, row.rank, steps_lane(row.loader))
        track = next((each for each in tracks if each.key.incarnation == row.incarnation), None)
        before = found.get((row.rank, row.loader))
        is_newest = track is not None and track is tracks[-1]
        found[row.rank, row.loader] = _tuned(row.rank, unpacked_tuning(row.body), track, before, is_newest=is_newest)
    return found


def _tuned(rank: int, sent: wire.Tuning, track: Track | None, before: Tuned | None, *, is_newest: bool) -> Tuned:
    """``track``: ``None``: the process has not recorded a step yet."""
    steps, us = (track.shift_index, track.shift_us) if track else (0, 0)
    earlier = before.trials if before else ()
    first = 1 + max((each.search for each in earlier), default=-1)
    trials = tuple(_trials(rank, sent.trials, first, steps, us))
    kept_from = None if sent.kept_from_step is None else sent.kept_from_step + steps
    same = {name: getattr(sent, name) for name in Tuning.model_fields.keys() & set(sent.__struct_fields__)}
    tuning = Tuning(**same | {"rank": rank, "kept_from_step": kept_from})
    return Tuned(tuning, (*earlier, *trials), _changed(tuning, trials) if is_newest else None, sent.why_no_workers)


def _trials(rank: int, sent: Sequence[wire.Trial], first_search: int, steps: int, us: int) -> Iterator[Trial]:
    paces = {each.search: each.steps_per_s for each in sent if not each.number}
    for each in sent:
        shifts = {"first_step_index": steps, "steps": 0, "start_us": us, "end_us": us}
        blocks = [
            TrialBlock(**{name: getattr(block, name) + by for name, by in shifts.items()}) for block in each.blocks
        ]
        before, now = paces.get(each.search), each.steps_per_s
        yield Trial(
            **msgspec.structs.asdict(each)
            | {
                "rank": rank,
                "search": each.search + first_search,
                "speedup": now / before if now and before else None,
                "blocks": blocks,
            }
        )


def _changed(tuning: Tuning, trials: Sequence[Trial]) -> ChangedSettings | None:
    """By the newest search that kept another setting than it began with, whatever came after it."""
    switch = next((each for each in reversed(trials) if each.kept and each.number), None)
    first = next((each for each in trials if switch and each.search == switch.search and not each.number), None)
    blocks = _other_blocks(trials).get(switch.search) if switch else None
    if switch is None or first is None or not blocks or switch.settings == first.settings:
        return None
    is_newest = switch.search == trials[-1].search and tuning.kept_from_step is not None
    return ChangedSettings(
        step_index=tuning.kept_from_step if is_newest and tuning.kept_from_step is not None else max(_after(blocks)),
        start_us=max(each.end_us for each in blocks),
        before=first.settings,
        since=switch.settings,
        is_live=True,
    )


def _other_blocks(trials: Sequence[Trial]) -> dict[int, list[TrialBlock]]:
    """By search, from its first block with another setting on."""
    found: dict[int, list[TrialBlock]] = {}
    for search in dict.fromkeys(trial.search for trial in trials):
        own = [trial for trial in trials if trial.search == search]
        others = [block.first_step_index for trial in own if trial.number for block in trial.blocks]
        blocks = [block for trial in own for block in trial.blocks]
        found[search] = [each for each in blocks if others and each.first_step_index >= min(others)]
    return found


def _after(blocks: Sequence[TrialBlock]) -> list[int]:
    return [each.first_step_index + each.steps for each in blocks]
