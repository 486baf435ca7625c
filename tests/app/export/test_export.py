"""Every recorded step, exported and read back by the programs that it is for."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import LOADER, made_stream, made_window
from tests.app.serving import serving, settings_for
from tests.app.store.posting import post, post_split
from underfed_server.api import download
from underfed_server.api.admission.rate_limits import MOST_EXPORTS, MOST_EXPORTS_EACH
from underfed_server.diagnose import Diagnoser
from underfed_server.export import formats
from underfed_server.export import steps as exporting
from underfed_server.export.steps import stretches
from underfed_server.export.table import as_csv
from underfed_server.main import Application
from underfed_server.measurements import Column, Columns
from underfed_server.model import Run
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.store import Store
from underfed_server.terminal.commands import export

NEEDED = {
    "rank", "loader", "epoch", "step_index", "started_at", "step_us", "data_wait_us", "queue_depth", "load_us",
    "cpu_us", "runqueue_us", "blocked_us", "collate_us", "worker",
}  # fmt: skip
WINDOWS = list(made_stream(40))


def exported(client: TestClient, kind: str, run_id: str = "run-1") -> bytes:
    answer = client.get(f"/api/v1/runs/{run_id}/export?format={kind}")
    assert answer.status_code == 200, answer.text
    return answer.content


def csv_rows(client: TestClient, run_id: str = "run-1") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(client, "csv", run_id).decode())))


def sent(part: str, column: str) -> list[Any]:
    return [value for window in WINDOWS for each in window[part] for value in each[column]]


@pytest.mark.parametrize("stretch", [7, 4_096])
def test_every_step_stands_beside_its_batch(
    client: TestClient, store: Store, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "STRETCH", stretch)
    post_split(store, WINDOWS, (11, 30))
    rows = csv_rows(client)
    assert rows[0].keys() >= NEEDED
    assert [int(row["step_index"]) for row in rows] == list(range(800))
    for column in ("step_us", "data_wait_us", "queue_depth"):
        assert [row[column] for row in rows] == ["" if each is None else str(each) for each in sent("steps", column)]
    batches = store.batches("run-1", 0, "train")
    by_key = {key: row for row, key in enumerate(zip(batches.epoch_index, batches.batch_index, strict=True))}
    for row in rows:
        place = by_key[float(row["epoch"]), float(row["batch_index"])]
        for column in ("load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "worker"):
            value = getattr(batches, column)[place]
            assert row[column] == ("" if np.isnan(value) else str(int(value)))


def test_instants_are_of_the_wall_clock(client: TestClient, store: Store) -> None:
    post(store, WINDOWS[:2])
    start_us = WINDOWS[0]["steps"][0]["start_us"]
    assert csv_rows(client)[0]["started_at"] == f"2026-11-20T10:00:{start_us / 1e6:09.6f}Z"


def test_a_process_that_was_started_again_goes_on_counting(client: TestClient, store: Store) -> None:
    post(store, WINDOWS[:2])
    post(store, made_stream(2, incarnation=2, seed=5))
    rows = csv_rows(client)
    assert [int(row["step_index"]) for row in rows] == list(range(80))
    assert [row["incarnation"] for row in rows] == ["1"] * 40 + ["2"] * 40


def test_what_was_not_measured_is_empty_and_never_0(client: TestClient, store: Store) -> None:
    steps = {
        "loader": "train", "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
        "step_us": [10, None], "data_wait_us": [0, 5], "queue_depth": None,
    }  # fmt: skip
    post(store, [made_window(0, steps=[steps])])
    first, last = csv_rows(client)
    assert (first["step_us"], first["data_wait_us"], first["queue_depth"], first["load_us"]) == ("10", "0", "", "")
    assert (last["step_us"], last["data_wait_us"]) == ("", "5")
    assert json.loads(exported(client, "json"))["steps"][1]["step_us"] is None


def test_a_name_is_no_formula_to_a_spreadsheet(client: TestClient, store: Store) -> None:
    name = '=HYPERLINK("http://evil.example","x")'
    steps = {
        "loader": name, "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
        "step_us": [10], "data_wait_us": [1],
    }  # fmt: skip
    post(store, [made_window(0, steps=[steps], loaders=[LOADER | {"loader": name}])])
    assert csv_rows(client)[0]["loader"] == f"'{name}"
    assert json.loads(exported(client, "json"))["steps"][0]["loader"] == name


def test_json_and_parquet_hold_the_same_rows(client: TestClient, store: Store) -> None:
    post_split(store, WINDOWS, (20,))
    as_json = json.loads(exported(client, "json"))
    assert as_json["run"]["run_id"] == "run-1"
    table = pyarrow.parquet.read_table(io.BytesIO(exported(client, "parquet")))
    assert json.loads(table.schema.metadata[b"underfed.run"])["run_id"] == "run-1"
    rows = table.to_pylist()
    for ours, theirs in zip(as_json["steps"], rows, strict=True):
        for name, value in theirs.items():
            said = value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if name.endswith("_at") and value else value
            assert ours[name] == said, name


def test_a_trace_has_a_slice_for_every_step_and_load_on_its_thread(client: TestClient, store: Store) -> None:
    post(store, WINDOWS[:3])
    events = json.loads(exported(client, "trace"))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    slices = [event for event in events if event["ph"] == "X"]
    steps = [event for event in slices if event["name"].startswith("step ")]
    assert len(steps) == 60
    assert {names[event["tid"]] for event in steps} == {"train: steps"}
    waits = [event for event in slices if event["name"] == "wait for data"]
    for step, wait in zip(steps, waits, strict=True):
        assert step["ts"] == wait["ts"]
        assert wait["dur"] <= step["dur"]
    loads = [event for event in slices if event["name"].startswith("batch ")]
    assert {names[event["tid"]] for event in loads} == {"train: worker 0", "train: worker 1"}


def test_a_run_without_steps_is_a_file_without_rows(client: TestClient, store: Store) -> None:
    post(store, [made_window(0)])
    assert csv_rows(client) == []
    assert json.loads(exported(client, "json"))["steps"] == []
    assert json.loads(exported(client, "trace"))["traceEvents"] == []
    assert pyarrow.parquet.read_table(io.BytesIO(exported(client, "parquet"))).num_rows == 0
    assert client.get("/api/v1/runs/nobody/export").status_code == 404
    assert client.get("/api/v1/runs/run-1/export?format=xls").json()["error"]["field"] == "format"


FAR = 2**53 - 1_000


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Every transaction that reads, of which an export of few rows needs few."""
    noted: list[object] = []
    real = Store.reading

    def reading(store: Store) -> AbstractContextManager[Reader]:
        noted.append(store)
        assert len(noted) < 1_000, "it reads on where nothing is stored"
        return real(store)

    monkeypatch.setattr(Store, "reading", reading)
    yield noted


