"""What the process does that judges: it reads a run from the database, and answers with what it found."""

from __future__ import annotations

import socket
import sqlite3
import traceback
from multiprocessing.connection import Connection

from sqlalchemy.exc import DBAPIError

from underfed_server.diagnose import Diagnoser
from underfed_server.errors import RequestError
from underfed_server.model import Diagnosis
from underfed_server.store.databases.trouble import trouble_of
from underfed_server.store.store import Store


class FailedJudgementError(Exception):
    """A run could not be judged; the message is the traceback."""


Answer = Diagnosis | Exception | None
"""``None``: the run's last diagnosis stays as it is."""


def answer_all(other_end: socket.socket) -> None:
    """First the URL of the database comes, then the runs, one after the other."""
    asked = Connection(other_end.detach())
    try:
        store = Store(asked.recv(), only_reads=True)
        diagnoser = Diagnoser()
        while True:
            asked.send(_judged(diagnoser, store, asked.recv()))
    except (EOFError, OSError):
        return  # the service has ended


def _judged(diagnoser: Diagnoser, store: Store, run_id: str) -> Answer:
    try:
        return diagnoser.diagnose(store, run_id)
    except RequestError as error:
        return error
    except Exception as error:
        # Of the database's own it is known that they can be sent; by them the service tells what to do.
        is_trouble = isinstance(error, DBAPIError | sqlite3.Error) and trouble_of(error) is not None
        return error if is_trouble else FailedJudgementError(traceback.format_exc())
