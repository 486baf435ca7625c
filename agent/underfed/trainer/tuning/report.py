"""What ``--tune`` says: facts for the collector, a line when something is kept, the lines to write into the script."""

from __future__ import annotations

from collections.abc import Iterator

from underfed.exchange import tuning
from underfed.exchange.facts import SourceLine
from underfed.exchange.tuning import TrialBlock, TrialFacts, TuningFacts
from underfed.host.clock import to_us
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.tuning.blocks import Block, speed
from underfed.trainer.tuning.conductor import ASKING, Conductor
from underfed.trainer.tuning.costs import Gain, became_faster, gained
from underfed.trainer.tuning.nothing_kept import measured_so_far, why_nothing_kept
from underfed.trainer.tuning.search import Search, Trial

OTHER_ORDER = "its data set is iterable, so its records now come in another order"
"""Each worker yields its own part of such a data set, and the parts take turns."""


STARTS_PART, STARTS_NS = 0.02, 1_000_000_000
"""Of the time of a pass, and in all, from which it is said what starting workers in each of them took."""

LONGER = (
    "--tune: what would help: a longer run, or --tune --trial-only, which spends a run like this one on trials alone "
    "and finds a setting to write into the script"
)


def facts_of(conductor: Conductor, watched: WatchedLoader, origin_ns: int) -> TuningFacts:
    has_searched = any(search.is_over for search in conductor.searches)
    interval = conductor.interval or (None, None)
    is_other = conductor.setting != conductor.began_with
    trials = [
        _trial(search, trial, index, number, origin_ns)
        for index, search in enumerate(conductor.searches)
        for number, trial in enumerate(search.trials)
    ]
    gain = gained(conductor.searches, conductor.began_with, conductor.since)
    low, middle, high = _gained_us(gain)
    return TuningFacts(
        loader=watched.name,
        status=conductor.status,
        began_with=conductor.began_with.settings(),
        reason=_reason(conductor),
        why_no_workers=conductor.why_no_workers,
        kept=conductor.setting.settings() if has_searched and not conductor.is_searching else None,
        kept_from_step=conductor.kept_from_step,
        speedup=conductor.speedup if has_searched and is_other else None,
        low=interval[0],
        high=interval[1],
        trial_steps=sum(search.used_steps for search in conductor.searches),
        trial_us=round(conductor.trial_ns / 1000),
        gained_us=middle,
        gained_low_us=low,
        gained_high_us=high,
        lost_us=round((conductor.lost_ns + _lost_since_ns(gain)) / 1000),
        searches=len(conductor.searches),
        lines=list(script_lines(conductor)),
        trials=trials[-tuning.MOST_TRIALS :],
    )


def _reason(conductor: Conductor) -> str | None:
    """All that the terminal says of it, if nothing was kept."""
    if conductor.status != tuning.LEFT_ALONE:
        return conductor.reason
    return "; ".join(why_nothing_kept(conductor)) or conductor.reason


def _gained_us(gain: Gain | None) -> tuple[int | None, int | None, int | None]:
    """Low, middle and high."""
    if gain is None or gain.low_ns < 0:
        return None, None, None
    return round(gain.low_ns / 1000), round(gain.ns / 1000), round(gain.high_ns / 1000)


def _lost_since_ns(gain: Gain | None) -> float:
    """By what was kept and turned out to be slower, at least."""
    return max(0.0, -gain.high_ns) if gain is not None else 0.0


def kept_line(conductor: Conductor, *, is_iterable: bool = False) -> str | None:
    """``None``: nothing else is kept than what was in use. ``is_iterable``: the data set is, so that the number of
    workers decides the order of its records."""
    if conductor.went_back:
        return _went_back_line(conductor.searches[-1])
    if conductor.status != tuning.KEPT or conductor.interval is None:
        return None
    low, high = conductor.interval
    changed = conductor.began_with.difference(conductor.setting)
    changes = ", ".join(_change(*each) for each in changed.items())
    order = f"; {OTHER_ORDER}" if is_iterable and "num_workers" in changed else ""
    return (
        f"{changes}: {conductor.speedup:.2g} × as fast, measured, 95 % {low:.2g}–{high:.2g}; "
        f"{conductor.trial_ns / 1e9:.0f} s of trials{order}"
    )


def _went_back_line(search: Search) -> str | None:
    ratio = search.ratio()
    if ratio is None:
        return None
    changes = ", ".join(_change(*each) for each in search.trials[0].setting.difference(search.best.setting).items())
    return (
        f"--tune went back, {changes}: what was kept turned out to be slower; what was in use before is "
        f"{ratio.speedup:.2g} × as fast, measured, 95 % {ratio.low:.2g}–{ratio.high:.2g}"
    )


def end_lines(conductor: Conductor, source: SourceLine | None) -> Iterator[str]:
    """At the end of the program."""
    if any(search.used_steps for search in conductor.searches):
        yield f"--tune: {_spent(conductor)}"
    lines = list(script_lines(conductor))
    if lines:
        yield tuning.to_write(lines, _where(source))
    elif conductor.is_searching:
        yield tuning.ENDED_WITHIN
        yield from (f"--tune: {each}" for each in measured_so_far(conductor))
    elif conductor.status not in (tuning.REFUSED, tuning.FAILED):
        first, *others = why_nothing_kept(conductor) or [_why_not(conductor)]
        yield tuning.left_as_it_is(first)
        yield from (f"--tune: {each}" for each in others)
        if conductor.lacks_time and not any(search.used_steps for search in conductor.searches):
            yield LONGER
    yield from _of_starts(conductor, source)


