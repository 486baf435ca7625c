"""A diagnosis and the runs table as rich renderables: verdict first, then why, then what to change."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from underfed_server import figures
from underfed_server.diagnosis.slowest_samples import NAMED, named, took
from underfed_server.model import (
    Advice,
    Anatomy,
    BesideAction,
    BestAdvice,
    Caller,
    Diagnosis,
    HotLine,
    JudgedRun,
    LedgerEntry,
    LoaderLine,
    Refusal,
    RunsPage,
    RunSummary,
    SharedCause,
    ToWrite,
)
from underfed_server.terminal.tuning import render_tuning
from underfed_server.terminal.verdict import has_some_wait, is_well, verdict_word, word_of

WAIT, WORK, QUIET, LOUD = "dark_orange3", "steel_blue", "bright_black", "bold"
BAR_COLUMNS = 28
"""With the words around it a line fits into 80 columns."""

MOST_LINES = 5
"""Of those that time is spent in: the rest is on the run's page."""

SLOW_STEPS = 5.0
"""As many mean steps a sample takes at least that is named: others of its batch and those of other workers hide less.
Own choice."""

LEAST_OF_AGENT = 0.01
"""Of all looks: less of the agent's own work is nothing that a run would notice."""

LEAST_OF_WAIT = 0.05
"""What the sampler takes of the wait, from which it is shown; the page has the same."""

LEAST_NAME = 24
"""Characters that the names of runs have room for at least: columns beside them give way first."""
WIDEST = 400
"""Characters that no table takes."""

PARTS = {
    "▨": (WAIT, "data wait"),
    "▧": (WAIT, "for other loaders"),
    "▤": (WAIT, "copy"),
    "█": (WORK, "compute"),
}
"""Style and name of a step's parts, by sign."""
RARE = "▧▤"
"""Of these, the parts that are shown only where they take time."""

MARKS = {
    "data": ("◆", WAIT),
    "transfer": ("◆", WAIT),
    "compute": ("○", "green"),
    "host": ("◇", "default"),
    "unknown": ("◌", QUIET),
}
"""Sign and style, by bound."""
SOME_WAIT = ("◇", WAIT)


def render_diagnosis(diagnosis: Diagnosis) -> RenderableType:
    parts: list[RenderableType] = [_headline(diagnosis)]
    if diagnosis.anatomy:
        best = diagnosis.best_advice
        promised = best if best and best.is_promised else None
        parts += ["", _anatomy(diagnosis.anatomy, promised, diagnosis.loader if len(diagnosis.loaders) > 1 else None)]
    if speeds := _instant_speeds(diagnosis):
        parts += ["", speeds]
    if diagnosis.tuning:
        parts += ["", render_tuning(diagnosis.tuning, diagnosis.trials)]
    if len(diagnosis.loaders) > 1:
        parts += ["", _loaders(diagnosis)]
    if diagnosis.causes:
        parts += ["", Text("Why", LOUD), _evidence_of(diagnosis)]
    parts += [_shared(each, diagnosis.run_id) for each in diagnosis.shared]
    parts += _hotspots(diagnosis)
    fixes: list[RenderableType] = [_advice(advice, diagnosis) for advice in diagnosis.advice]
    if diagnosis.beside_loader:
        place = 0 if diagnosis.is_beside_first else len(fixes)
        fixes[place:place] = _beside(diagnosis)
    if diagnosis.to_write:
        fixes.insert(0, _to_write(diagnosis.to_write))
    for fix in fixes:
        parts += ["", fix]
    for refusal in diagnosis.refusals:
        parts += ["", _refusal(refusal)]
    # What a run gained by tuning itself is shown with its trials.
    if ledger := [each for each in diagnosis.ledger if not diagnosis.tuning or each.run_id != each.advice_of]:
        parts += ["", render_ledger(ledger)]
    return Group(*parts)