def far_steps(window_index: int, first_step: int, first_batch: int = 0) -> dict[str, Any]:
    steps = {
        "loader": "train", "epoch_index": 0, "first_step_index": first_step, "first_batch_index": first_batch,
        "start_us": 1_000_000 * window_index, "step_us": [10] * 20, "data_wait_us": [1] * 20,
    }  # fmt: skip
    return made_window(window_index, steps=[steps])


@pytest.mark.parametrize("compacted", [(), (1,), (1, 2, 3)], ids=["hot", "first in a chunk", "chunks"])
@pytest.mark.parametrize("kind", ["csv", "trace", "json", "parquet"])
def test_steps_far_apart_cost_no_more_than_adjoining_ones(
    client: TestClient, store: Store, reads: list[object], compacted: tuple[int, ...], kind: str
) -> None:
    """An agent chooses its indices: the way to the next stored one is not walked."""
    windows = [far_steps(0, 5), far_steps(1, 2**40), far_steps(2, FAR)]
    post_split(store, windows, compacted)
    reads.clear()
    body = exported(client, kind)
    assert len(reads) < 20
    if kind == "csv":
        found = [int(row["step_index"]) for row in csv.DictReader(io.StringIO(body.decode()))]
        assert found == [first + more for first in (5, 2**40, FAR) for more in range(20)]


def test_an_index_past_what_a_number_holds_exactly_ends_too(
    client: TestClient, store: Store, reads: list[object]
) -> None:
    post(store, [far_steps(0, 2**53)])
    post(store, [far_steps(0, 2**53) | {"incarnation": incarnation} for incarnation in (2, 3)])
    reads.clear()
    assert csv_rows(client)
    assert len(reads) < 20


def test_a_step_of_a_batch_that_never_comes_keeps_few_of_the_others(
    client: TestClient, store: Store, reads: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "STRETCH", 7)
    monkeypatch.setattr(exporting, "MOST_PENDING", 21)
    kept: list[int] = []
    real = exporting._keys

    def keys(columns: Columns) -> Column:
        found = real(columns)
        kept.append(len(found))
        return found

    monkeypatch.setattr(exporting, "_keys", keys)
    post(store, [window | {"steps": far_steps(0, 20 * place, FAR)["steps"]} for place, window in enumerate(WINDOWS)])
    reads.clear()
    assert all(row["load_us"] == "" for row in csv_rows(client))
    assert max(kept) <= 28


