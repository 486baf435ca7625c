"""What a signal handler of the program raises while our code runs reaches the program."""

from __future__ import annotations

import ast
import functools
import gc
import itertools
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import ANY

import pytest
from torch.utils.data import DataLoader, dataloader

import underfed
from tests.fakes.jobs import run_text
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import collectors_of
from underfed.exchange.facts import End
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer import control

OURS = Path(underfed.__file__).parent
EIGHT: Any = range(8)
KINDS: dict[str, type[Exception]] = {"alarm": TimeoutError, "torch": RuntimeError, "value": ValueError}


class Handler:
    """As programs have them: functions, methods, objects, partials, and such as restore the one before."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def plain(self, _number: int, _frame: FrameType | None) -> None:
        raise self.error("handled")

    def restoring(self, *_arguments: Any) -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        raise self.error("handled")

    def deeper(self, *_arguments: Any) -> None:
        def inner() -> None:
            raise self.error("handled")

        inner()

    __call__ = deeper


def handlers(error: type[Exception]) -> dict[str, Any]:
    handler = Handler(error)
    return {
        "method": handler.plain,
        "object": handler,
        "restoring": handler.restoring,
        "partial": functools.partial(handler.deeper, "more"),
        "lambda": lambda number, _: handler.plain(number, None),
    }


@pytest.fixture(autouse=True)
def no_other_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("handler", handlers(TimeoutError))
def test_what_a_handler_raised_is_distinguished_from_what_failed(kind: str, handler: str) -> None:
    signal.signal(signal.SIGUSR1, handlers(KINDS[kind])[handler])
    with pytest.raises(KINDS[kind], match="handled"):
        try:
            signal.raise_signal(signal.SIGUSR1)
        except Exception as error:
            let_through(error)


@pytest.mark.parametrize("kind", KINDS.values())
def test_what_failed_is_kept(kind: type[Exception]) -> None:
    signal.signal(signal.SIGUSR1, Handler(kind).plain)

    def fail(_number: int, _frame: object = None) -> None:
        raise kind("failed")

    with passing(kind):
        fail(1)
    try:
        fail(1, sys)
    except kind as error:
        let_through(error)


class Interrupting:
    """Sends a signal before line number ``at`` that runs in our code on this thread."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.place: tuple[str, int] | None = None

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(str(OURS)):
            return None
        if event == "line" and self.place is None and not is_finalizing(frame):
            self.left -= 1
            if self.left < 0:
                self.place = (frame.f_code.co_filename, frame.f_lineno)
                sys.settrace(None)
                signal.raise_signal(signal.SIGUSR1)
        return self


def is_finalizing(frame: FrameType | None) -> bool:
    """Python itself keeps what is raised while an object ends, and prints it."""
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def interrupted(
    at: int, run: Callable[[], object], kind: type[Exception], interrupting: type[Interrupting] = Interrupting
) -> tuple[tuple[str, int] | None, bool]:
    """Where our code was interrupted, if it ran so many lines; and whether the program saw what its handler raised."""
    signal.signal(signal.SIGUSR1, Handler(kind).plain)
    tracer, before = interrupting(at), sys.gettrace()
    sys.settrace(tracer)
    try:
        next(_apart(run))
    except kind as error:
        return tracer.place, str(error) == "handled"
    finally:
        sys.settrace(before)
    return tracer.place, False


def _apart(run: Callable[[], object]) -> Iterator[None]:
    """Python keeps the exception that it was leaving the handler of when a tracer raised: else it would be the context
    of all that later tests raise. A generator has one of its own."""
    run()
    yield


