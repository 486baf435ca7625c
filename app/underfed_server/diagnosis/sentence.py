"""The verdict in words, numbers rounded as the page rounds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from underfed_server.diagnosis.beside_training import (
    LOOKS,
    WorkBesideTraining,
    between_fraction,
    found_beside_training,
)
from underfed_server.diagnosis.bound import LostShares, find_level
from underfed_server.diagnosis.causes import all_causes, symptoms
from underfed_server.diagnosis.checkpoints import ADVISED, saves
from underfed_server.diagnosis.ended_tuning import measured_by_trials
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.headline_share import PAUSED_FRACTION, HeadlineShare
from underfed_server.diagnosis.measures import input_lost_fraction, recoverable_share, used_cores_fraction
from underfed_server.diagnosis.own_work import OwnWork, own_works
from underfed_server.diagnosis.rounded import percent, percents
from underfed_server.diagnosis.slow_ranks import SlowRanks, SlowWork
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.costly_lines import KnownShare, costliest_line, known_share_of
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.facts.loading import LoaderHotspots
from underfed_server.facts.record import RankFacts, Restarts, RunFacts, epoch_starts
from underfed_server.measurements import Column
from underfed_server.model import CauseFinding, Status

SHARED_CORES_FRACTION = 0.10
"""Share of the usable cores from which loading is said to take them from training: training can gain no more than that
by cheaper loading."""


UNEXPLAINED_FRACTION, UNEXPLAINED_OF_STEP = 0.10, 0.03
"""Of the wait and of a step, from which what no cause explains is said: what a cause costs is known to some 3 % of a
step."""

NOT_SHORT = "Saves shorter than two steps are not counted: they are measured with --profile alone."

OF_NUMBER = frozenset({"no_workers", "too_few_workers"})
"""Causes that cost what more workers would save, as far as there are cores for them."""

NEARLY_ALL, AS_MUCH = 0.9, 0.5
"""Of the steps, so many lose at least so much of the mean share: then it is said of every step. Of two workers that
both are late one step in two waits, and a slow sample in ten makes one step in ten wait: that is said of the time."""

SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

FURTHER_FRACTION = 0.10
"""Of the wait, from which a cause beside the leading one is named with it: what is advised may be to cure that one."""

NO_STEP = "no step yet: the first batch is still being loaded"

NO_LOADER = "No loader was seen in this run."


def three_digits(value: float) -> str:
    """At most three significant digits, thousands grouped, no zeros at the end: ``1,089``, ``62.1``, ``0.5``."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def amount(value: float) -> str:
    """Three significant digits at most, of what is small too: ``1_089.3`` → ``1,089``, ``0.01234`` → ``0.0123``."""
    if not value:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def duration(us: float) -> str:
    """``41_200`` → ``41.2 ms``."""
    for limit, divisor, unit in ((999.5, 1.0, "µs"), (999.5e3, 1e3, "ms"), (59.95e6, 1e6, "s"), (3.597e9, 60e6, "min")):
        if us < limit:
            return f"{amount(us / divisor)} {unit}"
    return f"{amount(us / 3.6e9)} h"


def size(value: float) -> str:
    """Bytes in binary units, as memory and /dev/shm are sized: ``67_108_864`` → ``64 MiB``."""
    power = 0 if value < 1 else min(len(SIZE_UNITS) - 1, math.floor(math.log2(value) / 10))
    return f"{three_digits(value / 1024**power)} {SIZE_UNITS[power]}"


def verdict(examined: Examination, losses: LostShares, headline: HeadlineShare) -> str:
    said, rank = _said_of_judged(examined, losses, headline), examined.rank
    if outweigh_waiting(rank, losses.data):
        said = f"Pauses take {percent(rank.paused_fraction)} of the time; {said[0].lower()}{said[1:]}"
    for work in _own_works(examined)[:1]:
        if outweighs(work.of_loop, losses.data):
            said = f"{work.name} takes {percent(work.of_loop)} of the time; {said[0].lower()}{said[1:]}"
    # What was lost is that of all its programs, most of which may have waited for something else.
    said = f"Since step {rank.changed.step_index:,} {said[0].lower()}{said[1:]}" if rank.changed else said
    again = larger_restarts(examined.facts, examined.overview.slow)
    return f"Starting the program again took {duration(again.us)}; {said[0].lower()}{said[1:]}" if again else said


