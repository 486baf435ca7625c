"""Runs of W&B, MLflow and TensorBoard: found in the process that logs with them, and logged to from outside it."""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from urllib.error import HTTPError

import pytest
import torch
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from torch.utils.data import DataLoader, TensorDataset

import underfed
from tests.fakes.service import PATIENCE_S, Service, judging_after, wait_until
from underfed.collector.trackers.links import page_of
from underfed.collector.trackers.tracker_writer import TrackerWriter
from underfed.exchange import figures, launch, run_files, trackers
from underfed.exchange.config import read_config
from underfed.exchange.facts import write_facts
from underfed.exchange.guard import Guard
from underfed.exchange.parts import read_part, write_part
from underfed.exchange.rank import Rank
from underfed.exchange.trackers import Target, Targets
from underfed.integrations.wandb import ENDPOINTS, ask_for_figures
from underfed.launcher import figures_endpoint
from underfed.trainer import trackers as of_process
from underfed.trainer.process_facts import make_origin

PAGE = "http://host:7077/runs/run-1"
KNOWN = {
    **figures.nothing(),
    "steps": 40,
    "max_data_stall_fraction": 0.5,
    "recent": {**figures.nothing()["recent"], "data_stall_fraction": 0.25, "data_wait_us": 2_500},
}


class Summary(dict[str, Any]):
    """Of a run of W&B."""


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The trackers' modules as the program has imported them, without a run."""
    found: dict[str, Any] = {
        "wandb": SimpleNamespace(run=None),
        "mlflow": SimpleNamespace(get_tracking_uri=lambda: "sqlite:///ml.db"),
        "mlflow.tracking.fluent": SimpleNamespace(active_run=lambda: None),
        "tensorboard.summary.writer.event_file_writer": SimpleNamespace(),
    }
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
    return found


@pytest.fixture
def writer_of_events() -> Iterator[str]:
    """A thread as TensorBoard's has it, whose file is in the directory of that name."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    file = SimpleNamespace(filename=b"logs/first/events.out.tfevents.1.host.1.0")
    thread._record_writer = SimpleNamespace(_writer=file)  # type: ignore[attr-defined]
    thread.start()
    yield "logs/first"
    over.set()
    thread.join()


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> of_process.ProcessTrackers:
    monkeypatch.setattr(of_process, "PAUSE_S", 0.0)
    return of_process.ProcessTrackers(tmp_path, PAGE, Guard())


def written(directory: Path) -> Targets | None:
    path = directory / trackers.FILE
    return read_part(path, Targets) if path.exists() else None


def test_a_process_that_logs_with_none_writes_nothing(
    process: of_process.ProcessTrackers, modules: dict[str, Any], tmp_path: Path
) -> None:
    process.look()
    process.end()
    assert list(tmp_path.iterdir()) == []


def test_the_runs_that_it_logs_to_are_found(
    process: of_process.ProcessTrackers, modules: dict[str, Any], writer_of_events: str, tmp_path: Path
) -> None:
    process.look()
    modules["wandb"].run = SimpleNamespace(id="w1", url="https://wandb.ai/t/p/runs/w1", summary=Summary())
    info = SimpleNamespace(run_id="m1", experiment_id="7")
    modules["mlflow.tracking.fluent"].active_run = lambda: SimpleNamespace(info=info)
    process.look()
    found = written(tmp_path)
    assert found is not None
    assert found.runs == [
        Target("wandb", "w1", "https://wandb.ai/t/p/runs/w1"),
        Target("mlflow", "m1", "sqlite:///ml.db", "7"),
        Target("tensorboard", writer_of_events, directory=str(Path.cwd() / writer_of_events)),
    ]
    assert found.interpreter == sys.executable
    assert modules["wandb"].run.summary == {"underfed/page": PAGE}
    modules["mlflow.tracking.fluent"].active_run = lambda: None
    process.end()
    assert set(found.runs) == set((written(tmp_path) or Targets()).runs), "the last figures are still to come"


def test_the_verdict_is_in_the_summary_of_wandb_once_it_is_known(
    process: of_process.ProcessTrackers, modules: dict[str, Any], tmp_path: Path
) -> None:
    summary = Summary()
    modules["wandb"].run = SimpleNamespace(id="w1", url=None, summary=summary)
    process.look()
    write_part(tmp_path / figures.FILE, {**KNOWN, "bound": "data", "cause": "no_workers"})
    process.look()
    assert summary == {"underfed/page": PAGE}, "it is written at most once a minute"
    process.end()
    assert summary == {"underfed/page": PAGE, "underfed/bound": "data", "underfed/cause": "no_workers"}


def test_no_cause_of_an_earlier_verdict_stays_beside_a_later_one(
    process: of_process.ProcessTrackers, modules: dict[str, Any], tmp_path: Path
) -> None:
    modules["wandb"].run = SimpleNamespace(id="w1", url=None, summary=(summary := Summary()))
    write_part(tmp_path / figures.FILE, {**KNOWN, "bound": "data", "cause": "no_workers"})
    process.look()
    assert summary["underfed/cause"] == "no_workers"
    write_part(tmp_path / figures.FILE, {**KNOWN, "bound": "compute"})
    process.end()
    assert (summary["underfed/bound"], summary["underfed/cause"]) == ("compute", "none")


def test_no_cause_of_an_earlier_verdict_stays_where_the_service_no_longer_answers(
    process: of_process.ProcessTrackers, modules: dict[str, Any], tmp_path: Path
) -> None:
    modules["wandb"].run = SimpleNamespace(id="w1", url=None, summary=(summary := Summary()))
    write_part(tmp_path / figures.FILE, {**KNOWN, "bound": "data", "cause": "no_workers"})
    process.look()
    write_part(tmp_path / figures.FILE, {**KNOWN, "not_judged": figures.NO_ANSWER})
    process.end()
    assert (summary["underfed/bound"], summary["underfed/cause"]) == (figures.NO_ANSWER, "none")


class Hook(NamedTuple):
    """As W&B's own."""

    call: Callable[[], None]
    stage: str


