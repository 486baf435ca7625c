"""The process that writes pages of all runs: what it writes, and what becomes of them when it dies."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.app.made_windows import made_stream
from tests.app.operations.asking import ask, send
from tests.app.operations.forking import forked_by, forking
from tests.app.operations.running import running
from tests.app.serving import poll
from tests.app.store.posting import post
from underfed_server.errors import InvalidError, TryLaterError
from underfed_server.forked.answering import write_pages
from underfed_server.forked.asked import AskedProcess
from underfed_server.forked.forks import Forks
from underfed_server.forked.pages import PageProcess
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.store import Store
from underfed_server.team.pages import Page, jobs_page, runs_page, team_page, write_here

LIST = runs_page(RunFilter())


class Writing(NamedTuple):
    store: Store
    pages: PageProcess
    forks: Forks
    forker: psutil.Process
    """The one that forks others."""


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Writing]:
    url = f"sqlite:///{tmp_path}/underfed.db"
    with forking(write_pages) as (forks, forker):
        store = Store(url)
        post(store, made_stream(5))
        yield Writing(store, PageProcess(AskedProcess(forks, write_pages, url).ask, forks), forks, forker)
        store.close()


@pytest.mark.parametrize("page", [LIST, jobs_page(RunFilter(limit=1)), team_page(None)], ids=["runs", "jobs", "team"])
def test_another_process_writes_what_this_one_would(writing: Writing, page: Page) -> None:
    store, pages, _, _ = writing
    post(store, made_stream(5, run_id="later"))
    assert pages(store, page) == write_here(store, page)
    assert forked_by(writing.forker).is_running()


def test_what_is_wrong_with_a_page_is_said_by_who_asked(writing: Writing) -> None:
    with pytest.raises(InvalidError, match="no-such-key"):
        writing.pages(writing.store, runs_page(RunFilter(sort="no-such-key")))
    assert b"run-1" in writing.pages(writing.store, LIST), "the next page is written"


def test_the_page_that_a_process_died_of_is_written_by_the_next(writing: Writing) -> None:
    store, pages, _, _ = writing
    pages(store, LIST)
    killed = forked_by(writing.forker)
    killed.kill()
    # Who forks others buries it once it is to fork the next.
    poll(lambda: killed.status() == psutil.STATUS_ZOMBIE)
    assert pages(store, LIST) == write_here(store, LIST)
    assert forked_by(writing.forker).pid != killed.pid


def test_where_no_process_can_be_forked_any_more_pages_are_written_here(
    writing: Writing, caplog: pytest.LogCaptureFixture
) -> None:
    store, pages, _, forker = writing
    pages(store, LIST)
    for each in (forked_by(writing.forker), forker):
        each.kill()
    with caplog.at_level(logging.WARNING, "underfed.pages"):
        for _ in range(2):
            assert pages(store, LIST) == write_here(store, LIST)
    assert [record.message for record in caplog.records if "no process can be forked" in record.message] != []
    assert len(caplog.records) == 1


def test_a_service_that_ends_writes_no_more(writing: Writing) -> None:
    writing.pages(writing.store, LIST)
    writing.forks.close()
    with pytest.raises(TryLaterError):
        writing.pages(writing.store, LIST)


def test_a_service_has_its_lists_written_by_a_process_of_its_own(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        send(service.address, next(made_stream(1)))
        of_service = psutil.Process(service.process.pid)
        poll(lambda: len(of_service.children(recursive=True)) > 0)
        before = {each.pid for each in of_service.children(recursive=True)}
        assert [run["run_id"] for run in ask(service.address, "/api/v1/runs").json["runs"]] == ["run-1"]
        assert {each.pid for each in of_service.children(recursive=True)} - before
