"""Processes that export: what they send, how many there are, and what becomes of a file when one dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.app.made_windows import made_stream
from tests.app.operations.forking import forked_by, forking
from tests.app.store.posting import post
from underfed_server.errors import InvalidError, TryLaterError
from underfed_server.export.formats import export_here
from underfed_server.forked.exporting import ExportProcesses, works
from underfed_server.model import Run
from underfed_server.store.store import Store


class Exporting(NamedTuple):
    store: Store
    run: Run
    export: ExportProcesses
    forker: psutil.Process
    """The one that forks others."""


@pytest.fixture
def exporting(tmp_path: Path) -> Iterator[Exporting]:
    """One process at a time."""
    of_one, url = works(1), f"sqlite:///{tmp_path}/underfed.db"
    with forking(*of_one) as (forks, forker):
        store = Store(url)
        post(store, made_stream(5))
        yield Exporting(store, store.run("run-1"), ExportProcesses(forks, of_one, url), forker)
        store.close()


@pytest.mark.parametrize("format", ["csv", "json", "trace"])
def test_another_process_sends_what_this_one_would_write(exporting: Exporting, format: str) -> None:
    store, run, export, forker = exporting
    pieces = export(store, run, format)  # type: ignore[arg-type]
    assert forked_by(exporting.forker).nice() > forker.nice()
    assert b"".join(pieces) == b"".join(export_here(store, run, format))  # type: ignore[arg-type]


def test_what_cannot_be_exported_is_refused_before_the_first_piece(exporting: Exporting) -> None:
    store, run, export, _ = exporting
    with pytest.raises(InvalidError, match="nothing is known of what this run executes"):
        export(store, run, "collapsed")
    assert next(export(store, run, "csv")), "there is a process for the next one"


def test_one_more_than_there_are_processes_is_asked_to_come_later(exporting: Exporting) -> None:
    store, run, export, _ = exporting
    pieces = export(store, run, "csv")
    with pytest.raises(TryLaterError):
        export(store, run, "csv")
    # A client that goes away leaves the rest.
    del pieces
    assert next(export(store, run, "csv"))


def test_a_file_whose_process_dies_ends_with_an_error_and_the_next_one_is_whole(exporting: Exporting) -> None:
    store, run, export, _ = exporting
    post(store, made_stream(50, steps=100, rank=1))
    run = store.run("run-1")
    pieces = export(store, run, "csv")
    # More than the kernel takes of it before it is read: the process is in the middle of it.
    assert len(b"".join(export_here(store, run, "csv"))) > 2**19
    forked_by(exporting.forker).kill()
    with pytest.raises(TryLaterError, match="has died"):
        list(pieces)
    assert b"".join(export(store, run, "csv")) == b"".join(export_here(store, run, "csv"))
