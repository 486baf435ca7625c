"""Imports point one way: a module imports only from what lies before it on the way of a batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SERVER_LINE = (
    ("errors", "settings", "proxy_groups", "model", "names", "measurements", "logs", "counters", "budget", "garbage"),
    ("search",),
    ("ingest",),
    ("store",),
    ("facts",),
    ("diagnosis",),
    ("advice",),
    ("figures", "team", "comparison"),
    ("earlier",),
    ("diagnose",),
    ("export",),
    ("forked",),
    ("alerts",),
    ("api",),
    ("main",),
    ("terminal",),
    ("__main__", "backup", "migrate", "reference"),
    ("demo",),
)
AGENT = ROOT / "agent" / "underfed"
AGENT_ROOMS = ("host", "exchange", "trainer", "collector", "integrations", "launcher", "commands")
STORE_LINE = (
    ("columns",),
    ("databases",),
    ("runs",),
    ("writing",),
    ("reading",),
    ("team",),
    ("alerts",),
    ("store",),
    ("upkeep",),
)
PURE = ("search", "diagnosis", "advice")
IMPURE_LIBRARIES = {"fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "socket", "urllib", "http", "time"}
HEAVY_IN_TRAINING = {"psutil", "pynvml", "torch", "numpy", "json", "urllib", "http", "subprocess", "asyncio"}


SAME_ON_PURPOSE = {"UnderfedCallback"}
"""As the guides of each framework have it."""


def modules(package: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        yield ".".join(parts), parsed(path)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@cache
def imported(tree: ast.Module) -> list[str]:
    """Absolute names of what a module imports anywhere in it. No expression can import."""
    found: list[str] = []
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # which are more and more
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        nodes += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr)]
    return found


def imported_at_import_time(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def place(line: tuple[tuple[str, ...], ...], part: str) -> int | None:
    return next((index for index, names in enumerate(line) if part in names), None)


def backward_imports(package: str, folder: Path, line: tuple[tuple[str, ...], ...]) -> list[str]:
    """``package`` with dots is a room of a larger one."""
    found = []
    for name, tree in modules(folder / package.replace(".", "/")):
        own = place(line, name.split(".")[0])
        for target in imported(tree):
            if not target.startswith(f"{package}."):
                continue
            theirs = place(line, target.removeprefix(f"{package}.").split(".")[0])
            if own is None or (theirs is not None and theirs > own):
                found.append(f"{package}.{name} imports {target}")
    return found


def test_the_service_imports_one_way() -> None:
    assert backward_imports("underfed_server", ROOT / "app", SERVER_LINE) == []


def test_the_rooms_of_the_store_import_one_way() -> None:
    assert backward_imports("underfed_server.store", ROOT / "app", STORE_LINE) == []


def test_what_admits_requests_knows_no_route() -> None:
    rooms = "underfed_server.api."
    known = [
        f"{name} imports {target}"
        for name, tree in modules(ROOT / "app" / "underfed_server" / "api" / "admission")
        for target in imported(tree)
        if target.startswith(rooms) and not target.startswith(f"{rooms}admission")
    ]
    assert known == []


def test_a_migration_knows_only_what_was_written_for_migrations() -> None:
    """A migration must not use the service's code, which changes: it has to do for ever what it did when written."""
    rooms = "underfed_server.store.databases.migrations"
    live = [
        f"{name} imports {target}"
        for name, tree in modules(ROOT / "app" / rooms.replace(".", "/"))
        if name != "env"  # Alembic's own, which compares a database with the tables of today.
        for target in imported(tree)
        if target.startswith("underfed") and not target.startswith(f"{rooms}.")
    ]
    assert live == []


def importers(room: Path) -> set[str]:
    """Rooms of the agent that may import this one, as the docstring of its ``__init__`` says."""
    documentation = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    (line,) = re.findall(r"^Imported by: (.+)\.$", documentation, re.MULTILINE)
    return set() if line == "nobody" else set(line.split(", "))


