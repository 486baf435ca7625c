"""Imports point one way: a module imports only from what lies before it on the way of a batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SERVER_LINE = (
    ("errors", "settings", "model", "names", "logs", "distribution"),
    ("search",),
    ("ingest",),
    ("store",),
    ("facts",),
    ("diagnosis",),
    ("advice",),
    ("team", "comparison"),
    ("earlier",),
    ("diagnose",),
    ("export",),
    ("api",),
    ("main",),
    ("terminal",),
    ("__main__", "backup", "migrate", "reference"),
    ("demo",),
)
STORE_LINE = (
    ("columns",),
    ("databases",),
    ("runs",),
    ("writing",),
    ("reading",),
    ("team",),
    ("store",),
    ("upkeep",),
)
AGENT_LINE = (
    ("clock", "errors", "record", "procfs"),
    ("guard", "ring", "launched", "launcher", "rank", "config", "rundir", "cgroup", "mounts", "disks", "lock"),
    ("facts", "handover", "calibrate", "launch", "trainers", "sharding", "tunable", "overrides", "replay"),
    ("hooks",),
    ("collector",),
    ("recording", "control"),
    ("prefetcher",),
    ("__init__",),
    (
        "push",
        "acquaint",
        "checkup",
        "doctor",
        "advised",
        "command",
        "orders",
        "witness",
        "passthrough",
        "unseen",
        "run",
        "autoload",
        "site",
        "cli",
    ),
)
PURE = ("search", "diagnosis", "advice")
IMPURE_LIBRARIES = {"fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "socket", "urllib", "http", "time"}
HEAVY_IN_TRAINING = {"psutil", "pynvml", "torch", "numpy", "json", "urllib", "http", "subprocess", "asyncio"}


def modules(package: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        yield ".".join(parts), ast.parse(path.read_text(), filename=str(path))


def imported(tree: ast.Module) -> Iterator[str]:
    """Absolute names of what a module imports anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


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


def test_a_migration_knows_only_what_was_written_for_migrations() -> None:
    """The service's own code changes; a step must do for ever what it did when it was written."""
    rooms = "underfed_server.store.databases.migrations"
    live = [
        f"{name} imports {target}"
        for name, tree in modules(ROOT / "app" / rooms.replace(".", "/"))
        if name != "env"  # Alembic's own, which compares a database with the tables of today.
        for target in imported(tree)
        if target.startswith("underfed") and not target.startswith(f"{rooms}.")
    ]
    assert live == []


def test_the_agent_imports_one_way() -> None:
    assert backward_imports("underfed", ROOT / "agent", AGENT_LINE) == []


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
        for name, tree in modules(ROOT / "agent" / "underfed")
        if not name.startswith(("collector.", "cli", "calibrate", "advised"))
        for target in imported_at_import_time(tree)
        if target.split(".")[0] in HEAVY_IN_TRAINING - {"json"}
    ]
    assert heavy == []
