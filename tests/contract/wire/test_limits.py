"""The limits that docs/wire.md names are those of the service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import inspect

from underfed_server.ingest.endpoint import MOST_BYTES
from underfed_server.ingest.inflate import MOST_INFLATED_BYTES, MOST_VALUES
from underfed_server.ingest.wire import GROUPS, LARGEST, LONGEST_US, MOST_BATCHES, MOST_SAMPLES, MOST_STEPS, Window

DOCUMENTED = Path(__file__).parents[3] / "docs" / "wire.md"

COLUMNS = {MOST_STEPS, MOST_BATCHES, MOST_SAMPLES}
EVERY_KEY = "every key"


class Limit(NamedTuple):
    kind: str
    most: float | str | None
    name: str
    """Of the field, without what it is in."""


def limits() -> Iterator[Limit]:
    """Of every field of a window, and of all that it holds."""
    seen: set[type] = set()

    def within(name: str, kind: inspect.Type) -> Iterator[Limit]:
        match kind:
            case inspect.StructType() if kind.cls not in seen:
                seen.add(kind.cls)
                for field in kind.fields:
                    yield from within(field.encode_name, field.type)
            case inspect.UnionType():
                for each in kind.types:
                    yield from within(name, each)
            case inspect.TupleType():
                for each in kind.item_types:
                    yield from within(name, each)
            case inspect.ListType():
                yield Limit("list", kind.max_length, name)
                yield from within(name, kind.item_type)
            case inspect.DictType():
                yield Limit("list", kind.max_length, name)
                yield from within(EVERY_KEY, kind.key_type)
                yield from within(name, kind.value_type)
            case inspect.StrType():
                yield Limit("text", kind.max_length or kind.pattern, name)
            case inspect.IntType():
                yield Limit("integer", kind.le, name)
            case inspect.FloatType():
                yield Limit("float", kind.le, name)

    return within("", inspect.type_info(Window))


def table() -> str:
    names: dict[tuple[str, float | str | None], set[str]] = defaultdict(set)
    for each in limits():
        names[each.kind, each.most].add(f"`{each.name}`" if each.name != EVERY_KEY else EVERY_KEY)

    def of(kind: str, most: float | str) -> str:
        return ", ".join(sorted(names[kind, most], key=lambda name: (name == EVERY_KEY, name)))

    rows = [
        ("the body as posted", f"{MOST_BYTES:,} bytes"),
        ("inflated",
         f"{MOST_INFLATED_BYTES:,} bytes and {MOST_VALUES:,} values, counted by their commas, also those in texts"),
        ("steps, in as many objects; batches, in as many; samples of processes, hosts, workers and GPUs together",
         f"{MOST_STEPS:,}; {MOST_BATCHES:,}; {MOST_SAMPLES:,}"),
        (of("list", 1_000), "1,000 entries each"),
        ("`samples` of a stack", f"{GROUPS} entries, no fewer either"),
        ("any other list or object that is no column", "10,000 entries"),
        (of("text", 500), "500 characters each"),
        (of("text", 2_000), "2,000 characters"),
        ("any other text", "10,000 characters"),
        (of("integer", 10_000_000), "10,000,000 each"),
        ("a duration within a column of steps or batches", f"{LONGEST_US:,}"),
        (of("float", 1e12), "10^12"),
        ("any other *float* that is measured", "10^15; a fraction 1"),
    ]  # fmt: skip
    return "\n".join(("| of a window | at most |", "|---|---|", *(f"| {what} | {most} |" for what, most in rows)))


def test_the_documentation_names_the_limits() -> None:
    assert table() in DOCUMENTED.read_text(), f"a limit has changed; docs/wire.md names them so:\n{table()}"


def test_every_limit_is_named() -> None:
    """A new one needs a row."""
    found = {(each.kind, each.most) for each in limits()}
    assert found == {
        *(("list", most) for most in (GROUPS, 1_000, 10_000, *COLUMNS)),
        *(("text", most) for most in (500, 2_000, 10_000, r"^[A-Za-z0-9_-]{1,64}\Z")),
        *(("integer", most) for most in (10_000_000, LONGEST_US, LARGEST)),
        *(("float", most) for most in (None, 1, 1e12, 1e15)),
    }
