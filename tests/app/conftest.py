"""The service's application and an open store, each over a database of its own: once SQLite's, once PostgreSQL's.

Tests that change nothing are marked ``reads`` and share one application; fixtures of a module's scope share more.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from hashlib import blake2b
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache
from starlette.datastructures import State
from starlette.testclient import TestClient

from tests.app.databases import Databases, Files, OnServer
from tests.app.serving import application_in
from tests.fakes import postgresql
from underfed_server.advice.prediction import predict
from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.simulate import Outcome, SimulatedSetting, simulate
from underfed_server.advice.prediction.workload import Workload
from underfed_server.api import application as api
from underfed_server.main import Application
from underfed_server.store.databases import postgresql as postgresql_engines
from underfed_server.store.databases import sqlite
from underfed_server.store.store import Store

HERE = Path(__file__).parent

OF_DATABASES = [
    *("ingest", "several", "store/databases"),
    *(f"store/writing/test_{name}.py" for name in ("prepared_elsewhere", "room_for_rows", "set_aside", "switches")),
    *(f"store/writing/test_{name}.py" for name in ("windows", "writer")),
    *(f"store/runs/test_{name}.py" for name in ("archive", "jobs", "paging", "runs", "searching")),
]
"""Whose tests are about what a database does, or ask it for something else each: each runs on both."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Elsewhere the many tests are about what is computed of the rows, and most ask for these in the same ways. So
    PostgreSQL has one case of each that is marked ``sql``, which together send all statements that the tests on
    PostgreSQL send, and of each module without such a mark one test. The others ask it in ``make soak``.
    """
    have_chosen = {item.path for item in items if item.get_closest_marker("sql")}
    seen: set[tuple[Path, str]] = set()
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or call.params.get("databases") != "postgresql" or not item.path.is_relative_to(HERE):
            continue
        path = item.path.relative_to(HERE)
        is_given = any(marker.args[0] == "databases" for marker in item.iter_markers("parametrize"))
        if is_given or item.get_closest_marker("soak") or any(map(path.is_relative_to, OF_DATABASES)):
            continue
        is_chosen = item.get_closest_marker("sql") is not None
        group = path, getattr(item, "originalname", item.name) if is_chosen else ""
        if group in seen or (item.path in have_chosen and not is_chosen):
            item.add_marker(pytest.mark.soak)
        seen.add(group)


on_sqlite_alone = pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
on_postgresql_alone = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)

Opening = Callable[[str], Application]
"""Opens the service's application over the database of a URL."""


@pytest.fixture(scope="session", autouse=True)
def _routes_made_once() -> Iterator[None]:
    """Every application has the same routes, and to make them takes longer than most tests."""
    made = api.skeleton()

    def skeleton() -> FastAPI:
        app = copy(made)
        app.state, app.user_middleware = State(), []
        return app

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api, "skeleton", skeleton)
        yield


@dataclass(frozen=True, slots=True)
class _Portal:
    """What a client uses that was not entered, which gives it one of its own."""

    opened: Callable[[], BlockingPortal]

    def __get__(self, client: TestClient, owner: type[TestClient]) -> BlockingPortal:
        return self.opened()


