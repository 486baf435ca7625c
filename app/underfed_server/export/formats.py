"""What a run can be exported as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from underfed_server.export.stacks import Sampled, as_collapsed, as_speedscope, sampled_of
from underfed_server.export.steps import Stretch, stretches
from underfed_server.export.table import as_csv, as_json, as_parquet
from underfed_server.export.trace import as_trace
from underfed_server.model import Run
from underfed_server.store.store import Store

ExportFormat = Literal["csv", "parquet", "json", "trace", "collapsed", "speedscope"]

Write = Callable[[Store, Run], Iterator[bytes]]

Export = Callable[[Store, Run, ExportFormat], Iterator[bytes]]
"""The file, piece by piece. Raises :class:`InvalidError` before the first one: the run has nothing of that kind, or the
service has no library for it."""


def _steps(write: Callable[[Run, Iterable[Stretch]], Iterator[bytes]]) -> Write:
    return lambda store, run: write(run, stretches(store, run))


def _stacks(write: Callable[[Iterable[Sampled]], Iterator[bytes]]) -> Write:
    return lambda store, run: write(sampled_of(store, run))


WRITTEN: Mapping[ExportFormat, tuple[Write, str, str]] = {
    "csv": (_steps(as_csv), "text/csv; charset=utf-8", "csv"),
    "parquet": (_steps(as_parquet), "application/vnd.apache.parquet", "parquet"),
    "json": (_steps(as_json), "application/json", "json"),
    "trace": (_steps(as_trace), "application/json", "trace.json"),
    "collapsed": (_stacks(as_collapsed), "text/plain; charset=utf-8", "collapsed.txt"),
    "speedscope": (_stacks(as_speedscope), "application/json", "speedscope.json"),
}
"""By format: its writer, media type and file extension."""


def export_here(store: Store, run: Run, format: ExportFormat) -> Iterator[bytes]:
    """Written by the thread that asks for the pieces."""
    write, _, _ = WRITTEN[format]
    return write(store, run)
