"""What the forked processes do: each reads from the database, and answers one request after the other."""

from __future__ import annotations

import os
import socket
import sqlite3
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from sqlalchemy.exc import DBAPIError

from underfed_server.diagnose import Diagnoser, FoundDiagnosis, found_in
from underfed_server.errors import RequestError
from underfed_server.store.databases.trouble import trouble_of
from underfed_server.store.reading.spark import Curve, read_spark
from underfed_server.store.store import Store
from underfed_server.team.pages import write_here

NICE = 5
"""Windows come first: a judge has a third of what the service has of a core that both want."""


class FailedElsewhereError(Exception):
    """It could not be done; the message is the traceback."""


def judge_runs(other_end: socket.socket) -> None:
    """Answers with what :func:`judged` finds of a run."""
    os.nice(NICE)
    diagnoser = Diagnoser()
    _answer_each(other_end, lambda store: partial(judged, diagnoser, store))


def judged(diagnoser: Diagnoser, store: Store, run_id: str) -> tuple[FoundDiagnosis | None, Curve]:
    """What is to be saved of a run's diagnosis, or ``None`` where its last one stays as it is, and its curve: of the
    same rows, which are decoded here already.

    Raises:
        NotFoundError: there is no such run.
    """
    with store.snapshot():
        diagnosis = diagnoser.diagnose(store, run_id)
        found = None if diagnosis is None else found_in(diagnosis)
        with store.reading() as reader:
            return found, read_spark(reader, run_id)


def compact_streams(other_end: socket.socket) -> None:
    """Answers with the chunks of a stream's newest windows; ``None``: it has none to compact."""
    _answer_each(other_end, lambda store: store.prepare_compaction)


def write_pages(other_end: socket.socket) -> None:
    """Answers with each page that it is sent."""
    _answer_each(other_end, lambda store: partial(write_here, store))


def _answer_each(other_end: socket.socket, work: Callable[[Store], Callable[[Any], Any]]) -> None:
    """First the URL of the database comes, then what is asked."""
    asked = Connection(other_end.detach())
    try:
        answer = work(Store(asked.recv(), only_reads=True))
        while True:
            asked.send(answered(answer, asked.recv()))
    except (EOFError, OSError):
        return  # the service has ended


def answered(answer: Callable[[Any], Any], request: Any) -> Any:
    """The answer, or an exception that can be sent."""
    try:
        return answer(request)
    except RequestError as error:
        return error
    except Exception as error:
        # Of the database's own it is known that they can be sent; by them the service decides what to do.
        is_trouble = isinstance(error, DBAPIError | sqlite3.Error) and trouble_of(error) is not None
        return error if is_trouble else FailedElsewhereError(traceback.format_exc())