def _own_works(examined: Examination) -> list[OwnWork]:
    between = examined.facts.between
    return [] if between is None else own_works(between, between_fraction(examined.rank))


def _said_of_judged(examined: Examination, losses: LostShares, headline: HeadlineShare) -> str:
    who, is_one = _who(examined.facts)
    data, waits, is_idle = percent(headline.whole), "waits" if is_one else "wait", "is idle" if is_one else "are idle"
    apart = _apart(examined, headline)
    if said := _read_ahead(examined, losses) or _of_each(examined, headline) or _of_all(examined, headline):
        return said
    if examined.bound == "data" or _has_some_wait(examined, losses):
        return f"{who} {waits} for data {data} of {_steps_or_time(examined)}{apart}."
    if examined.bound == "transfer":
        copies = percent(losses.transfer or 0.0)
        often = _often(examined.rank, examined.rank.copies_us, examined.rank.steps.step_us)
        return f"{who} {waits} for copies {copies} of {often}."
    if examined.bound == "host":
        return f"{who} {is_idle} {percent(losses.host or 0.0)} of {_time(examined.rank)} although data is ready."
    if examined.rank.has_device_clock and not losses.is_event:
        # More cannot be said: what the device does outside the wait was not timed in every step.
        fed = " well fed," if _is_well_fed(examined, losses) else ""
        return f"{who} {'is' if is_one else 'are'}{fed} idle for data {data} of {_steps_or_time(examined)}{apart}."
    is_busy = f"{who} {'is' if is_one else 'are'} kept busy"
    spent = f": {data} of a step is spent waiting for data{apart}"
    return f"{is_busy}, but for {_few(examined.rank, losses)}." if losses.is_event else f"{is_busy}{spent}."


def _has_some_wait(examined: Examination, losses: LostShares) -> bool:
    """By the host's clock: too little to bind the run, and too much to call it busy. The word beside it is the same."""
    is_busy_by_host = examined.bound == "compute" and not examined.rank.has_device_clock and not losses.is_event
    return is_busy_by_host and find_level(losses.loop) != "healthy"


def _is_well_fed(examined: Examination, losses: LostShares) -> bool:
    """Nothing to gain: the loop hardly waits, and instant data would save as little."""
    return max(losses.loop, input_lost_fraction(examined.rank) or 0.0) < THRESHOLDS.watch_fraction


def _read_ahead(examined: Examination, losses: LostShares) -> str | None:
    """``None``: the training itself requests its batches, its device was seen, or copies are what it waits for."""
    if not examined.rank.is_read_ahead or examined.rank.has_device_clock or examined.bound == "transfer":
        return None
    who, is_one = _who(examined.facts)
    it = "it" if is_one else "them"
    thread = f"The thread that reads ahead for {who[0].lower()}{who[1:]}"
    if examined.rank.is_held_up:
        held_up = percent(examined.rank.rest_us / examined.rank.step_us)
        is_busy = f"{who} {'is' if is_one else 'are'} kept busy"
        return f"{is_busy}: a thread reads ahead for {it}, and waits for {it} {held_up} of the time."
    return f"{thread} waits for data {percent(losses.data)} of the time, and never for {it}."


def _apart(examined: Examination, headline: HeadlineShare) -> str:
    """The share of all the time, where that of the judged steps is another one; empty: it is the same."""
    if headline.of_all is None:
        return ""
    facts, share = examined.facts, percent(headline.of_all)
    if len({each.loop for each in facts.loaders if each.steps}) > 1:
        return f", and {share} of the time in all loops"
    is_start = 0 < facts.warmup_steps == facts.steps - facts.judged_steps and headline.of_all > headline.whole
    return (
        f", and {share} with its slow first {facts.warmup_steps} steps"
        if is_start
        else (f", and {share} over all {facts.steps:,} steps")
    )


def _of_each(examined: Examination, headline: HeadlineShare) -> str | None:
    """How much of each step is waited for which loader; ``None``: for the judged one alone."""
    others = examined.rank.others_stall_fraction
    if others < THRESHOLDS.minor_cost_fraction or examined.bound not in ("data", "compute"):
        return None
    who, is_one = _who(examined.facts)
    own = examined.loader.loader if examined.loader else "this loader"
    mates = " and ".join(examined.facts.loop_mates) or "other loaders"
    both, parts = percents(
        headline.whole, (headline.own, headline.others, *([headline.beside] if headline.beside else []))
    )
    each = ", ".join(
        f"{part} for {name}" for part, name in zip(parts, (own, mates, "loaders of other loops"), strict=False)
    )
    waits = "waits" if is_one else "wait"
    return f"{who} {waits} for data {both} of {_steps_or_time(examined)}: {each}{_apart(examined, headline)}."