@pytest.mark.parametrize("compacted", [(), (1,), (1, 2)])
def test_every_other_answer_about_far_steps_ends(
    client: TestClient, store: Store, reads: list[object], compacted: tuple[int, ...]
) -> None:
    windows = [far_steps(0, 5), far_steps(1, FAR)]
    post_split(store, windows, compacted)
    post(store, [window | {"run_id": "run-2"} for window in windows])
    diagnoser = Diagnoser()
    for run_id in ("run-1", "run-2"):
        diagnoser(store, run_id)
    for asked in (
        "/series?metric=step_us&metric=data_wait_us",
        f"/series?metric=step_us&from_step={2**40}&percentiles=true",
        f"/series?metric=step_us&from_step=6&to_step={FAR + 3}",
        "/timeline",
        "/workers",
        "/hotspots",
        "/diagnosis",
        "",
    ):
        answer = client.get(f"/api/v1/runs/run-1{asked}")
        assert answer.status_code == 200, (asked, answer.text)
    for asked in ("/compare?run_id=run-1&run_id=run-2", "/team", "/hosts"):
        assert client.get(f"/api/v1{asked}").status_code == 200, asked


@on_sqlite_alone
def test_exports_leave_threads_to_other_requests(
    application: Application, client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(store, WINDOWS[:2])
    going_on, may_end = Semaphore(0), Event()

    def held(store: Store, run: Run) -> Iterator[bytes]:
        going_on.release()
        assert may_end.wait(30)
        yield from as_csv(run, stretches(store, run))

    monkeypatch.setattr(formats, "WRITTEN", {"csv": (held, "text/csv", "csv")})
    assert MOST_EXPORTS < 40, "threads of the pool"
    with client, ThreadPoolExecutor(MOST_EXPORTS) as pool:
        address = "/api/v1/runs/run-1/export"
        waiting = [pool.submit(client.get, address) for _ in range(MOST_EXPORTS_EACH)]
        for _ in waiting:
            assert going_on.acquire(timeout=30)
        more = client.get(address)
        assert (more.status_code, "from one client" in more.text) == (503, True)
        other = TestClient(application, base_url="http://127.0.0.1:7077", client=("127.0.0.2", 1))
        others = [pool.submit(other.get, address) for _ in range(MOST_EXPORTS - MOST_EXPORTS_EACH)]
        for _ in others:
            assert going_on.acquire(timeout=30)
        waiting += others
        refused = other.get("/api/v1/runs/run-1/export")
        served = client.get("/api/v1/runs/run-1").status_code
        may_end.set()
        assert [each.result().status_code for each in waiting] == [200] * MOST_EXPORTS
        assert (refused.status_code, refused.json()["error"]["code"], served) == (503, "unavailable", 200)
        assert refused.headers["retry-after"] == "5"
        assert len(csv_rows(client)) == 40, "those that have ended count no more"


def test_a_client_that_goes_away_ends_its_export(application: Application, store: Store) -> None:
    """At its next stretch, of which each holds a row."""
    post(store, WINDOWS)
    limits = application.parts.limits.exports
    sent: list[bytes] = []

    def gone() -> Iterator[bytes]:
        for number in range(1_000):
            sent.append(b"%d" % number)
            yield sent[-1]

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        await asyncio.sleep(0)

    answer = download._Export(gone(), limits, "text/csv", {})
    asyncio.run(answer({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send))
    assert len(sent) < 1_000
    with ExitStack() as all_of_them:
        for _ in range(MOST_EXPORTS_EACH):
            all_of_them.enter_context(limits.held("another"))


@pytest.mark.sql
def test_the_command_writes_a_whole_file_or_none(
    application: Application,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    post(store, WINDOWS)
    target = tmp_path / "steps.csv"
    with serving(application, settings_for(tmp_path)) as address:
        monkeypatch.setenv("UNDERFED_URL", address)
        assert export(["run", "--format", "csv", "--out", str(target)]) == 0
        assert f"{target}: {target.stat().st_size:,} bytes of run run-1" in capsys.readouterr().out
        assert len(target.read_text().splitlines()) == 801
        target.write_text("precious")
        assert export(["nobody", "--format", "csv", "--out", str(target)]) == 1
        assert export(["run-1", "--format", "csv", "--out", str(tmp_path / "no" / "such.csv")]) == 1
        assert "cannot be written: No such file or directory" in capsys.readouterr().err
    assert target.read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} <= {"steps.csv", *(f"underfed.db{end}" for end in
            ("", "-wal", "-shm", ".lock", ".turnstile"))} | {"owner-token"}  # fmt: skip