@pytest.fixture
def wandb_run(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Of W&B, as the program has it open: ``finish()`` calls what W&B would, and closes the summary."""
    run = SimpleNamespace(id="w1", url=None, summary=Summary(), _teardown_hooks=[])
    module = SimpleNamespace(TeardownHook=Hook, TeardownStage=SimpleNamespace(EARLY="early", LATE="late"))
    wandb = SimpleNamespace(run=run)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "wandb.sdk.wandb_run", module)

    def finish() -> None:
        for hook in run._teardown_hooks:
            assert hook.stage == "early"
            hook.call()
        run.summary, wandb.run = None, None

    run.finish = finish
    return run


def train(steps: int) -> None:
    for _ in underfed.watch(DataLoader(TensorDataset(torch.zeros(steps)))):
        pass


VERDICT = {"bound": "data", "cause": "no_workers", "max_data_stall_fraction": 0.5}


def test_a_run_of_wandb_that_the_program_finishes_has_the_verdict_on_all_of_its_steps(
    service: Service, wandb_run: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever else runs here: it is the order that counts.
    monkeypatch.setattr(of_process, "MOST_AWAITED_S", PATIENCE_S)
    summary = wandb_run.summary
    with judging_after(service, 40, VERDICT):
        train(40)
        wandb_run.finish()
    page = summary.pop("underfed/page")
    assert page.startswith(service.url)
    # A collector that others keep from running may have waited long enough.
    found = summary["underfed/bound"], summary["underfed/cause"]
    assert found in (("data", "no_workers"), (figures.NOT_YET, figures.NO_CAUSE))


def test_a_run_of_wandb_that_is_too_short_to_be_judged_says_so(
    service: Service, wandb_run: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_process, "MOST_AWAITED_S", PATIENCE_S)
    summary = wandb_run.summary
    train(12)
    wandb_run.finish()
    assert summary["underfed/bound"] == "not judged: 12 of 25 steps"
    assert summary["underfed/cause"] == figures.NO_CAUSE


def test_without_a_service_the_end_of_a_run_waits_for_nothing(
    service: Service, wandb_run: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.stop()
    monkeypatch.setattr(of_process, "MOST_AWAITED_S", PATIENCE_S)
    summary = wandb_run.summary
    train(40)
    wandb_run.finish()
    assert summary["underfed/bound"] == figures.NO_ANSWER
    service.start()


def test_a_run_of_wandb_that_begins_after_the_recording_has_its_verdict_before_wandb_ends_it_at_exit(
    process: of_process.ProcessTrackers, wandb_run: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_exit: list[tuple[Any, ...]] = []
    monkeypatch.setattr(of_process, "atexit", SimpleNamespace(register=lambda *call: at_exit.append(call)))
    process.look()
    write_part(tmp_path / figures.FILE, {**KNOWN, **VERDICT})
    for call, *arguments in at_exit:
        call(*arguments)
    assert wandb_run.summary == {"underfed/page": PAGE, "underfed/bound": "data", "underfed/cause": "no_workers"}
    wandb_run.finish()  # what is logged last is logged once
    process.end()


@pytest.mark.parametrize("earlier", [None, "transfer"])
def test_the_end_of_a_run_waits_no_longer_than_is_documented(
    earlier: str | None, process: of_process.ProcessTrackers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a collector that does not answer: real time is not needed to see that. A verdict given ``earlier`` is not
    that on all steps."""
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(of_process, "time", clock)
    monkeypatch.setattr(of_process, "is_served", lambda _: True)
    write_part(tmp_path / figures.FILE, {**KNOWN, "bound": earlier, "not_judged": None if earlier else figures.NOT_YET})
    assert process.last_words() == {"page": PAGE, "bound": earlier or figures.NOT_YET, "cause": "none"}
    assert of_process.MOST_AWAITED_S <= sum(slept) <= of_process.MOST_AWAITED_S + 2 * of_process.POLL_S
    assert not (tmp_path / run_files.VERDICT_WANTED).exists()


def test_a_collector_that_has_not_begun_leaves_the_run_not_judged_yet(
    process: of_process.ProcessTrackers, wandb_run: SimpleNamespace
) -> None:
    process.look()
    process.end()
    assert wandb_run.summary == {
        "underfed/page": PAGE,
        "underfed/bound": figures.NOT_YET,
        "underfed/cause": "none",
    }


def test_each_of_two_runs_of_wandb_receives_its_page(
    process: of_process.ProcessTrackers, wandb_run: SimpleNamespace
) -> None:
    process.look()
    second = SimpleNamespace(id="w2", url=None, summary=Summary(), _teardown_hooks=[])
    sys.modules["wandb"].run = second  # type: ignore[attr-defined]
    process.look()
    assert wandb_run.summary == second.summary == {"underfed/page": PAGE}


def test_one_variable_switches_looking_off(
    modules: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(trackers.SWITCH, "0")
    modules["wandb"].run = SimpleNamespace(id="w1", url=None, summary=Summary())
    of_process.ProcessTrackers(tmp_path, PAGE, Guard()).end()
    assert written(tmp_path) is None
    assert modules["wandb"].run.summary == {}


def test_what_fails_in_a_tracker_is_counted_and_ends_nothing(
    modules: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    guard = Guard()
    modules["mlflow.tracking.fluent"].active_run = lambda: 1 / 0
    of_process.ProcessTrackers(tmp_path, PAGE, guard).look()
    assert guard.failures == 1


@pytest.mark.parametrize(
    ("target", "page"),
    [
        (Target("wandb", "w1", "https://wandb.ai/t/p/runs/w1"), "https://wandb.ai/t/p/runs/w1"),
        (Target("wandb", "w1"), None),
        (Target("mlflow", "m1", "http://me:secret@host:5000/ml/", "7"), "http://host:5000/ml/#/experiments/7/runs/m1"),
        (Target("mlflow", "m1", "sqlite:///ml.db", "7"), None),
        (Target("mlflow", "m1", "http://[", "7"), None),
        (Target("tensorboard", "logs", directory="/logs"), None),
        (Target("wandb", "w1", "javascript:alert(1)"), None),
    ],
)
def test_a_page_is_of_the_web_and_names_no_user(target: Target, page: str | None) -> None:
    assert page_of(target) == page


MLFLOW = {
    "__init__": "",
    "entities": "from collections import namedtuple\n"
    "Metric = namedtuple('Metric', 'key value timestamp step')\nRunTag = namedtuple('RunTag', 'key value')\n",
    "tracking": "import json\n"
    "class MlflowClient:\n"
    "    def __init__(self, tracking_uri): self.path = tracking_uri\n"
    "    def log_batch(self, run_id, metrics, tags):\n"
    "        line = json.dumps([run_id, [list(each) for each in metrics], dict(tags)])\n"
    "        open(self.path, 'a').write(line + '\\n')\n",
}
"""What is used of it."""


@pytest.fixture
def mlflow_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What MLflow was asked to log, to a run that the program names by ``log_to``, with the address of this file."""
    (tmp_path / "mlflow").mkdir()
    for name, source in MLFLOW.items():
        (tmp_path / "mlflow" / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "mlflow", ModuleType("mlflow"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "logged.jsonl"


def test_a_training_is_logged_to_the_run_that_it_names(service: Service, mlflow_log: Path) -> None:
    from underfed.integrations import mlflow

    mlflow.log_to("m1", mlflow_log.name, "7")
    train(30)
    wait_until(lambda: underfed.stats()["steps"], "the collector has read the steps")
    underfed.finish()
    wait_until(lambda: mlflow_log.exists() and mlflow_log.read_text(), "the figures are logged")
    run_id, metrics, tags = json.loads(mlflow_log.read_text().splitlines()[0])
    assert run_id == "m1"
    assert {"system/underfed/data_stall_fraction", "system/underfed/steps_per_s"} <= {each[0] for each in metrics}
    assert tags["underfed.page"].startswith(service.url)
    sent = [window["run"].get("trackers") for window in service.windows if "run" in window]
    assert sent[-1] == [{"tracker": "mlflow", "run": "m1"}]


def logged_tags(log: Path) -> dict[str, str]:
    """The newest of each."""
    found: dict[str, str] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        found |= json.loads(line)[2]
    return found


def test_a_run_of_mlflow_that_is_over_gets_the_verdict_on_all_of_its_steps(service: Service, mlflow_log: Path) -> None:
    from underfed.integrations import mlflow

    mlflow.log_to("m1", mlflow_log.name, "7")
    with judging_after(service, 40, VERDICT):
        train(40)
        underfed.finish()
    wait_until(lambda: "underfed.bound" in logged_tags(mlflow_log), "the verdict is logged")
    # A collector that others keep from running may have waited long enough.
    assert logged_tags(mlflow_log)["underfed.bound"] in ("data", figures.NOT_YET)


def test_a_run_of_mlflow_that_is_too_short_to_be_judged_says_so(service: Service, mlflow_log: Path) -> None:
    from underfed.integrations import mlflow

    mlflow.log_to("m1", mlflow_log.name, "7")
    train(3)
    underfed.finish()
    wait_until(lambda: "underfed.bound" in logged_tags(mlflow_log), "why there is no verdict is logged")
    assert logged_tags(mlflow_log)["underfed.bound"] == "not judged: 3 of 25 steps"


JUDGED = {**KNOWN, "bound": "data", "cause": "no_workers"}


@pytest.mark.parametrize(
    ("published", "are_figures_logged", "are_words_logged", "logs"),
    [
        (KNOWN, False, False, ["page"]),
        (KNOWN, True, False, []),
        (JUDGED, True, False, ["bound", "cause"]),
        (JUDGED, True, True, []),
    ],
    ids=["nothing", "the figures, no verdict yet", "the figures", "the figures and the verdict"],
)
def test_what_a_callback_logs_by_itself_the_collector_does_not(
    published: dict[str, Any],
    are_figures_logged: bool,
    are_words_logged: bool,
    logs: list[str],
    mlflow_log: Path,
    tmp_path: Path,
) -> None:
    runs = [Target("mlflow", "m1", str(mlflow_log))]
    places = [str(mlflow_log.parent)]
    write_part(
        tmp_path / trackers.FILE,
        Targets(runs, sys.executable, places, is_told=are_figures_logged, are_words_told=are_words_logged),
    )
    writer = TrackerWriter(tmp_path)
    writer.read()
    writer.pass_on({**published, "page": PAGE})
    assert (writer.pid is not None) == bool(logs)
    writer.end()
    writer.wait(60)
    assert set(logs) <= {name.removeprefix("underfed.") for name in logged_tags(mlflow_log)}
    if logs:
        has_figures = [bool(json.loads(line)[1]) for line in mlflow_log.read_text().splitlines()]
        assert any(has_figures) == (not are_figures_logged)


@pytest.mark.parametrize(
    ("set_before", "expected"),
    [
        (None, '{"underfed": "http://127.0.0.1:9/secret/PID"}'),
        ('{"underfed": "http://127.0.0.1:9/secret/1"}', '{"underfed": "http://127.0.0.1:9/secret/PID"}'),
        ('{"dcgm": "http://node:9400/metrics"}', '{"dcgm": "http://node:9400/metrics"}'),
    ],
    ids=["none", "a parent's", "the user's"],
)
def test_wandb_asks_for_the_figures_of_its_own_process(set_before: str | None, expected: str) -> None:
    environ = {launch.FIGURES: "http://127.0.0.1:9/secret"} | ({ENDPOINTS: set_before} if set_before else {})
    ask_for_figures(environ)
    assert environ[ENDPOINTS] == expected.replace("PID", str(os.getpid()))


def test_wandb_asks_for_nothing_where_nothing_is_served() -> None:
    for environ in ({}, {launch.FIGURES: "http://127.0.0.1:9/secret", "UNDERFED_DISABLED": "1"}):
        ask_for_figures(environ)
        assert ENDPOINTS not in environ


def asked(address: str) -> dict[str, float]:
    with urllib.request.urlopen(address, timeout=60) as response:
        families = list(text_string_to_metric_families(response.read().decode()))  # type: ignore[no-untyped-call]
    assert all(each.type == "gauge" for each in families)
    return {sample.name: sample.value for each in families for sample in each.samples}


def recorded(root: Path, run_id: str, rank: int, pid: int, steps_per_s: float) -> None:
    directory = run_files.rank_directory(root / run_id, rank, 1)
    directory.mkdir(parents=True)
    origin = make_origin(read_config({}), Rank(rank, rank, None, 2), run_id, directory)
    write_facts(directory / run_files.RUN, type(origin)(**{**_fields(origin), "pid": pid}))
    write_part(directory / figures.FILE, {**KNOWN, "recent": {**KNOWN["recent"], "steps_per_s": steps_per_s}})


def _fields(origin: Any) -> dict[str, Any]:
    return {name: getattr(origin, name) for name in type(origin).__slots__}


def test_the_launcher_serves_the_figures_of_each_process_to_who_knows_the_address(tmp_path: Path) -> None:
    launches = tmp_path / "launches"
    launches.mkdir()
    variables = figures_endpoint.serve({}, [tmp_path], launches)
    address = variables[launch.FIGURES]
    assert address.startswith("http://127.0.0.1:")
    assert asked(f"{address}/11") == {}, "no run has begun"
    recorded(tmp_path, "run-1", rank=1, pid=11, steps_per_s=11.0)
    recorded(tmp_path, "run-1", rank=0, pid=10, steps_per_s=10.0)
    (launches / launch.RECORDING).write_text("run-1\n")
    answer = asked(f"{address}/11")
    assert answer == {
        "data_stall_fraction": 0.25,
        "data_wait_seconds": 0.0025,
        "max_data_stall_fraction": 0.5,
        "steps_per_s": 11.0,
    }
    assert asked(f"{address}/99")["steps_per_s"] == 10.0, "a process that logs for others reads the lowest rank"
    recorded(tmp_path, "run-2", rank=0, pid=20, steps_per_s=20.0)
    (launches / launch.RECORDING).write_text("run-1\nrun-2\n")
    assert asked(f"{address}/20")["steps_per_s"] == 20.0
    assert asked(f"{address}/99") == {}, "it may belong to either"
    beginning, _, secret = address.rpartition("/")
    for wrong in ("", "11", f"{secret}x/11", f"{secret}", f"{secret}/x", f"{secret}/11/metrics"):
        with pytest.raises(HTTPError, match="404"):
            asked(f"{beginning}/{wrong}")


def test_one_variable_switches_serving_off(tmp_path: Path) -> None:
    assert figures_endpoint.serve({trackers.SWITCH: "0"}, [tmp_path], tmp_path) == {}