def _of_all(examined: Examination, headline: HeadlineShare) -> str | None:
    """What all ranks lose to the one whose input they wait for; ``None``: there is none, or there are more."""
    stragglers, ranks = examined.overview.slow.stragglers, len(examined.facts.ranks)
    if examined.bound != "data" or len(stragglers) != 1:
        return None
    who, often = "Both" if ranks == 2 else f"All {ranks}", _steps_or_time(examined)
    lose = f"{who} ranks lose {percent(headline.whole)} of {often}{_apart(examined, headline)}"
    return f"{lose} to rank {stragglers[0].rank}, which waits for data."


def _steps_or_time(examined: Examination) -> str:
    """By what each step waits for any loader of the loop; where ranks are late in turn, by the latest of them."""
    rank, together = examined.rank, examined.together
    if together is not None:
        return _often(rank, together.lost_us, together.step_us)
    others_us = 0.0 if rank.others_wait_us is None else rank.others_wait_us
    return _often(rank, rank.stalled_us + others_us, rank.steps.step_us)


def _often(rank: RankFacts, lost_us: Column, step_us: Column) -> str:
    """A share is one of every step only where nearly all of them lose about as much."""
    known = np.isfinite(lost_us)
    lost_us, step_us = lost_us[known], step_us[known]
    if not len(lost_us):
        return _time(rank)
    usual = np.sum(lost_us) / np.sum(step_us)
    is_every = np.mean(lost_us >= AS_MUCH * usual * step_us) >= NEARLY_ALL
    return "every step" if is_every else _time(rank)


def _time(rank: RankFacts) -> str:
    return "the time between pauses" if rank.paused_fraction >= PAUSED_FRACTION else "the time"


def why(examined: Examination, losses: LostShares, causes: Sequence[CauseFinding]) -> str | None:
    rank, between = examined.rank, examined.facts.between
    saving = _saving(rank, between, is_first=outweigh_waiting(rank, losses.data))
    pauses = _pauses(rank, losses, is_saving=saving is not None)
    waits = _why(examined, losses, causes)
    found = found_beside_training(rank, between)
    more = [each.full for each in found if outweighs(each.of_loop, losses.data)]
    less = [each.full for each in found if not outweighs(each.of_loop, losses.data)]
    line = costliest_line(between) if between and examined.bound == "host" and not found else None
    most = f"{LOOKS}, {percent(line.fraction)} found it in {line}: no other line took more." if line else None
    others = None if saving is None else _other_pauses(rank, between, losses)
    leading = [pauses, saving, others, *more, waits] if outweigh_waiting(rank, losses.data) else [*more, waits, saving]
    again = _restarts(examined.facts)
    parts = [*leading, *less, most]
    parts.insert(0 if larger_restarts(examined.facts, examined.overview.slow) else len(parts), again)
    return " ".join(filter(None, parts)) or None


def beside_training(rank: RankFacts, between: LoaderHotspots | None) -> list[str]:
    """What takes a part worth naming of the loop's time and is neither training nor waiting, a sentence each, most of
    the time first; what lies between epochs last."""
    found = found_beside_training(rank, between)
    saving = [
        WorkBesideTraining(_saving_fraction(rank, between), text, text) for text in saving_sentences(rank, between)
    ]
    return [each.short for each in sorted([*saving, *found], key=lambda each: -each.of_loop)]


def outweighs(of_loop: float, data: float) -> bool:
    """Whether work takes more of the loop's time than waiting does."""
    return of_loop >= max(PAUSED_FRACTION, data)


def outweigh_waiting(rank: RankFacts, data: float) -> bool:
    """Whether more of the loop's time goes to pauses than to waiting, which takes ``data`` of the rest."""
    paused = rank.paused_fraction
    return outweighs(paused, (1 - paused) * data)


def _pauses(rank: RankFacts, losses: LostShares, *, is_saving: bool) -> str | None:
    """``is_saving``: what the program does in them follows."""
    if is_saving or not outweigh_waiting(rank, losses.data):
        return None
    took = f"{percent(rank.paused_fraction)} of this loop's time ({duration(rank.paused_us)}) goes to pauses"
    return f"{took}, more than to waiting: the program does something else between steps, such as a validation."