def test_the_rooms_of_the_agent_say_who_runs_them_and_who_imports_them() -> None:
    for room in AGENT_ROOMS:
        documentation = ast.get_docstring(ast.parse((AGENT / room / "__init__.py").read_text())) or ""
        assert re.search(r"^Runs in: .+\.$", documentation, re.MULTILINE), room
        assert importers(AGENT / room) <= set(AGENT_ROOMS) - {room}
    assert len([entry for entry in AGENT.iterdir() if not entry.name.startswith("__pycache__")]) <= 10


def test_trainer_and_collector_never_import_each_other_and_nobody_goes_back() -> None:
    order = {room: index for index, room in enumerate(AGENT_ROOMS)}
    assert all(order[user] > order[room] for room in AGENT_ROOMS for user in importers(AGENT / room))
    assert "collector" not in importers(AGENT / "trainer")
    assert "trainer" not in importers(AGENT / "collector")


def test_the_rooms_of_the_agent_are_imported_as_they_say() -> None:
    """``errors`` is everybody's; the package itself hands out what ``trainer`` has, and gives it the ``Run``."""
    allowed = {room: importers(AGENT / room) | {room} for room in AGENT_ROOMS} | {"errors": set(AGENT_ROOMS)}
    wrong = [
        f"underfed.{name} imports {target}"
        for name, tree in modules(AGENT)
        if name != "__init__"
        for target in imported(tree)
        if target.startswith("underfed.")
        and name.split(".")[0] not in allowed.get(target.split(".")[1], set(AGENT_ROOMS))
    ]
    assert wrong == []


def test_no_modules_of_the_agent_need_each_other() -> None:
    """Not for their types either."""
    trees = {f"underfed.{name}".removesuffix(".__init__"): tree for name, tree in modules(AGENT) if name != "__init__"}
    needed = {
        name: {target if target in trees else target.rpartition(".")[0] for target in imported(tree)} & trees.keys()
        for name, tree in trees.items()
    }
    while free := {name for name, others in needed.items() if not others & needed.keys()}:
        needed = {name: others for name, others in needed.items() if name not in free}
    assert needed == {}


@pytest.mark.parametrize(("package", "folder", "other"), [("underfed", "agent", "underfed_server"),
                                                          ("underfed_server", "app", "underfed")])  # fmt: skip
def test_agent_and_service_never_import_each_other(package: str, folder: str, other: str) -> None:
    # The demo is a user of the agent, as any training job is.
    crossing = [
        f"{name} imports {target}"
        for name, tree in modules(ROOT / folder / package)
        if not name.startswith("demo.")
        for target in imported(tree)
        if target.split(".")[0] == other
    ]
    assert crossing == []


@pytest.mark.parametrize("part", PURE)
def test_searching_judging_and_advising_are_pure(part: str) -> None:
    impure = [
        f"{part}.{name} imports {target}"
        for name, tree in modules(ROOT / "app" / "underfed_server" / part)
        for target in imported(tree)
        if target.split(".")[0] in IMPURE_LIBRARIES or target.startswith("underfed_server.store")
    ]
    assert impure == []


def test_nothing_heavy_is_imported_with_the_agent() -> None:
    """``import underfed`` in a training process loads the standard library's light half and nothing else."""
    heavy = [
        f"underfed.{name} imports {target}"
        for name, tree in modules(AGENT)
        if not name.startswith(("collector.", "commands.", "host.calibration", "launcher.advice"))
        for target in imported_at_import_time(tree)
        if target.split(".")[0] in HEAVY_IN_TRAINING - {"json"}
    ]
    assert heavy == []


@pytest.mark.parametrize("package", [AGENT, ROOT / "app" / "underfed_server"])
def test_no_two_classes_have_one_name(package: Path) -> None:
    """But for what the service answers of what it was sent: ``wire.Run`` and ``model.Run`` are one thing."""
    found: dict[str, list[str]] = {}
    for module, tree in modules(package):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    double = {name: where for name, where in found.items() if len(where) > 1 and where != ["ingest.wire", "model"]}
    assert set(double) == SAME_ON_PURPOSE & set(found), double
