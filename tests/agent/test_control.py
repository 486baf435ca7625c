"""``watch``, ``init`` and ``finish``: errors before training, none during it, and nothing at import."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.jobs import run_python, run_text
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import patched_attributes
from underfed.errors import ConfigError, NotWatchableError
from underfed.trainer import control
from underfed.trainer.hooks import session
from underfed.trainer.hooks.registry import WATCHED_LOADERS, Registry
from underfed.trainer.hooks.watched_loader import WatchedLoader


@pytest.mark.parametrize("thing", [7, "loader", None, Numbers()])
def test_what_is_not_iterated_for_batches_is_refused_by_its_kind(thing: Any) -> None:
    with pytest.raises(NotWatchableError, match=type(thing).__name__):
        underfed.watch(thing)
    assert issubclass(NotWatchableError, TypeError)
    assert control._state.recording is None


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, 7])
def test_a_name_that_cannot_be_used_is_refused(name: Any) -> None:
    with pytest.raises(ConfigError, match="name"):
        underfed.watch(DataLoader(Numbers()), name=name)
    assert control._state.recording is None


def test_a_variable_that_cannot_be_used_is_refused_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_URL", "nowhere")
    with pytest.raises(ConfigError, match="UNDERFED_URL"):
        underfed.watch(DataLoader(Numbers()))
    with pytest.raises(ConfigError, match="UNDERFED_URL"):
        underfed.init()


def test_init_comes_first_and_once() -> None:
    run = underfed.init(name="resnet")
    with pytest.raises(ConfigError, match="a run has begun"):
        underfed.init(name="again")
    underfed.finish()
    assert underfed.init(name="again").run_id == run.run_id


def test_a_run_after_another_is_a_run_of_its_own(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        monkeypatch.setenv("UNDERFED_RUN_ID", name)
        list(underfed.watch(DataLoader(Numbers(4)), name="train"))
        underfed.finish()
    wait_until(lambda: len(service.ends()) == 2, "both end")
    assert {window["run_id"] for window in service.windows} == {"first", "second"}
    assert service.count_steps() == 8


def test_nothing_happens_at_import() -> None:
    program = (
        "import sys, threading; before = set(sys.modules); import underfed; "
        "loaded = set(sys.modules) - before; "
        "print(sorted(loaded & {'torch', 'psutil', 'pynvml', 'numpy', 'subprocess', 'json', 'ssl'}), "
        "[name for name in loaded if name.startswith('underfed')], threading.active_count())"
    )
    assert run_python("-c", program).stdout == "[] ['underfed'] 1\n"


def test_a_spawned_worker_imports_nothing_heavy_for_us() -> None:
    program = (
        "import sys; import underfed.trainer.loading.worker; "
        "print(sorted({'torch', 'psutil', 'pynvml', 'numpy', 'subprocess', 'json', 'ssl'} & set(sys.modules)))"
    )
    assert run_python("-c", program).stdout == "[]\n"


def test_watching_needs_torch_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('No module named torch')")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import underfed\n"
        "underfed.init(name='x'); underfed.finish()\n"
        "try: underfed.watch([1])\n"
        "except ImportError as error: print(error)"
    )
    done = run_python("-c", program)
    assert done.stdout.startswith("watch() measures PyTorch's DataLoader, and PyTorch is missing")


def test_the_training_process_gets_no_thread_and_no_open_socket() -> None:
    program = (
        "import os, threading; from torch.utils.data import DataLoader; import underfed\n"
        "files = set(os.listdir('/proc/self/fd')); threads = len(os.listdir('/proc/self/task'))\n"
        "loader = underfed.watch(DataLoader(range(8)))\n"
        "for _ in loader: pass\n"
        "new = [os.readlink(path) for path in map('/proc/self/fd/{}'.format, os.listdir('/proc/self/fd'))"
        " if os.path.exists(path) and os.path.basename(path) not in files]\n"
        "print(len(os.listdir('/proc/self/task')) - threads, threading.active_count(), *new)"
    )
    threads, active, *files = run_text(program).stdout.split()
    assert (threads, active) == ("0", "1")
    assert [Path(file).name for file in files] == ["loader-0.steps"]


def test_the_collector_is_no_child_and_sees_no_interrupt() -> None:
    program = (
        "import os; from torch.utils.data import DataLoader; import underfed\n"
        "underfed.watch(DataLoader(range(8)))\n"
        "try: print(os.wait())\n"
        "except ChildProcessError: print('no child')"
    )
    assert run_text(program).stdout == "no child\n"


def test_a_forked_child_switches_itself_off(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(8)), name="train")
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if child == 0:
        fine = patched_attributes() == [] and len(list(iterator)) == 7 and len(list(loader)) == 8
        underfed.finish()
        os._exit(0 if fine and control._state.recording is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(iterator)) == 7
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.count_steps() == 8
    assert list(service.epochs()) == [("train", 0)]


def test_a_forked_child_may_begin_a_run_of_its_own(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    underfed.watch(DataLoader(Numbers(8)))
    child = os.fork()
    if child == 0:
        monkeypatch.setenv("UNDERFED_RUN_ID", "child")
        list(underfed.watch(DataLoader(Numbers(4)), name="own"))
        underfed.finish()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    wait_until(service.ends, "the child's end arrives")
    assert service.count_steps("own") == 4


def test_importing_the_main_module_again_in_a_spawned_process_starts_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    loader = DataLoader(Numbers())
    assert underfed.watch(loader) is loader
    assert control._state.recording is None


def test_a_failure_of_ours_is_counted_and_not_raised(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERFED_STRICT")
    monkeypatch.setattr("underfed.trainer.control.open_session", lambda *_: 1 / 0)
    assert len(list(underfed.watch(DataLoader(Numbers())))) == 24
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["agent_errors"] == 1


@pytest.mark.parametrize("broken", ["end_inspection", "_begin_probing", "stopped", "constructed"])
def test_a_failure_in_a_hook_ends_the_recording_and_not_the_training(
    service: Service, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.delenv("UNDERFED_STRICT")
    loader = underfed.watch(DataLoader(Numbers()))
    monkeypatch.setattr(session.Session, broken, lambda *_: 1 / 0)
    assert len(list(loader)) == 24
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["agent_errors"] == 1


def test_a_failure_in_a_worker_is_counted_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERFED_STRICT")
    loader = underfed.watch(DataLoader(Numbers(), num_workers=1))
    monkeypatch.setattr("underfed.trainer.loading.worker.BatchTimer.loaded", lambda *_: 1 / 0)
    assert len(list(loader)) == 24
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert service.windows[-1]["losses"]["agent_errors"] == 1
    assert service.count_steps() == 24


def test_strict_raises_what_is_otherwise_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = underfed.watch(DataLoader(Numbers()))
    monkeypatch.setattr(session.Session, "end_inspection", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(loader)


def registry_of(directory: Path) -> tuple[Registry, Any]:
    registry = Registry()

    def make(index: int, name: str) -> WatchedLoader:
        return WatchedLoader(index, name, directory, None, None)  # type: ignore[arg-type]

    return registry, make


def test_a_loader_created_for_the_same_purpose_replaces_one_that_is_gone(tmp_path: Path) -> None:
    registry, make = registry_of(tmp_path)
    loader = DataLoader(Numbers())
    first = registry.watch(loader, None, "train.py:1", make)
    del loader
    gc.collect()
    other = DataLoader(Numbers())
    elsewhere = registry.watch(other, None, "train.py:2", make)
    again = DataLoader(Numbers())
    assert registry.watch(again, None, "train.py:1", make) is first
    assert elsewhere is not first
    assert registry.find(again) is first
    assert registry.find(DataLoader(Numbers())) is None


def test_the_number_of_watched_loaders_is_bounded(tmp_path: Path) -> None:
    registry, make = registry_of(tmp_path)
    loaders = [DataLoader(Numbers()) for _ in range(WATCHED_LOADERS + 1)]
    watched = [registry.watch(loader, "x", "train.py:1", make) for loader in loaders]
    assert watched[-1] is None
    names = [each.name for each in watched if each is not None]
    assert names[:3] == ["x", "x-2", "x-3"]
    assert len(set(names)) == WATCHED_LOADERS


def test_a_program_in_a_prompt_has_not_crashed_by_an_earlier_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from underfed.trainer.process_facts import leaving

    monkeypatch.setattr(sys, "last_value", ValueError("earlier"), raising=False)
    assert leaving().last_words == "ValueError: earlier"
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert leaving().last_words is None


@pytest.mark.parametrize(
    ("code", "words"), [(0, None), (None, None), ("out of patience", "SystemExit: out of patience")]
)
def test_a_child_of_multiprocessing_that_exits_says_why(code: int | str | None, words: str | None) -> None:
    from underfed.trainer.process_facts import leaving

    said: list[str | None] = []

    def child() -> None:
        try:
            sys.exit(code)
        except SystemExit:
            said.append(leaving().last_words)

    # In a thread of its own no exception is being handled, whatever runs the tests.
    thread = threading.Thread(target=child)
    thread.start()
    thread.join()
    assert said == [words]