UNSEEN = "underfed run --profile"
"""Looks at what the training thread executes."""


def unseen_pauses_fraction(rank: RankFacts, between: LoaderHotspots | None, data: float) -> float:
    """Of the loop's time, in pauses for no checkpoint, where that is more than the waits, which take ``data`` of the
    rest; 0: it is not, or the training thread was looked at, so that what it did is named by that."""
    unseen = rank.paused_fraction - rank.checkpoint_fraction
    is_seen = between is not None and between.seen > 0
    return 0.0 if is_seen or not outweighs(unseen, (1 - rank.paused_fraction) * data) else unseen


def _other_pauses(rank: RankFacts, between: LoaderHotspots | None, losses: LostShares) -> str | None:
    """Beside checkpoints that are named; ``None``: they are few."""
    unseen = unseen_pauses_fraction(rank, between, losses.data)
    if not unseen or rank.checkpoints is None:
        return None
    took = f"{percent(unseen)} ({duration(rank.paused_us - rank.checkpoints.us)})"
    return f"Other pauses of the program take {took}. What it does in them was not seen."


def _long_restarts(facts: RunFacts) -> Restarts | None:
    """``None``: there was none, or little time went by."""
    again = facts.restarts
    if again is None or not again.count:
        return None
    return None if again.us < PAUSED_FRACTION * (_spent_us(facts) + again.us) else again


def larger_restarts(facts: RunFacts, slow: SlowRanks) -> Restarts | None:
    """Where they take more of the time than waiting and pauses do: then they are named first."""
    again = _long_restarts(facts)
    if again is None:
        return None
    paused_us = slow.judged.paused_fraction * _spent_us(facts)
    return again if again.us >= max(paused_us, slow.input_lost_us / len(facts.ranks)) else None


def _spent_us(facts: RunFacts) -> float:
    """In its steps, of a rank."""
    return sum(rank.total_step_us for rank in facts.ranks) / max(1, len(facts.ranks))


def _restarts(facts: RunFacts) -> str | None:
    again = _long_restarts(facts)
    if again is None:
        return None
    times = "once" if again.count == 1 else f"{again.count:,} times"
    return f"The program was started again {times}: {duration(again.us)} went by without a step. No share counts them."


def saving_sentences(rank: RankFacts, between: LoaderHotspots | None) -> list[str]:
    """Sentences, where checkpoints take a part worth naming, by what was written, or by what the training thread was
    seen to execute: that finds the saves, too, that are too short to be seen in steps."""
    said, seen = [*_checkpoints(rank)], _seen_saving(between)
    if said and between is None:
        return [*said, NOT_SHORT] if rank.checkpoints is not None else said
    if seen is None or seen.fraction < PAUSED_FRACTION:
        return said
    looks = f"{LOOKS}, {percent(seen.fraction)} found it saving"
    if not said:
        return [f"{looks}; how often it saves, and for how long, was not measured."]
    if rank.checkpoints and _of_loop(seen.low or 0.0, rank) > rank.checkpoint_fraction:
        return [*said, f"{looks}, more than in these pauses: saves shorter than two steps are not among them."]
    return said


def _seen_saving(between: LoaderHotspots | None) -> KnownShare | None:
    return None if between is None else known_share_of(between, saves)


def _of_loop(share: float, rank: RankFacts) -> float:
    """``share``: of the looks between batches, pauses included."""
    return share * (rank.paused_fraction + (1 - rank.paused_fraction) * between_fraction(rank))


def _saving_fraction(rank: RankFacts, between: LoaderHotspots | None) -> float:
    seen = _seen_saving(between)
    return max(rank.checkpoint_fraction, 0.0 if seen is None else _of_loop(seen.fraction, rank))


def _saving(rank: RankFacts, between: LoaderHotspots | None, *, is_first: bool) -> str | None:
    """``is_first``: what to do about it is said with what lies outside the loader."""
    line = None if between is None else costliest_line(between, saves)
    at = [] if line is None else [f"The training thread was seen saving in {line}."]
    sentences = saving_sentences(rank, between)
    return " ".join([*sentences, *at, *([] if is_first else [ADVISED])]) if sentences else None