def consume(loader: Any) -> None:
    for _ in loader:
        pass


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        *itertools.product(["watch", "iterate", "prefetch"], KINDS.values()),
        ("init", TimeoutError),
        # Each starts a dozen collectors.
        pytest.param("init", RuntimeError, marks=pytest.mark.soak),
        pytest.param("init", ValueError, marks=pytest.mark.soak),
    ],
)
def test_it_reaches_the_program_from_every_line_of_ours(
    kind: type[Exception], how: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "init":
        request.getfixturevalue("started_collectors")  # they are killed below
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    monkeypatch.delenv("UNDERFED_RUN_ID")
    monkeypatch.setattr(control, "TRIES", -1)  # none is let through unrecorded
    loader: Any = DataLoader(EIGHT, batch_size=4)
    runs: dict[str, Callable[[], object]] = {
        "watch": lambda: underfed.watch(DataLoader(EIGHT), name="train"),
        "iterate": lambda: consume(loader),
        "init": lambda: underfed.init(name="interrupted"),
        "prefetch": lambda: consume(underfed.prefetch(loader, "cpu")),
    }
    underfed.finish()
    if how != "init":
        underfed.watch(loader, name="train")
    kept = []
    step = {"iterate": 9, "prefetch": 15, "init": 99}.get(how, 87)
    # Each kind is raised in other lines.
    first = step // 3 * list(KINDS.values()).index(kind)
    for at in range(first, 3000, step):
        if how == "init":
            underfed.finish()
        place, was_seen = interrupted(at, runs[how], kind)
        if place is None:
            break
        if not was_seen:
            kept.append(place)
    assert at > 60 or how != "iterate"
    assert kept == []
    assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # What was begun when it was interrupted ends with this process, which goes on here.
    underfed.finish()
    for collector in collectors_of(Path(os.environ["UNDERFED_RINGS"]).name) if how == "init" else []:
        os.kill(collector, signal.SIGKILL)
    for left in Path(os.environ["UNDERFED_RINGS"]).glob("*/interrupted-*"):
        shutil.rmtree(left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # files that were open when it was interrupted
        gc.collect()


class InterruptingTorch(Interrupting):
    """Before instruction number ``at`` in torch's functions where our statements stand."""

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        if frame.f_code.co_filename != dataloader.__file__ or frame.f_code.co_name not in ("__next__", "_next_index"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and self.place is None:
            self.left -= 1
            if self.left < 0:
                self.place = (frame.f_code.co_name, frame.f_lineno)
                sys.settrace(None)
                signal.raise_signal(signal.SIGUSR1)
        return self


@pytest.mark.parametrize("kind", KINDS.values())
def test_it_reaches_the_program_from_our_statements_in_torchs_functions(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERFED_STRICT", "0")
    loader: Any = underfed.watch(DataLoader(EIGHT, batch_size=4), name="train")
    consume(loader)
    kept = []
    for at in range(list(KINDS.values()).index(kind), 3000, 7):
        place, was_seen = interrupted(at, lambda: consume(loader), kind, InterruptingTorch)
        if place is None:
            break
        if not was_seen:
            kept.append(place)
    assert at > 200
    assert kept == []
    assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("at", range(1, 60, 13))
def test_an_end_that_is_interrupted_is_marked_all_the_same(
    service: Service, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torch does where a worker was killed, once more while the interpreter ends."""
    monkeypatch.setattr("underfed.trainer.recording.leaving", lambda: End("finished"))  # this process goes on
    consume(underfed.watch(DataLoader(EIGHT, batch_size=4), name="train"))
    recording = control._state.recording
    assert recording is not None
    assert interrupted(at, recording.leave, RuntimeError) == (ANY, True)
    wait_until(service.ends, "the mark arrives")


CATCHING = {"Exception", "BaseException", "OSError", "RuntimeError", "TimeoutError"}
PASSING = {"let_through", "failed", "stop_recording", "_stop_recording", "stop", "raise"}
LAUNCHED = {"calibration.py", "cgroup.py", "connections.py", "disks.py", "process_end.py", "signal_handlers.py"}
"""Of the host: what only the launcher and the collector run."""


def test_no_handler_of_ours_on_the_training_thread_keeps_it() -> None:
    """Each that could catch such passes it on first."""
    kept_at = []
    rooms = ("trainer", "integrations", "exchange", "host")
    for path in sorted(path for room in rooms for path in (OURS / room).rglob("*.py")):
        if path.name in LAUNCHED and path.parent.name == "host":
            continue
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                kinds = {each.id for each in ast.walk(node.type or tree) if isinstance(each, ast.Name)}
                if kinds & CATCHING and not passes(node):
                    kept_at.append(f"{path.relative_to(OURS)}:{node.lineno}")
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "suppress":
                kinds = {getattr(each, "id", "") for each in node.args}
                kept_at += [f"{path.relative_to(OURS)}:{node.lineno}"] if kinds & CATCHING else []
    assert kept_at == []


def passes(handler: ast.ExceptHandler) -> bool:
    called = (node.func for node in ast.walk(handler) if isinstance(node, ast.Call))
    names = {getattr(each, "id", None) or getattr(each, "attr", None) for each in called}
    return bool(names & PASSING) or any(isinstance(node, ast.Raise) and node.exc is None for node in handler.body)


WORKER_DIES = """
import os, signal, sys, time, underfed
from torch.utils.data import DataLoader
class Slow:
    def __len__(self):
        return 64
    def __getitem__(self, index):
        time.sleep(0.02)
        return index
loader = underfed.watch(DataLoader(Slow(), batch_size=4, num_workers=2), name="train")
try:
    for number, batch in enumerate(loader):
        if number == 1:
            iterator = loader._iterator or [each for each in __import__("gc").get_objects()
                                            if type(each).__name__ == "_MultiProcessingDataLoaderIter"][0]
            os.kill(iterator._workers[0].pid, signal.SIGKILL)
        while number >= 1:
            underfed.watch(loader)
            from underfed.trainer.collector_process import ensure_collector
            from underfed.trainer import control
            ensure_collector(control._state.recording.directory.parent, control._state.recording.guard, is_end=True)
except RuntimeError as error:
    print(error)
    sys.stdout.flush()
    os._exit(0)
"""


def test_what_torch_raises_of_a_killed_worker_reaches_the_loop() -> None:
    """While nearly all the time is spent in our code."""
    done = run_text(WORKER_DIES, UNDERFED_STRICT="0")
    assert "is killed by signal: Killed" in done.stdout, done.stderr