def _of_starts(conductor: Conductor, source: SourceLine | None) -> Iterator[str]:
    """Workers that persist are not tried, since they keep the data set as it was: who knows it may write so."""
    starts, steps = conductor.starts, conductor.pass_steps()
    if starts is None or steps is None or conductor.status in (tuning.REFUSED, tuning.FAILED):
        return
    in_all_ns = starts.passes * starts.pass_ns
    if in_all_ns >= STARTS_NS and starts.pass_ns >= STARTS_PART * (starts.pass_ns + steps * conductor.step_ns):
        yield (
            f"--tune: starting and ending workers took {in_all_ns / 1e9:.1f} s, {starts.pass_ns / 1e9:.2g} s in each "
            f"of {starts.passes} passes; if the program does not change its data set between passes, to write into the "
            f"script{_where(source)}: persistent_workers=True,"
        )


def _where(source: SourceLine | None) -> str:
    return f" ({source.shown}:{source.line})" if source is not None and source.shown else ""


def _spent(conductor: Conductor) -> str:
    """What was gained is left out where it is not measured."""
    steps = sum(search.used_steps for search in conductor.searches)
    trials, lost = conductor.trial_ns / 1e9, conductor.lost_ns / 1e9
    spent = f"{steps} steps and {trials:.1f} s of trials, {lost:.1f} s of these lost"
    gain = gained(conductor.searches, conductor.began_with, conductor.since)
    if gain is None and conductor.since.steps and became_faster(conductor.searches, conductor.began_with):
        return (
            f"{spent}; what was gained since is not known: what was in use before became faster while it was measured"
        )
    if gain is None or gain.low_ns < 0:
        return spent
    low, middle, high = (each / 1e9 for each in (gain.low_ns, gain.ns, gain.high_ns))
    took = conductor.since.ns / 1e9
    return (
        f"{spent}; {middle:.0f} s (95 % {low:.0f}–{high:.0f}) gained since: the steps since then took {took:.0f} s "
        f"instead of {round(took) + round(middle)} s"
    )


def _why_not(conductor: Conductor) -> str:
    if conductor.reason not in (None, ASKING):
        return conductor.reason
    if conductor.reason is None and not conductor.searches and conductor.missing_steps:
        return _too_few(conductor)
    return "the program ended before anything was tried"


def _too_few(conductor: Conductor) -> str:
    setting, missing = conductor.setting, conductor.missing_steps
    more = f"{missing} {'step' if missing == 1 else 'steps'} more"
    if not setting.num_workers:
        return f"too few steps were measured, {more} would be needed"
    return (
        f"its queue of {setting.num_workers} × {setting.prefetch_factor} batches is filled at the start of each pass, "
        f"before anything can be compared: {more} of a pass would be needed"
    )


def script_lines(conductor: Conductor) -> Iterator[str]:
    """As arguments of the loader: what is kept, and what ``--set`` or ``--apply`` set, which the script has not."""
    if conductor.status != tuning.KEPT:
        return
    setting = conductor.setting
    set_from_outside = {name: value for name, value in setting.settings().items() if name in conductor.fixed}
    kept = {name: value for name, (_, value) in conductor.began_with.difference(setting).items()}
    for name, value in (set_from_outside | kept).items():
        if name == "threads_per_worker":
            yield f"worker_init_fn=lambda _: torch.set_num_threads({value}),"
        else:
            yield f"{name}={value},"


def _change(name: str, values: tuple[object, object]) -> str:
    """As Python writes them, and the page."""
    before, after = values
    return f"{name} {before} → {after}"


def _trial(search: Search, trial: Trial, index: int, number: int, origin_ns: int) -> TrialFacts:
    measured = speed(trial.blocks)
    candidate = trial.candidate
    last = trial.open_block
    is_shown = last is not None and (last.end_ns > 0 or not search.is_over)
    ended = sorted([*trial.blocks, *trial.cut_blocks], key=lambda block: block.start_ns)
    blocks = [_block(block, origin_ns) for block in [*ended, *([last] if last is not None and is_shown else [])]]
    return TrialFacts(
        search=index,
        number=number,
        settings=trial.setting.settings(),
        steps=trial.measured,
        kept=search.is_over and search.best is trial,
        predicted_speedup=candidate.predicted,
        predicted_low=candidate.low,
        predicted_high=candidate.high,
        steps_per_s=measured.speedup if measured is not None else None,
        low=measured.low if measured is not None else None,
        high=measured.high if measured is not None else None,
        reason=None if search.is_over and search.best is trial else trial.reason,
        blocks=blocks[-tuning.MOST_BLOCKS :],
    )


def _block(block: Block, origin_ns: int) -> TrialBlock:
    """One that goes on has no step yet."""
    ends = (max(0, to_us(instant_ns, origin_ns)) for instant_ns in (block.start_ns, block.end_ns or block.start_ns))
    return TrialBlock(max(0, block.first_step), block.steps, *ends)
