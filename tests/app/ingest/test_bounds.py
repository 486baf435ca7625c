"""What a window may take in memory is known before it is decoded, and every column of it has a limit."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from typing import Any

import pytest

from tests.app.conftest import on_sqlite_alone
from tests.app.ingest.inflating import most_allocated_bytes
from tests.app.made_windows import made_window, posted
from underfed_server.errors import InvalidError, TooLargeError, TryLaterError
from underfed_server.ingest.decode import decode
from underfed_server.ingest.inflate import MOST_INFLATED_BYTES, MOST_VALUES, inflate, most_decoded_bytes
from underfed_server.ingest.posted import PostedWindow
from underfed_server.ingest.wire import (
    MOST_BATCHES,
    MOST_SAMPLES,
    MOST_STEPS,
    Batches,
    GpuSamples,
    HostSamples,
    ProcessSamples,
    Steps,
    WorkerSamples,
)
from underfed_server.store.store import Store
from underfed_server.store.writing import writer as writing

PARTS: dict[str, tuple[Any, int]] = {
    "steps": (Steps, MOST_STEPS),
    "batches": (Batches, MOST_BATCHES),
    "worker_samples": (WorkerSamples, MOST_SAMPLES),
    "process": (ProcessSamples, MOST_SAMPLES),
    "host": (HostSamples, MOST_SAMPLES),
    "gpus": (GpuSamples, MOST_SAMPLES),
}
NEEDED: dict[str, dict[str, Any]] = {
    "steps": {"loader": "train", "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
              "step_us": [], "data_wait_us": []},
    "batches": {"loader": "train", "epoch_index": 0, "batch_index": [], "start_us": [], "load_us": []},
    "worker_samples": {"loader": "train", "worker": 0},
    "process": {},
    "host": {},
    "gpus": {"gpu_index": 0},
}  # fmt: skip
SINGLE = ("process", "host")


COLUMNS = [
    (name, field)
    for name, (part, _) in PARTS.items()
    for field in part.__struct_fields__
    if not isinstance(NEEDED[name].get(field), (int, str))
]


@pytest.mark.parametrize(("part", "column"), COLUMNS)
def test_every_column_has_a_limit(part: str, column: str) -> None:
    """All that the wire declares, so that a column that is added later is among them."""
    said = ""
    for value in (None, 0):
        rows = NEEDED[part] | {column: [value] * (PARTS[part][1] + 1)}
        with pytest.raises(InvalidError) as refused:
            decode(posted(made_window(0, **{part: rows if part in SINGLE else [rows]})))
        said += refused.value.message
    assert f"Expected `array` of length <= {PARTS[part][1]}" in said


def test_the_samples_of_all_sources_together_have_a_limit() -> None:
    half = list(range(MOST_SAMPLES // 2))
    sources = [{"loader": "train", "worker": worker, "at_us": half} for worker in (0, 1)]
    assert decode(posted(made_window(0, worker_samples=sources))).worker_samples[1].at_us[-1] == half[-1]
    with pytest.raises(InvalidError) as refused:
        decode(posted(made_window(0, worker_samples=sources, host={"at_us": [1]})))
    assert refused.value.field == "samples"


ZEROS = b"[" + b"0," * (MOST_VALUES + 1) + b"0]"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("", ZEROS), ("gzip", gzip.compress(ZEROS, 1)), ("deflate", zlib.compress(ZEROS, 1))],
    ids=["plain", "gzip", "deflate"],
)
def test_more_values_than_a_window_has_are_refused_before_they_are_decoded(encoding: str, body: bytes) -> None:
    with pytest.raises(TooLargeError, match="values"):
        inflate(body, encoding)


def test_no_more_is_inflated_than_is_looked_at() -> None:
    """Of eight million zeros in 8 kB a fraction."""
    body = gzip.compress(b"[" + b"0," * 4_000_000 + b"0]", 9)
    assert len(body) < 10_000
    assert 0 < most_allocated_bytes(body) < 3 * MOST_VALUES


def test_what_a_window_takes_decoded_is_never_more_than_was_said() -> None:
    """The largest integers, each an object of its own, in a process of its own."""
    program = (
        "import json, tracemalloc; from underfed_server.ingest.decode import decode\n"
        "from underfed_server.ingest.inflate import most_decoded_bytes\n"
        "from tests.app.made_windows import made_window, posted\n"
        "body = posted(made_window(0, process={'at_us': list(range(2**40, 2**40 + 16_384))}))\n"
        "tracemalloc.start(); window = decode(body); taken = tracemalloc.get_traced_memory()[0]\n"
        "print(taken, most_decoded_bytes(body))"
    )
    printed = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    taken, said = map(int, printed.split())
    assert 16_384 * 32 < taken < said < MOST_INFLATED_BYTES


@on_sqlite_alone
def test_what_waits_is_counted_as_it_is_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_WAITING_BYTES", 1_000_000)
    inflated = posted(made_window(0, process={"at_us": list(range(16_384))}))
    body = gzip.compress(inflated)
    assert len(body) < 100_000
    window = PostedWindow(decode(inflated), "gzip", body, decoded_bytes=most_decoded_bytes(inflated))
    assert window.held_bytes > 600_000
    held = store._writer._waiting_bytes
    store._writer._waiting_bytes = 999_999
    assert store.submit(window).result()
    store._writer._waiting_bytes = 1_000_001
    with pytest.raises(TryLaterError):
        store.submit(window)
    store._writer._waiting_bytes = held