@pytest.fixture(scope="module", autouse=True)
def _one_event_loop() -> Iterator[None]:
    """Of all requests of a module, from the first one on: else each has a loop and threads of its own."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patched:
        patched.setattr(TestClient, "portal", _Portal(cache(lambda: stack.enter_context(start_blocking_portal()))))
        yield


@dataclass(frozen=True, slots=True)
class _Asked:
    """In place of what is simulated of a workload: what that follows from."""

    workload: Workload

    def inputs(self, _setting: SimulatedSetting) -> Workload:
        return self.workload


@cache
def _values_of(kind: type[Any]) -> Callable[[Any], Any] | None:
    """All values of a record of this kind. Records pickle themselves, too, at four times the cost."""
    return attrgetter(*(each.name for each in fields(kind))) if is_dataclass(kind) and fields(kind) else None


class _Content(pickle.Pickler):
    """Functions that a workload has, too: by where they are written and what they were given."""

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, FunctionType):
            kind: Any = type(value)
            values = _values_of(kind)
            return NotImplemented if values is None else (tuple, ((str(kind), values(value)),))
        given = tuple(cell.cell_contents for cell in value.__closure__ or ())
        return tuple, ((value.__module__, value.__qualname__, value.__code__.co_firstlineno, *given),)


@pytest.fixture(scope="session", autouse=True)
def _simulated_once() -> Iterator[None]:
    """The same loop goes the same way each time, and to find it out is most of what judging a run takes: many tests
    judge the same run, over both databases.
    """
    known: dict[tuple[bytes, SimulatedSetting], Outcome] = {}
    # A workload is asked for under one setting after the other, and to read all of it takes as long as to simulate it.
    recent: deque[tuple[Workload, bytes]] = deque(maxlen=16)

    def content(workload: Workload) -> bytes:
        found = next((digest for each, digest in tuple(recent) if each is workload), None)
        if found is None:
            written = BytesIO()
            _Content(written).dump(workload)
            found = blake2b(written.getvalue(), digest_size=16).digest()
            recent.append((workload, found))
        return found

    def simulated(workload: Workload, setting: SimulatedSetting) -> Outcome:
        key = content(workload), setting
        if key not in known:
            known[key] = simulate(workload.inputs(setting), setting)
        return known[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(predict, "changed", lambda *words: _Asked(changed(*words)))
        patched.setattr(predict, "simulate", simulated)
        yield


@pytest.fixture(scope="session", autouse=True)
def _statements_compiled_once() -> Iterator[None]:
    """Each store has engines of its own, and each engine would make the same text of the same statements again: a tenth
    of what most tests of a store cost. What an engine makes depends on its dialect alone, of which all of one kind are
    taken as one.
    """
    known: LRUCache[Any, Any] = LRUCache(5_000)

    def opened(*words: Any, **named: Any) -> Engine:
        engine = create_engine(*words, **named)
        engine._compiled_cache = known
        return engine

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DefaultDialect, "__eq__", lambda one, other: type(one) is type(other))
        patched.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)))
        for kind in (sqlite, postgresql_engines):
            patched.setattr(kind, "create_engine", opened)
        yield


AS_SHIPPED = sqlite.WRITER_PRAGMAS


@pytest.fixture(scope="session", autouse=True)
def _careless() -> Iterator[None]:
    """Like the tests' PostgreSQL, SQLite does not sync: a power failure may lose a test's data."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite, "WRITER_PRAGMAS", (*AS_SHIPPED, "synchronous=OFF"))
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    with postgresql.serving() as server:
        yield server


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the tables of this version."""
    file = tmp_path_factory.mktemp("template") / "underfed.db"
    Store(f"sqlite:///{file}").close()
    return file


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Iterator[Databases]:
    made: Databases
    if request.param == "sqlite":
        made = Files(request.getfixturevalue("sqlite_template"))
    else:
        made = OnServer(request.getfixturevalue("postgresql_server"))
    yield made
    made.drop()


@pytest.fixture
def database_url(databases: Databases, tmp_path: Path) -> str:
    """With the tables of this version, and no row."""
    return databases.new(tmp_path)


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    """How this module opens its application: with which token and runs."""
    directory = tmp_path_factory.mktemp("service")
    return lambda url: application_in(directory, database_url=url)


@pytest.fixture(scope="module")
def shared_application(
    databases: Databases, opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    opened = opening(databases.new(tmp_path_factory.mktemp("shared")))
    yield opened
    opened.close()


@pytest.fixture
def application(
    request: pytest.FixtureRequest,
    databases: Databases,
    opening: Opening,
) -> Iterator[Application]:
    """The application shared by this module's tests marked ``reads``; for other tests one of their own."""
    if request.node.get_closest_marker("reads"):
        yield request.getfixturevalue("shared_application")
        return
    opened = opening(request.getfixturevalue("database_url"))
    yield opened
    opened.close()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = Store(database_url)
    yield opened
    opened.close()