def _beside(diagnosis: Diagnosis) -> list[RenderableType]:
    """What to do outside the loader, as the page has it. A diagnosis of an earlier version has sentences alone."""
    if not diagnosis.beside:
        gain = figures.gain_at_most(diagnosis.beside_speedup)
        return [Text.assemble(("Outside the loader: ", LOUD), f"{diagnosis.beside_loader} ({gain})")]
    return [_action(each) for each in diagnosis.beside]


def _to_write(found: ToWrite) -> RenderableType:
    body = [Text(found.detail), *(Text(line, "green") for line in found.lines)]
    return Group(Text.assemble((found.title, LOUD), "   ", (found.gain, LOUD)), Padding(Group(*body), (0, 0, 0, 2)))


def _action(action: BesideAction) -> RenderableType:
    gain = figures.gain_at_most(action.speedup), QUIET if action.speedup is None else LOUD
    return Group(
        Text.assemble((action.title, LOUD), "   ", gain),
        Padding(Text(action.detail), (0, 0, 0, 2)),
    )


def _hotspots(diagnosis: Diagnosis) -> list[RenderableType]:
    parts: list[RenderableType] = []
    loading, between = "Where loading spends its time", "Where the program spends its time between batches"
    for bound, title, lines, looks, sentences in (
        ("data", loading, diagnosis.hot_lines, diagnosis.looks, (diagnosis.hot_order, diagnosis.hot_change)),
        ("host", between, diagnosis.step_lines, diagnosis.step_looks, (diagnosis.step_order, diagnosis.step_change)),
    ):
        if is_well(diagnosis.bound, diagnosis.level):
            parts += [_costliest(title, line) for line in lines[:1]]
        elif lines:
            parts += ["", _hot_lines(title, lines)]
            parts += [Padding(Text(text), (0, 0, 0, 2)) for text in sentences if text]
        elif diagnosis.bound == bound and 0 < looks < diagnosis.needed_looks:
            parts += ["", _few_looks(title, looks, diagnosis.needed_looks)]
    parts += _slow_samples(diagnosis)
    if (diagnosis.agent_fraction or 0.0) >= LEAST_OF_AGENT and (diagnosis.hot_lines or diagnosis.step_lines):
        of_agent = f"{figures.fraction(diagnosis.agent_fraction)} of all looks found Underfed itself: in no share here"
        parts.append(Padding(Text(of_agent, QUIET), (0, 0, 0, 2)))
    return parts


def render_runs(page: RunsPage, expression: str, *, are_deleted: bool = False) -> RenderableType:
    if not page.runs and are_deleted:
        return Text("No deleted run can be restored" + (f" and matches {expression}" if expression else ""))
    if not page.runs and expression:
        return Text(f"No run matches {expression}")
    if not page.runs:
        return Text("No run yet. To record one: underfed run -- python train.py; to see one: underfed demo")
    rest = page.counts.all - len(page.runs)
    more = [Text(f"{rest:,} more; --limit shows more of them", QUIET)] if rest > 0 else []
    return Group(_RunsTable(page.runs), *more)


@dataclass(frozen=True, slots=True)
class _RunsTable:
    """As many columns as there is room for: none is cut, and a run's name that is too long goes on in the next line."""

    runs: Sequence[RunSummary]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        folded = max(0, max(len(run.run_id) for run in self.runs) - LEAST_NAME)
        whole = options.update(width=max(options.max_width, WIDEST))
        tables = [_runs_table(self.runs, frozenset(GIVING_WAY[:count])) for count in range(len(GIVING_WAY) + 1)]
        fits = (each for each in tables if Measurement.get(console, whole, each).maximum - folded <= options.max_width)
        yield next(fits, tables[-1])


WAITS = "wait/step"
"""Short, so that 80 columns have room for the status."""
GIVING_WAY = ("steps", "step", "change", "cause", "status")
"""What a narrow terminal leaves out, the first first; ``change``: which fix it is that gains."""