def _checkpoints(rank: RankFacts) -> Iterator[str]:
    within, beside = rank.checkpoints, rank.between_epochs
    if within is not None and rank.checkpoint_fraction >= PAUSED_FRACTION:
        pauses = "one pause, in which" if within.count == 1 else f"{within.count:,} pauses, in each of which"
        took = f"Checkpoints take {percent(rank.checkpoint_fraction)} of this loop's time"
        yield f"{took}: {pauses} about {size(within.mean_bytes)} were written."
    if beside is not None and rank.between_epochs_fraction >= PAUSED_FRACTION:
        each = "one" if beside.count == 1 else f"each of {beside.count:,}"
        took = f"Checkpoints between epochs, which are no part of this loop's time, took {duration(beside.us)}"
        of_both = f"{percent(rank.between_epochs_fraction)} of that time and their own"
        yield f"{took}, {of_both}: in {each} about {size(beside.mean_bytes)} were written."


def _why(examined: Examination, losses: LostShares, causes: Sequence[CauseFinding]) -> str | None:
    cause = causes[0].sentence if causes else ""
    slow = examined.overview.slow.at_work
    if slow is not None:
        cause = f"{_works_longer(slow, examined.facts)} {cause}".strip()
    if examined.bound == "data":
        if not cause:
            return _no_cause(examined)
        of = _of_wait(examined)
        first = cause if not causes else cause.replace(causes[0].sentence, _with_share(causes[0], losses, of))
        return " ".join(filter(None, (first, *_further(losses, causes, of), _unexplained(examined, losses, causes))))
    if examined.bound == "transfer":
        return cause or "Copying batches to the device is not hidden behind the device's work."
    reason = (
        _hiccup(examined.rank, losses)
        or _delayed_host(examined.rank)
        or _shared_cores(examined)
        or _host_work(examined)
        or _others_wait(examined)
        or ("" if cause else _nothing_to_change(examined, losses))
    )
    return f"{cause} {reason}".strip()


def _further(losses: LostShares, causes: Sequence[CauseFinding], of: str) -> Iterator[str]:
    """Causes beside the leading one, which the fixes may be about; not those that it was named with."""
    for each in causes[1:]:
        is_part = each.cost_fraction >= FURTHER_FRACTION * losses.data and not all_causes()[each.cause].is_of_copy
        if is_part and each.sentence not in causes[0].sentence:
            yield _with_share(each, losses, of)


def _of_wait(examined: Examination) -> str:
    """What the cost of a cause is stated as a share of, so that the causes of one wait add up, whatever it is of; in a
    run with several loaders for which of them."""
    has_others = sum(bool(each.steps) for each in examined.facts.loaders) > 1
    return f"of the wait for {examined.loader.loader}" if examined.loader and has_others else "of the wait"


def _with_share(cause: CauseFinding, losses: LostShares, of: str) -> str:
    """What it costs stands in its first sentence; of copies, which are no part of the wait, nothing is said."""
    if all_causes()[cause.cause].is_of_copy or not cause.cost_fraction or losses.data <= 0:
        return cause.sentence
    first, dot, rest = re.split(r"(\.(?= |$))", cause.sentence, maxsplit=1)
    return f"{first} ({percent(min(1.0, cause.cost_fraction / losses.data))} {of}){dot}{rest}"


def _nothing_to_change(examined: Examination, losses: LostShares) -> str:
    if _is_well_fed(examined, losses):
        return "Nothing about the loader needs to change: a faster loader would gain next to nothing."
    marked = symptoms(examined)
    beside = f" Marked below, but none of these was found to cost it: {'; '.join(marked)}." if marked else ""
    return f"No cause of this wait was found, and no setting that would shorten it.{beside}"


def _no_cause(examined: Examination) -> str:
    """Signals are named that are out of the ordinary, and of which no cause came."""
    none, marked = "None of the causes that Underfed knows explains the wait", symptoms(examined)
    if (hidden := _hidden_delivery(examined)) is not None:
        return f"{none}: {hidden}."
    if not marked:
        return f"{none}: the signals below were ruled out."
    return f"{none}. Marked below, but none of these was found to cost it: {'; '.join(marked)}."


