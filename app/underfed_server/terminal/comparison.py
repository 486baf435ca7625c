"""A comparison as a rich renderable: the sentence first, then what to doubt, speeds, steps and settings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from underfed_server import figures
from underfed_server.model import ComparedHotspot, ComparedRun, ComparedSetting, Comparison, Setting, Unit
from underfed_server.terminal.rendering import LOUD, PARTS, QUIET, WAIT, bar, mark_of, parts_of, render_ledger

BAR_COLUMNS = 20
"""With a name, a rate and an interval beside it a line fits into 80 columns."""

MOST_CHANGED = 5
"""Functions of loading."""

NAMED_COLUMNS = 3
"""With more runs, columns of settings are headed by numbers: names do not fit."""


def render_comparison(found: Comparison) -> RenderableType:
    parts: list[RenderableType] = [Text(found.sentence, LOUD)]
    parts += [Text(f"! {caution.sentence}", WAIT) for caution in found.cautions]
    parts += ["", _speeds(found), Padding(_legend(found), (0, 0, 0, 2))]
    if len(found.runs) > 2:
        sentences = (Text(run.sentence) for run in found.runs if run.sentence)
        parts += ["", Padding(Group(*sentences), (0, 0, 0, 2))]
    parts += ["", _loading(found)]
    parts += ["", _settings(found)]
    if found.ledger:
        parts += ["", render_ledger(found.ledger)]
    return Group(*parts)


def _speeds(found: Comparison) -> RenderableType:
    """One line per run: its mean step, or its time per sample, all to one scale."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=20)
    for justify in ("left", "left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    longest_us = max((run.anatomy.step_us / _per(run, found) for run in found.runs if run.anatomy), default=1.0)
    for number, run in enumerate(found.runs, 1):
        mark, style = mark_of(run.run)
        steps = bar(run.anatomy, longest_us * _per(run, found), BAR_COLUMNS) if run.anatomy else Text("")
        cells = (Text(run.label), Text(mark, style), steps, _rate(run, found), _speed(run))
        table.add_row(Text(str(number), QUIET) if len(found.runs) > NAMED_COLUMNS else "", *cells)
    return Padding(table, (0, 0, 0, 2 if len(found.runs) > NAMED_COLUMNS else 0))


def _per(run: ComparedRun, found: Comparison) -> float:
    return (run.batch_samples or 1.0) if found.per == "samples" else 1.0


def _rate(run: ComparedRun, found: Comparison) -> Text:
    if found.per == "samples" and run.samples_per_s is not None:
        return Text(f"{figures.amount(run.samples_per_s)} samples/s")
    return Text(figures.duration(run.anatomy.step_us if run.anatomy else None))


def _speed(run: ComparedRun) -> Text:
    if run.speed is None:
        return Text("baseline" if run.sentence is None else "", QUIET)
    interval = (f"   {run.speed.low:.2f} to {run.speed.high:.2f}", QUIET)
    return Text.assemble((figures.factor(run.speed.factor), LOUD if run.speed.is_told else QUIET), interval)


def _legend(found: Comparison) -> Text:
    each = "sample" if found.per == "samples" else "step"
    starts = "included" if found.basis == "epochs" else "left out"
    note = (f"  of the mean {each}, starts of epochs {starts}", QUIET)
    drawn = {sign for run in found.runs if run.anatomy for sign, *_ in parts_of(run.anatomy)}
    parts = (Text.assemble((sign, style), f" {name}") for sign, (style, name) in PARTS.items() if sign in drawn)
    return Text.assemble(Text("  ").join(parts), note)


def _loading(found: Comparison) -> RenderableType:
    """What changed of it, and of which runs it is not known what they load with."""
    changed = [hotspot for hotspot in found.hotspots if hotspot.differs][:MOST_CHANGED]
    missing = [Text(f"{run.label}: {run.hotspots_missing}") for run in found.runs if run.hotspots_missing]
    title = Text("Where loading spends its time", LOUD)
    if not changed and len(found.runs) - len(missing) > 1 and not found.runs[0].hotspots_missing:
        missing.append(Text("No function differs by more than chance."))
    return Group(_changed(found, changed) if changed else title, Padding(Group(*missing), (0, 0, 0, 2)))


def _changed(found: Comparison, hotspots: Sequence[ComparedHotspot]) -> RenderableType:
    """What each function takes in each of the runs, with what it calls."""
    is_timed = all(us is not None for hotspot in hotspots for us in hotspot.total_us)
    unit = f"   time of a {found.per.removesuffix('s')}'s loading" if is_timed else "   share of loading"
    table = _by_run(found.runs)
    for one in hotspots:
        cells = map(figures.duration, one.total_us) if is_timed else map(figures.fraction, one.total_fractions)
        table.add_row(Text.assemble(one.function, (f"  {one.file}", QUIET)), *(Text(cell) for cell in cells))
    return Group(Text.assemble(("Loading that changed", LOUD), (unit, QUIET)), Padding(table, (0, 0, 0, 2)))


def _settings(found: Comparison) -> RenderableType:
    differing = [one for one in found.settings if one.differs]
    equal = len(found.settings) - len(differing)
    title = Text.assemble(("Settings that differ", LOUD), ("   ◆ known to matter for loading", QUIET))
    if not differing:
        return Text(f"No setting differs: all {equal} that are known are equal.", LOUD)
    rest = Text(f"{equal} more are equal.", QUIET)
    return Group(title, Padding(Group(_rows(found.runs, differing), rest), (0, 0, 0, 2)))


def _by_run(runs: Sequence[ComparedRun]) -> Table:
    table = Table(box=None, pad_edge=False, header_style=QUIET)
    table.add_column("", no_wrap=True)
    for number, run in enumerate(runs, 1):
        # Text: rich takes a name in brackets for markup.
        table.add_column(Text(run.label if len(runs) <= NAMED_COLUMNS else str(number)), overflow="fold")
    return table


def _rows(runs: Sequence[ComparedRun], settings: Sequence[ComparedSetting]) -> Table:
    table = _by_run(runs)
    for one in settings:
        name = Text.assemble(("◆ ", WAIT) if one.matters else "  ", one.name)
        table.add_row(name, *(Text(_value(value, one.unit)) for value in one.values))
    return table


def _value(value: Setting, unit: Unit) -> str:
    if value is None:
        return figures.NOT_MEASURED
    if unit == "bytes" and isinstance(value, (int, float)):
        return figures.size(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
