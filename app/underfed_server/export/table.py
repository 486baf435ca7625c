"""One row a step: as CSV, as JSON, and as Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Literal, NamedTuple

import numpy as np

from underfed_server.errors import InvalidError
from underfed_server.export.steps import OF_BATCHES, STEP_COLUMNS, Stretch
from underfed_server.measurements import RECORDED, Column
from underfed_server.model import Run
from underfed_server.store.databases.tables import unix_us

Kind = Literal["text", "whole", "instant"]


class _Source(NamedTuple):
    kind: Kind
    name: str
    """The measure that the column holds."""
    is_of_batch: bool = False


def _sources() -> Iterator[tuple[str, _Source]]:
    yield from {"rank": _Source("whole", "rank"), "incarnation": _Source("whole", "incarnation")}.items()
    yield "loader", _Source("text", "loader")
    for lane_kind, names in (("steps", STEP_COLUMNS), ("batches", OF_BATCHES)):
        for name in names:
            declared = RECORDED[lane_kind][name]
            kind: Kind = "instant" if declared.kind == "instant" else "whole"
            yield declared.exported_as or name, _Source(kind, name, lane_kind == "batches")


COLUMNS: Mapping[str, _Source] = dict(_sources())
"""What was not measured is empty in CSV and null in the others."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection")."""


def as_csv(run: Run, steps: Iterable[Stretch]) -> Iterator[bytes]:
    yield _csv_lines([list(COLUMNS)])
    for stretch in steps:
        columns = [_texts(stretch, name, run.started_at) for name in COLUMNS]
        yield _csv_lines(zip(*columns, strict=True))


def as_json(run: Run, steps: Iterable[Stretch]) -> Iterator[bytes]:
    """``{"run": …, "steps": [{…}, …]}``, a step a line."""
    yield b'{"run": ' + run.model_dump_json(by_alias=True).encode() + b',\n"steps": ['
    separator = "\n"
    for stretch in steps:
        columns = [_values(stretch, name, run.started_at) for name in COLUMNS]
        lines = (json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in zip(*columns, strict=True))
        yield (separator + ",\n".join(lines)).encode()
        separator = ",\n"
    yield b"\n]}\n"


def as_parquet(run: Run, steps: Iterable[Stretch]) -> Iterator[bytes]:
    """A row group for some thousand steps; instants in microseconds UTC; the run stands in the file's metadata.

    Raises:
        InvalidError: the service has no library for it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        message = "format: this service has no Parquet library; pip install 'underfed[parquet]' where it runs"
        raise InvalidError(message, field="format") from error
    kinds = {"text": pyarrow.string(), "whole": pyarrow.int64(), "instant": pyarrow.timestamp("us", "UTC")}
    schema = pyarrow.schema([(name, kinds[source.kind]) for name, source in COLUMNS.items()])
    schema = schema.with_metadata({"underfed.run": run.model_dump_json(by_alias=True)})
    return _row_groups(pyarrow, schema, run, steps)


def _row_groups(pyarrow: Any, schema: Any, run: Run, steps: Iterable[Stretch]) -> Iterator[bytes]:
    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for stretch in steps:
            arrays = [_array(pyarrow, stretch, field.name, run.started_at, field.type) for field in schema]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _array(pyarrow: Any, stretch: Stretch, name: str, started_at: datetime, kind: Any) -> Any:
    if COLUMNS[name].kind == "text":
        return pyarrow.array([stretch.loader] * len(stretch), kind)
    column = _column(stretch, name)
    missing = np.isnan(column)
    whole = np.where(missing, 0, column).astype(np.int64)
    if COLUMNS[name].kind == "instant":
        whole += unix_us(started_at)
    return pyarrow.array(whole, pyarrow.int64(), mask=missing).cast(kind)


class _Sink(io.RawIOBase):
    """Keeps what is written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _csv_lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _texts(stretch: Stretch, name: str, started_at: datetime) -> list[object]:
    values = _values(stretch, name, started_at)
    if COLUMNS[name].kind == "text":
        return [f"'{value}" if str(value).startswith(FORMULA) else value for value in values]
    return values


def _values(stretch: Stretch, name: str, started_at: datetime) -> list[Any]:
    """As JSON has them; instants as RFC 3339."""
    if COLUMNS[name].kind == "text":
        return [stretch.loader] * len(stretch)
    whole = [None if np.isnan(value) else int(value) for value in _column(stretch, name).tolist()]
    if COLUMNS[name].kind == "whole":
        return whole
    base = started_at.astimezone(timezone.utc).replace(tzinfo=None)
    at = (None if us is None else base + timedelta(microseconds=us) for us in whole)
    return [each and f"{each.isoformat(timespec='microseconds')}Z" for each in at]


def _column(stretch: Stretch, name: str) -> Column:
    if name in ("rank", "incarnation"):
        return np.full(len(stretch), float(getattr(stretch, name)))
    source = COLUMNS[name]
    return (stretch.batches if source.is_of_batch else stretch.steps)[source.name]