def _unexplained(examined: Examination, losses: LostShares, causes: Sequence[CauseFinding]) -> str | None:
    """The share of the wait that would be left with all causes gone. Those of copies cost what comes after the wait."""
    rest = losses.data - sum(each.cost_fraction for each in causes if not all_causes()[each.cause].is_of_copy)
    if losses.data <= 0 or rest < max(UNEXPLAINED_OF_STEP, UNEXPLAINED_FRACTION * losses.data):
        return None
    share, usable = percent(rest / losses.data), examined.facts.host.usable_cores
    recoverable = recoverable_share(examined.facts, examined.rank, examined.wait.loading)
    if usable and OF_NUMBER & {each.cause for each in causes} and examined.wait.loading * (1 - recoverable) >= rest / 2:
        return f"With more workers {share} of the wait would stay, because they fill the {usable:g} cores of this run."
    return "The rest of the wait has no known cause."


def _hidden_delivery(examined: Examination) -> str | None:
    crowd, usable = examined.crowd, examined.facts.host.usable_cores
    part = (examined.wait.delivery or 0.0) - crowd.delivery
    if not crowd.hides_delivery or part < UNEXPLAINED_OF_STEP:
        return None
    return (
        f"handing loaded batches over takes {percent(part)} of step time, and while other jobs use {crowd.cores:.1f} "
        f"of {usable:g} cores and all are busy, that cannot be told from waiting for a free core"
    )


def _works_longer(slow: SlowWork, facts: RunFacts) -> str:
    rank = slow.rank
    where = host_of(rank, facts.ranks)
    hours = three_digits(slow.lost_us(facts.ranks) / US_PER_HOUR)
    return (
        f"Rank {rank.rank}{where} works longer in each step than the others, by {three_digits(slow.longer_us / 1e3)} "
        f"ms or more: its device or its host is slower, not its loader. {percent(slow.lost_fraction)} of every step "
        f"({hours} hours of all ranks) is lost to that: the others wait for input meanwhile, and with a faster loader "
        f"they would wait for rank {rank.rank}."
    )


def host_of(rank: RankFacts, ranks: Sequence[RankFacts]) -> str:
    """Empty where all of them are on one: then it distinguishes them from nothing."""
    hosts = {each.hostname for each in ranks}
    return f" (host {rank.hostname})" if rank.hostname and len(hosts) > 1 else ""


def judged_since(rank: RankFacts) -> str | None:
    """``None``: all its steps are of the present settings."""
    return None if rank.changed is None else f"judged from step {rank.changed.step_index:,} on: {rank.changed}"


def no_verdict_yet(facts: RunFacts, needed: int) -> tuple[str, str]:
    """The sentence and its reason, of a run with fewer than ``needed`` steps."""
    if facts.no_loader:
        return NO_LOADER, why_no_loader(facts.no_loader)
    running, waited = facts.status == "running", _so_far(facts)
    tried = measured_by_trials(facts.tuned.tuning if facts.tuned else None) if _has_ended(facts.status) else None
    said = _when(facts, needed) if running else tried or no_verdict(facts.status, facts.steps, needed, waited)
    warmup = f"the first {facts.warmup_steps} are warm-up and not judged"
    rank = next((each for each in facts.ranks if each.changed), None)
    if rank is not None and rank.changed is not None:
        since = rank.total_steps - rank.changed.step_index
        return said, f"{judged_since(rank)}; a verdict needs {needed} steps, and there were {since}"
    if facts.steps == 0:
        return said, "no step was complete" if _has_ended(facts.status) else NO_STEP
    steps = f"{facts.steps} of {needed} steps; {warmup}"
    return said, steps if _has_ended(facts.status) or waited is None else f"{steps}; so far {waited}"


def waited_fraction(facts: RunFacts) -> float | None:
    """Of the time of the steps so far, which is no verdict: the start is much of a short run. ``None``: not known."""
    whole_us = sum(rank.total_step_us for rank in facts.ranks)
    return min(1.0, sum(rank.total_data_wait_us for rank in facts.ranks) / whole_us) if whole_us > 0 else None


def _so_far(facts: RunFacts) -> str | None:
    waited = waited_fraction(facts)
    return None if waited is None else f"{percent(waited)} of the time was spent waiting for data, the start included"


def why_no_loader(reason: str) -> str:
    """The agent's reason without the words that repeat the sentence above it."""
    return reason.removeprefix("no loader seen: ")


def not_judged_yet(status: Status, steps: int) -> tuple[str, str]:
    """The sentence and its reason, of a run that has no diagnosis."""
    needed = THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps
    if _has_ended(status) and steps >= needed:
        return "The run has ended; its verdict is being computed.", "not judged yet"
    return no_verdict(status, steps, needed), f"not judged yet: {steps} steps arrived, a verdict needs {needed}"