def _runs_table(runs: Sequence[RunSummary], left_out: AbstractSet[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style=QUIET)
    # Of the others no figure is cut: this one alone is folded.
    table.add_column("run", overflow="fold", min_width=8)
    names = ("status", "verdict", "cause", WAITS, "step", "steps", "fix gains")
    shown = [name for name in names if name not in left_out]
    for name in shown:
        table.add_column(name, justify="right" if name in (WAITS, "step", "steps") else "left", no_wrap=True)
    for run in runs:
        mark, style = mark_of(run)
        cells: dict[str, str | Text] = {
            "status": run.status_label,
            "verdict": Text(f"{mark} {word_of(run, run.no_loader)}", style),
            "cause": run.cause_label or "",
            WAITS: _wait(run),
            "step": figures.duration(run.step_us),
            "steps": f"{run.steps:,}",
            "fix gains": _fix(run.best_advice, names_change="change" not in left_out),
        }
        table.add_row(run.run_id, *(cells[name] for name in shown))
    return table


def _wait(run: RunSummary) -> str:
    """Of a run that copies hold up, theirs: its wait for data would read as if there were none."""
    if run.bound != "transfer":
        return figures.fraction(run.data_stall_fraction)
    return "copies" if run.copy_fraction is None else f"{figures.fraction(run.copy_fraction)} copies"


def _fix(advice: BestAdvice | None, *, names_change: bool) -> Text:
    """What the run gains by its best advice, which that is, and of which loop where the run has others."""
    if advice is None:
        return Text(figures.NOT_MEASURED)
    text = Text(figures.gain_of_run(advice), LOUD if advice.is_promised else QUIET)
    if not names_change:
        return text
    text.append(f" {advice.change_label}", "not bold")
    return text.append(f" of {advice.loader}, its loop {figures.gain(advice)}", QUIET) if advice.run_speedup else text


def mark_of(judged: JudgedRun | LoaderLine | Diagnosis) -> tuple[str, str]:
    return SOME_WAIT if has_some_wait(judged.bound, judged.level) else MARKS[judged.bound]


def _headline(diagnosis: Diagnosis) -> RenderableType:
    mark, style = mark_of(diagnosis)
    known = diagnosis.bound != "unknown"
    clock = {"gpu": "device clock", "host": "host clock"}[diagnosis.clock]
    basis = f"confidence {diagnosis.confidence}, {_basis(diagnosis)}, {clock}" if known else ""
    word = word_of(diagnosis)
    lines = [
        Text.assemble((f"{mark} {word[0].upper()}{word[1:]}", f"bold {style}"), "  ", (basis, QUIET)),
        Text(diagnosis.sentence, LOUD),
    ]
    sentences = (diagnosis.why, diagnosis.reason, _lost(diagnosis), _speed(diagnosis), _saved(diagnosis))
    lines += [Text(text) for text in sentences if text]
    return Group(*lines)


def _lost(diagnosis: Diagnosis) -> str | None:
    """Of the whole run, as the page has it."""
    if diagnosis.hours_lost is None or diagnosis.hours_used is None or diagnosis.bound == "unknown":
        return None
    copies = " and copies" if diagnosis.copy_hours_lost else ""
    paused, each = figures.shown_pauses(diagnosis), _divided(diagnosis)
    lost, used = (figures.hours(hours / each) for hours in (diagnosis.hours_lost, diagnosis.hours_used))
    on_gpus = " of GPU time" if diagnosis.gpu_hours_lost is not None else " on each rank" if each > 1 else ""
    in_all = f" ({figures.hours(diagnosis.hours_lost)} on all {each})" if each > 1 else ""
    pauses = f"pauses took {figures.hours(paused * diagnosis.hours_used / each)}, {figures.fraction(paused)} of {used}"
    if paused:
        used = f"{figures.hours((1 - paused) * diagnosis.hours_used / each)} between pauses"
    share = figures.share_of_all(diagnosis)
    found = "" if share is None else f": {share}{' over all steps' if len(diagnosis.loaders) > 1 else ''}"
    said = f"{lost}{on_gpus}{in_all} lost to waiting for data{copies}, of {used} in {_over(diagnosis)}{found}"
    return f"{said}; {pauses}." if paused else f"{said}."


def _divided(diagnosis: Diagnosis) -> int:
    """Ranks among which hours are divided. Those of GPUs are what is paid for: they are summed. Other time is shown as
    it went by."""
    return 1 if diagnosis.gpu_hours_lost is not None else max(1, len(diagnosis.ranks))


def _speed(diagnosis: Diagnosis) -> str | None:
    speed = None if diagnosis.bound == "unknown" else figures.speed(diagnosis)
    return speed and f"{speed}."


def _saved(diagnosis: Diagnosis) -> str | None:
    """Of a run that has ended, as on its page, where a fix is what to do first. One that an earlier version judged may
    have the hours of another fix."""
    best, saved = diagnosis.best_advice, diagnosis.hours_saved
    if best is None or not best.is_promised or saved is None or diagnosis.status == "running" or diagnosis.to_write:
        return None
    each = _divided(diagnosis)
    hours = figures.span((saved.low / each, saved.high / each), figures.hours)
    on_ranks = " on each rank" if each > 1 else ""
    return f"{hours} saved{on_ranks} over the same steps if you {figures.continued(best.title)}."


def _over(diagnosis: Diagnosis) -> str:
    """What hours are counted over: more than the newest steps, which are judged."""
    count, ranks = len(diagnosis.loaders), len(diagnosis.ranks)
    by_ranks = f", summed over {ranks} ranks" if ranks > 1 and diagnosis.gpu_hours_lost is not None else ""
    if count > 1:
        return f"the loops over {'both' if count == 2 else f'all {count}'} loaders{by_ranks}"
    before = diagnosis.judged_from_step
    others = "" if before is None else f" ({before:,} of them with other settings)"
    first = f", most of it in the first {diagnosis.warmup_steps}, before those judged"
    at_start = first if diagnosis.is_lost_at_start else ""
    steps = (
        f", over all {diagnosis.steps:,} steps{others}{at_start}" if diagnosis.steps > diagnosis.judged_steps else ""
    )
    return f"the training loop{by_ranks}{steps}"


def _basis(diagnosis: Diagnosis) -> str:
    """What the headline is of, and where that is not the same the causes. The page says it alike."""
    ranks, judged, share = len(diagnosis.ranks), f"{diagnosis.judged_steps:,}", diagnosis.judged_stall_fraction
    on_ranks = f" on {'both' if ranks == 2 else f'all {ranks}'} ranks" if ranks > 1 else ""
    is_one = len(diagnosis.loaders) > 1
    of = f"{f' of {diagnosis.loader}' if is_one else ''}{on_ranks}"
    if share is not None:
        last = f"causes from the last {judged}, where it is {figures.fraction(share)}"
        return f"over all {diagnosis.steps:,} steps{of} ({last})"
    return f"{'causes ' if is_one else ''}from the last {judged} steps{of}"


def _anatomy(now: Anatomy, advice: Advice | None, loader: str | None) -> RenderableType:
    """``loader``: whose steps these are, in a run with several."""
    table = Table.grid(padding=(0, 2))
    whose = "Mean step" if loader is None else f"Mean step of {loader}"
    for is_whole in (True, True, True, False):
        table.add_column(no_wrap=is_whole)
    table.add_row(whose, bar(now, now.step_us), Text(figures.duration(now.step_us), LOUD), "")
    if advice and advice.anatomy:
        then, gain = advice.anatomy, figures.gain(advice)
        total = Text(figures.duration(then.step_us), LOUD)
        table.add_row(
            "Predicted", bar(then, now.step_us), total, Text(f"{gain} with {advice.change}={advice.to}", WAIT)
        )
    return Group(table, Padding(_parts(now), (0, 0, 0, len(whose) + 2)))


def _loaders(diagnosis: Diagnosis) -> RenderableType:
    """All of the run, the judged one in bold."""
    table = Table(box=None, pad_edge=False, header_style=QUIET)
    for name in ("loader", "for", "verdict"):
        table.add_column(name, overflow="fold")
    for name in ("waiting", "lost", "its loop", "steps"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in diagnosis.loaders:
        mark, style = mark_of(line)
        table.add_row(
            line.loader,
            {"train": "training", "validation": "validation", "other": "–"}[line.role],
            Text(f"{mark} {verdict_word(line.bound, line.level, diagnosis.status)}", style),
            figures.fraction(line.hours_lost / diagnosis.hours_used if diagnosis.hours_used else None),
            figures.hours(line.hours_lost),
            figures.fraction(line.share_of_run_fraction),
            f"{line.steps:,}",
            style=LOUD if line.loader == diagnosis.loader else "",
        )
    title = Text.assemble(("Loaders", LOUD), ("  shares of the time in the loops", QUIET))
    return Group(title, Padding(table, (0, 0, 0, 2)))


def _instant_speeds(diagnosis: Diagnosis) -> RenderableType | None:
    """Speed with instant data, as computed and as ``--replay`` measured it; ``None`` where nothing was measured."""
    replay, computed = diagnosis.replay, diagnosis.instant_data_steps_per_s
    if replay is None:
        return None
    ends = (computed, diagnosis.instant_data_high_steps_per_s)
    said = f"computed {figures.span(ends, figures.amount)}, " if computed is not None else ""
    line = f"With instant data: {said}measured by replay {figures.amount(replay.instant_steps_per_s)} steps/s"
    now = f"  ({replay.batches} batches; {figures.amount(replay.real_steps_per_s)} as they were loaded)"
    return Text.assemble(line, (now, QUIET))


def bar(anatomy: Anatomy, scale_us: float, columns: int = BAR_COLUMNS) -> Text:
    """The step's parts; ``scale_us`` is as long as all the ``columns``."""
    return Text.assemble(*((sign * round(columns * us / scale_us), style) for sign, style, _, us in parts_of(anatomy)))


def parts_of(anatomy: Anatomy) -> list[tuple[str, str, str, int]]:
    """Sign, style, name and time of each, in the page's order (``frontend/src/charts/declared/anatomy.ts``)."""
    lasts = (anatomy.data_wait_us, anatomy.others_wait_us, anatomy.h2d_exposed_us, anatomy.compute_us)
    parts = [(sign, *PARTS[sign], us or 0) for sign, us in zip(PARTS, lasts, strict=True)]
    return [part for part in parts if part[-1] or part[0] not in RARE]


def _parts(anatomy: Anatomy) -> Text:
    parts = Text("  ").join(
        Text.assemble((sign, style), f" {name} {figures.duration(us)}") for sign, style, name, us in parts_of(anatomy)
    )
    within = [
        f"{figures.duration(us)} {what}"
        for us, what in ((anatomy.gpu_idle_us, "with the GPU idle"), (_shown_sampler_us(anatomy), "in the sampler"))
        if us is not None
    ]
    return parts.append(f"\n  of the wait {', '.join(within)}", QUIET) if within else parts


def _shown_sampler_us(anatomy: Anatomy) -> int | None:
    """``None``: also where it is too little of the wait to be shown."""
    sampler_us = anatomy.sampler_us
    return sampler_us if sampler_us and sampler_us >= LEAST_OF_WAIT * anatomy.data_wait_us else None


def _evidence_of(diagnosis: Diagnosis) -> RenderableType:
    parts: list[RenderableType] = []
    for cause in diagnosis.causes:
        rows = [(one.what, figures.evidence(one)) for one in cause.evidence]
        cost = f"costs {figures.fraction(cause.cost_fraction)} of a step"
        title = Text.assemble(cause.cause_label, "  ", (cost, QUIET))
        parts.append(Padding(Group(title, Padding(named_values(rows), (0, 0, 0, 2))), (0, 0, 0, 2)))
    return Group(*parts)


def _shared(shared: SharedCause, run_id: str) -> RenderableType:
    others = ", ".join(run.run_id for run in shared.runs if run.run_id != run_id)
    lost = f"  Together with {others} they lost {figures.hours(shared.hours_lost)} to waiting."
    return Padding(Text.assemble(("Shared: ", LOUD), shared.sentence, (lost, QUIET)), (0, 0, 0, 2))


def _hot_lines(title: str, lines: Sequence[HotLine]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines[:MOST_LINES]:
        table.add_row(_share(line, LOUD), Text(line.sentence))
        for one in line.callers:
            table.add_row(_share(one, QUIET), Text(f"  through {one.sentence}", QUIET))
    return Group(Text(title, LOUD), Padding(table, (0, 0, 0, 2)))


def _slow_samples(diagnosis: Diagnosis) -> list[RenderableType]:
    """Where the run waits for data, those that take as long as some steps; not again where a cause names them."""
    is_named = any(each.cause == "slow_samples" for each in diagnosis.causes)
    if diagnosis.bound != "data" or diagnosis.anatomy is None or is_named:
        return []
    least_us = SLOW_STEPS * diagnosis.anatomy.step_us
    slow = [
        (name, each) for each in diagnosis.slow_samples if each.own_us >= least_us and (name := named(each)) is not None
    ]
    if not slow:
        return []
    rows = [(name, took(each)) for name, each in slow[:NAMED]]
    return ["", Group(Text("Slowest samples", LOUD), Padding(named_values(rows, "left"), (0, 0, 0, 2)))]


def _costliest(title: str, line: HotLine) -> Text:
    """Where nothing waits for it."""
    return Text.assemble(f"{title}: ", _share(line, QUIET), f" {line.sentence}", style=QUIET)


def _share(one: HotLine | Caller, style: str) -> Text:
    margin = figures.margin(one.margin_fraction)
    return Text.assemble((figures.fraction(one.fraction), style), (f" {margin}" if margin else "", QUIET))


def _few_looks(title: str, looks: int, needed: int) -> RenderableType:
    said = f"not known: {looks} looks at it are too few, {needed} are needed"
    return Group(Text(title, LOUD), Padding(Text(said, QUIET), (0, 0, 0, 2)))


def _advice(advice: Advice, diagnosis: Diagnosis) -> RenderableType:
    body: list[RenderableType] = [Text(advice.why)]
    if advice.changes_batch_order:
        body.append(Text("Changes the order of batches for the same seed.", LOUD))
    body += [Text(text, QUIET) for text in (_reservation(advice), advice.risk) if text]
    body += [_origin_of_diff(advice), _diff(advice.diff)] if advice.diff else []
    body += [Text.assemble(("Try it: ", QUIET), advice.command)] if advice.command else []
    return Group(_gain(advice, diagnosis), Padding(Group(*body), (0, 0, 0, 2)))


def _gain(advice: Advice, diagnosis: Diagnosis) -> Text:
    title = Text.assemble((advice.title, LOUD), "   ")
    if not advice.is_promised:
        return title.append("try it", LOUD).append(f"   {_possible(advice, diagnosis)}", QUIET)
    title.append(figures.gain_of_run(advice), f"bold {WAIT}")
    if advice.run_speedup is not None:
        title.append(f" for the run, {figures.gain(advice)} {_of_its_loop(advice, diagnosis)}", f"bold {WAIT}")
    if advice.ceiling is not None:
        most = advice.ceiling if advice.run_ceiling is None else advice.run_ceiling
        of_run = "" if advice.run_ceiling is None else " for the run"
        title.append(f"   about {figures.factor(most)}{of_run} {_at_best(advice.ceiling, diagnosis)}", QUIET)
    return title


def _of_its_loop(advice: Advice, diagnosis: Diagnosis) -> str:
    """A run of one loop gains less than that, too, where the program does something else between its steps."""
    return f"in the loop over {advice.loader}" if len(diagnosis.loaders) > 1 else "between its pauses"


def _at_best(ceiling: float, diagnosis: Diagnosis) -> str:
    """The ceiling of a change that is about a part of the input is lower than what all of it costs."""
    now, instant = diagnosis.steps_per_s, diagnosis.instant_data_steps_per_s
    is_of_part = bool(now and instant) and ceiling < 0.999 * (instant or 0.0) / (now or 1.0)
    return "at best" if is_of_part else "with instant data"


def _possible(advice: Advice, diagnosis: Diagnosis) -> str:
    interval = figures.factors(advice.low, advice.high)
    if interval == figures.NOT_MEASURED:
        return "gain not computed"
    if advice.run_low is None or advice.run_high is None:
        return f"may be {interval}"
    of_run = figures.factors(advice.run_low, advice.run_high)
    return f"may be {of_run} for the run, {interval} {_of_its_loop(advice, diagnosis)}"


def _reservation(advice: Advice) -> str | None:
    """What the interval rests on, or why there is none."""
    if advice.predicted_speedup is None and advice.assumption:
        return f"Not computed: {advice.assumption}"
    return advice.assumption


def _origin_of_diff(advice: Advice) -> Text:
    """Whose lines these are; the page says the same."""
    place = advice.diff_file or ""
    if advice.sketch is None:
        hidden = {'"…"': "in quotes", "# …": "in comments"}
        left_out = " and ".join(where for mark, where in hidden.items() if mark in advice.diff)
        return Text(f"{place}{left_out and f', without what is {left_out}'}", QUIET)
    return Text(f"A sketch{f' of {place}' if place else ''}: {advice.sketch}.", QUIET)


def _diff(diff: str) -> Text:
    styles = {"+": "green", "-": "red"}
    return Text("\n").join(Text(line, styles.get(line[:1], QUIET)) for line in diff.splitlines())


def _refusal(refusal: Refusal) -> RenderableType:
    return Text.assemble(("Would not help: ", QUIET), (refusal.title, LOUD), f". {refusal.why}")


def render_ledger(entries: Sequence[LedgerEntry]) -> RenderableType:
    parts: list[RenderableType] = [Text("Predicted and observed", LOUD)]
    for entry in entries:
        settings = ", ".join(f"{name}={value}" for name, value in entry.settings.items())
        rows = [
            ("Change", settings or entry.change_label),
            ("Predicted", _with_interval(entry.predicted_speedup, entry.low, entry.high)),
            ("Observed", _with_interval(entry.observed_speedup, entry.observed_low, entry.observed_high)),
        ]
        tuned, carries = (" tuned itself", QUIET), (" carries the advice of ", QUIET)
        is_own = entry.run_id == entry.advice_of
        title = Text.assemble(entry.run_id, *((tuned,) if is_own else (carries, entry.advice_of)))
        parts.append(Padding(Group(title, named_values(rows), _reading(entry)), (0, 0, 0, 2)))
    return Group(*parts)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return figures.factor(value)
    return f"{figures.factor(value)}   {low:.2f} to {high:.2f}"


def _reading(entry: LedgerEntry) -> Text:
    """Whether the gain came out as predicted, or why that cannot be said."""
    if entry.inside_interval and not entry.is_narrow:
        return Text("inside the predicted interval, which was too wide to be missed", QUIET)
    if entry.inside_interval is not None:
        inside, outside = "✓ inside the predicted interval", "✗ outside the predicted interval"
        return Text(inside, "green") if entry.inside_interval else Text(outside, f"bold {WAIT}")
    if entry.observed_speedup is not None:
        return Text("No gain was predicted, so there is nothing to compare with", QUIET)
    return Text(entry.why_not or "not enough steps yet", QUIET)


def named_values(rows: Sequence[tuple[str, str]], justify: Literal["left", "right"] = "right") -> RenderableType:
    table = Table.grid(padding=(0, 3))
    table.add_column(style=QUIET, no_wrap=justify == "left")
    table.add_column(justify=justify)
    for name, value in rows:
        table.add_row(name, value)
    return table