def no_verdict(status: Status, steps: int, needed: int, waited: str | None = None) -> str:
    """``waited``: what is known so far."""
    if not _has_ended(status):
        return "A verdict needs a few more steps."
    if 0 < steps < needed:
        so_far = "" if waited is None else f": {waited}"
        return f"The run ended after {steps} of the {needed} steps that a verdict needs{so_far}."
    return "The run ended before a verdict was possible."


def _has_ended(status: Status) -> bool:
    """A lost one may still be training."""
    return status in ("finished", "crashed")


def _when(facts: RunFacts, needed: int) -> str:
    """By the pace so far; in how many steps where there is none yet."""
    slowest = min(facts.ranks, key=lambda rank: rank.total_steps, default=None)
    if slowest is None or slowest.total_steps == 0:
        return no_verdict("running", 0, needed)
    step_s = slowest.total_step_us / slowest.total_steps / 1e6
    return f"A verdict needs {_about(step_s * max(1, needed - slowest.total_steps))}."


def _about(seconds: float) -> str:
    if seconds < 15:
        return "a few more seconds"
    if seconds < 90:
        return "about one more minute" if seconds > 45 else "about half a minute more"
    minutes = round(seconds / 60)
    return f"about {minutes} more minutes" if minutes < 90 else f"about {round(minutes / 60)} more hours"


def _who(facts: RunFacts) -> tuple[str, bool]:
    """The subject of the sentence, and whether it is singular."""
    own = facts.judged_loader
    if own is not None and own.role == "validation" and not facts.uses_gpu:
        return "The validation", True
    is_one = len(facts.ranks) == 1
    noun = "GPU" if facts.uses_gpu else "training loop"
    return f"The {noun}" if is_one else f"The {noun}s", is_one


def _few(rank: RankFacts, losses: LostShares) -> str:
    return f"{losses.hiccups} of {len(rank.steps):,} steps"


def _hiccup(rank: RankFacts, losses: LostShares) -> str | None:
    if not losses.is_event:
        return None
    longest_us = float(np.where(epoch_starts(rank.steps), 0.0, rank.steps.data_wait_us).max())
    longest = f"{longest_us / 1e6:.1f} s" if longest_us >= 1e6 else f"{longest_us / 1e3:.0f} ms"
    most = f"for most of the {percent(losses.data)} of step time spent waiting"
    if losses.hiccups == 1:
        account = f"accounts {most}: it waited {longest}. That is a single event"
    else:
        account = f"account {most}; the longest waited {longest}. Those are single events"
    return f"{_few(rank, losses)} {account}, and no setting of the loader prevents that."


def _host_work(examined: Examination) -> str | None:
    if examined.bound != "host":
        return None
    return (
        "Batches are ready when the loop asks for them: the program between the steps is the limit, such as logging, "
        "reading values back (.item()), checkpoints, or many small kernels."
    )


def _others_wait(examined: Examination) -> str | None:
    if examined.rank.others_stall_fraction < THRESHOLDS.limited_fraction:
        return None
    return "The loop waits for its other loaders; this one is ready in time."


def _delayed_host(rank: RankFacts) -> str | None:
    """Waits that the device works through may still delay the host so far that the device is idle afterwards."""
    lost = input_lost_fraction(rank)
    if lost is None or lost < THRESHOLDS.limited_fraction:
        return None
    return (
        "The device is seldom idle while the loop waits, but the waits delay the rest of the loop: with instant data "
        f"a step would take {percent(lost)} less, computed from the recorded steps."
    )


def _shared_cores(examined: Examination) -> str | None:
    """Where the step itself is CPU work on full cores, loading slows it down without a wait."""
    facts, rank, usable = examined.facts, examined.rank, examined.facts.host.usable_cores
    used, workers = used_cores_fraction(rank, facts.host), rank.process.workers_cores
    if facts.uses_gpu or used is None or not usable or not workers:
        return None
    if used < THRESHOLDS.saturated_cores_fraction or workers / usable < SHARED_CORES_FRACTION:
        return None
    return (
        "No setting of the loader would help: all the cores this run may use are busy. Loading takes "
        f"{_figure(workers)} of {usable:g} cores; cheaper loading would leave more of them to the training."
    )


def _figure(value: float) -> str:
    """Three significant digits, thousands grouped: ``1,089``, ``62.1``, ``4.08``."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
