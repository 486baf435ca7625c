"""``watch``, ``init`` and ``finish``: the one recording of this process, and what keeps it from starting."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing import current_process
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from underfed import Run
from underfed.errors import ConfigError, NotWatchableError, RunDirectoryError, TorchMissingError
from underfed.exchange import figures, launch
from underfed.exchange.config import Config, Value, check_text, is_disabled, read_config
from underfed.exchange.facts import End
from underfed.exchange.guard import Guard
from underfed.exchange.trackers import Target
from underfed.host.signal_handlers import let_through
from underfed.trainer.call_sites import Site, iterating_line, watching_line
from underfed.trainer.hooks.ahead import consumer_of, dispatches, fetches_ahead, requests_a_step
from underfed.trainer.hooks.install import FREE_THREADED, LOADING_FACTS, WORKER_FACTS, Hooks
from underfed.trainer.hooks.iterable import NO_DATALOADER, is_stand_in, stand_in
from underfed.trainer.hooks.session import Session, open_session
from underfed.trainer.hooks.uncompiled import leave_ours_uncompiled
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.recording import Recording, RecordingPlace, announce, make_place, make_recording, say
from underfed.trainer.settings.loader_facts import iterable_facts, loader_facts
from underfed.trainer.settings.loader_parts import is_fastais
from underfed.trainer.settings.wanted import Identity, identity_of

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay
    from underfed.trainer.settings.overrides import Overrides
    from underfed.trainer.tuning.tuner import Tuner

Started = TypeVar("Started")

INNER = ("base_dataloader", "_dataloader", "fake_l")

TRIES = 3
"""Times in a row that a signal handler of the program may end the start of an iterator before one is let through
unrecorded: without us it might have had its batch before the next signal."""


class _State:
    """Of this process; a forked child starts with a new one."""

    def __init__(self) -> None:
        self.watches_all = False
        """Started by ``underfed run``: the program does not name its loaders."""
        self.overrides: Overrides | None = None
        self.replay: Replay | None = None
        self.tuner: Tuner | None = None
        self.reset()

    def reset(self) -> None:
        self.lock = threading.RLock()
        self.place: RecordingPlace | None = None
        self.recording: Recording | None = None
        self.has_begun = False
        """``recording`` has a collector and was announced: a signal handler may end the beginning halfway."""
        self.tries = 0
        """Iterators in a row whose start a signal handler ended."""
        self.has_reported_tries = False
        self.hooks: Hooks | None = None
        self.logs_by_callback = self.logs_words = False
        self.has_failed = False
        """No place to record was found: reported once, not tried again."""


_state = _State()


def watch(loader: Any, name: str | None, *, tune: bool) -> Any:
    if is_disabled(os.environ) or is_worker():
        return loader
    check_loader(loader)
    check_text("name", name)
    recording = _running_recording(lambda: read_config(os.environ))
    if recording is None:
        return loader
    try:
        return _watch(recording, loader, name, watching_line(), tune=tune)
    except Exception as error:
        let_through(error)
        recording.guard.failed("watch", error)
        return loader


def _tune(recording: Recording, loader: Any) -> None:
    """Other settings of this loader are tried while it trains. Of several the first one's."""
    from underfed.trainer.tuning.tuner import TuneOptions, Tuner

    if _state.tuner is None:
        _state.tuner = Tuner(TuneOptions(), launch.first_of_host_only(os.environ, say))
    _state.tuner.reporter.recording = recording
    _state.tuner.choose(loader)
    _installed_hooks().tune(_state.tuner)


def _watch(recording: Recording, loader: Any, name: str | None, site: Site, *, tune: bool) -> Any:
    if not any(map(_is_dataloader, with_inner(loader))):
        if is_stand_in(loader):
            return loader
        leave_ours_uncompiled()
        watched = stand_in(loader, recording.open_plain)
        reasons = dict.fromkeys(LOADING_FACTS, NO_DATALOADER)
        is_watched = recording.watch(watched, name, str(site), partial(iterable_facts, loader, not_measured=reasons))
        return watched if is_watched is not None else loader
    if tune:
        _tune(recording, with_inner(loader)[0])
    hooks = _installed_hooks()
    for each in with_inner(loader):
        hooks.splice_modules_of(each)
        recording.report_lacks(hooks.notes)
        source = hooks.source_line(each, site)
        facts = partial(loader_facts, each, not_measured=hooks.reasons(each), source=source)
        watched = recording.watch(each, name, str(site), facts)
        if watched is not None and dispatches(loader):
            watched.report_dispatched(True)  # ranks that it sends to iterate nothing
        if watched is not None and hooks.adopt(each):
            watched.lacks(dict.fromkeys(WORKER_FACTS, "its workers were started before watch()"))
    return loader


def watch_all() -> None:
    """Record every DataLoader of this process from its first iterator on: what ``underfed run`` does.

    Raises nothing; called right after ``torch.utils.data.dataloader`` was imported.
    """
    if is_disabled(os.environ) or is_worker():
        return
    with _state.lock:
        _state.watches_all = True
        try:
            _read_launcher_options()
            if not _installed_hooks().is_installed:
                launch.report(os.environ, launch.UNHOOKED, FREE_THREADED)
        except Exception as error:
            let_through(error)
            launch.report(os.environ, launch.UNHOOKED, f"{type(error).__name__}: {error}")
            Guard().failed("watch all", error)


def _read_launcher_options() -> None:
    """``--set``, ``--apply`` and ``--replay`` of the launcher."""
    from underfed.trainer.replay import read_replay
    from underfed.trainer.settings.overrides import read_overrides
    from underfed.trainer.tuning.tuner import read_tuner

    _state.replay = read_replay(os.environ, say)
    _state.tuner = read_tuner(os.environ, say)
    _state.overrides = read_overrides(os.environ, say)
    if _state.overrides is not None:
        _state.overrides.changed = _report_overrides
        _state.overrides.identify = _identify
    if _state.replay is not None:
        _state.replay.ended = _report_replay


def _report_overrides() -> None:
    """The first settings may be applied before the recording begins, so it is called again when it does."""
    if _state.overrides is not None and _state.recording is not None:
        _state.recording.report_overrides(_state.overrides.applied, _state.overrides.refused)


def _report_replay() -> None:
    if _state.replay is not None and _state.replay.result is not None and _state.recording is not None:
        _state.recording.report_replay(_state.replay.result)


def watch_module(module: ModuleType) -> None:
    """After ``watch_all()``: record the iterator classes that this module defines, too."""
    if _state.hooks is not None and _state.watches_all:
        _state.hooks.splice_module(module)


def init(
    *,
    project: str | None,
    name: str | None,
    tags: Mapping[str, str] | None,
    config: Mapping[str, Value] | None,
) -> Run:
    if is_disabled(os.environ):
        return Run(None, None)
    wanted = read_config(os.environ, project=project, name=name, tags=tags, config=config)
    with _state.lock:
        if _state.recording is not None and (_state.has_begun or _state.recording.config != wanted):
            raise ConfigError("init() comes before the first watch(), and once: a run has begun; finish() ends it")
        recording = _running_recording(lambda: wanted)
    if recording is None:
        return Run(None, None)
    return Run(recording.run_id, f"{recording.config.url}/runs/{recording.run_id}")


def stats() -> dict[str, Any]:
    recording = _state.recording
    return figures.nothing() if recording is None else recording.figures.read()


def is_recording() -> bool:
    """Whether a recording runs in this process, or begins with its first loader."""
    return _state.recording is not None or _state.watches_all


def log_by_callback(*, logs_words: bool = False) -> None:
    """The program's own loggers get the figures from a callback or tracker of ours; if ``logs_words`` the verdict. The
    collector then does not log these too."""
    _state.logs_by_callback = True
    _state.logs_words |= logs_words


def last_words() -> dict[str, str]:
    """What a logger gets at the end: the page, the verdict or why there is none. May wait for it, not for long."""
    recording = _state.recording
    return {} if recording is None else recording.trackers.last_words()


def name_tracker(target: Target) -> None:
    """The program says where the collector is to log the figures. Starts a recording where there is none yet.

    Raises:
        ConfigError: an ``UNDERFED_`` variable cannot be used.
    """
    if is_disabled(os.environ) or is_worker():
        return
    recording = _running_recording(lambda: read_config(os.environ))
    if recording is not None:
        recording.trackers.name(target)


def guard() -> Guard:
    """Counts what fails on behalf of the recording, where there is one."""
    return Guard() if _state.recording is None else _state.recording.guard


def finish() -> None:
    with _state.lock:
        recording, _state.recording, _state.place = _state.recording, None, None
        hooks, _state.hooks = _state.hooks, None
        _state.has_begun = _state.has_failed = False
        tuner = _state.tuner
        if not _state.watches_all:
            _state.tuner = None
    if tuner is not None:
        tuner.finish()
    if hooks is not None:
        hooks.remove()
    if recording is not None:
        recording.end(End("finished"))


def check_loader(loader: Any) -> None:
    """Check the argument before anything is started.

    Raises:
        TorchMissingError: ``loader`` may be a DataLoader, and PyTorch cannot be imported.
        NotWatchableError: it is no iterable.
    """
    try:
        import torch.utils.data  # noqa: F401
    except ImportError as error:
        raise TorchMissingError(f"watch() measures PyTorch's DataLoader, and PyTorch is missing: {error}") from error
    if not hasattr(type(loader), "__iter__") or isinstance(loader, (str, bytes)):
        kind = f"{type(loader).__module__}.{type(loader).__qualname__}"
        raise NotWatchableError(f"watch() takes a torch.utils.data.DataLoader or another iterable, got {kind}")


def with_inner(loader: Any) -> list[Any]:
    """The loader, or the one inside that creates the iterators, as adapters of Accelerate and Lightning Fabric and
    loaders of fastai have."""
    attributes = getattr(loader, "__dict__", {})
    inner = next((attributes[name] for name in INNER if _is_dataloader(attributes.get(name))), None)
    return [loader] if inner is None else [inner]


def _is_dataloader(loader: Any) -> bool:
    from torch.utils.data import DataLoader

    return isinstance(loader, DataLoader) or is_fastais(loader)


def is_worker() -> bool:
    """Whether this process loads batches, or imports the main module to do so: it does not train.

    A spawned process imports the main module before it knows its task. What ``watch()`` is called on there, at
    module level, is not recorded even if that task is training.
    """
    torch_worker = sys.modules.get("torch.utils.data._utils.worker")
    in_worker = torch_worker is not None and torch_worker.get_worker_info() is not None
    return in_worker or getattr(current_process(), "_inheriting", False)


def _running_recording(config: Callable[[], Config]) -> Recording | None:
    """The current recording, else a new one. ``None`` where there is no place for one: the training goes on without."""
    with _state.lock:
        if not _state.has_begun and not _state.has_failed:
            wanted = config()
            try:
                _begin(wanted)
            except Exception as error:
                let_through(error)
                _state.recording, _state.has_failed = None, True
                say(f"nothing is recorded: {error}")
                if not isinstance(error, RunDirectoryError):
                    Guard().failed("start", error)
        return _state.recording


def _begin(config: Config) -> None:
    """Where a signal handler of the program ends it halfway, the next call goes on: one training is one run."""
    if _state.place is None:
        _state.place = make_place(config)
    if _state.recording is None:
        _state.recording = make_recording(config, _state.place)
    # Before what takes long: a launcher without this report records a run of its own.
    launch.report(os.environ, launch.RECORDING, _state.recording.run_id)
    if _state.tuner is not None:
        _state.tuner.reporter.recording = _state.recording
    _state.recording.begin()
    announce(_state.recording)
    _report_overrides()
    _state.has_begun = True


def _installed_hooks() -> Hooks:
    with _state.lock:
        if _state.hooks is None:
            _state.hooks = Hooks(_open_session, _state.overrides, _state.replay, _state.tuner)
        if not _state.hooks.is_installed:
            _state.hooks.install()
        return _state.hooks


def _open_session(loader: Any) -> Session | None:
    """The session for an iterator of this loader under construction; ``None``: it is not recorded. Raises nothing.

    Under ``underfed run`` recording starts here, and the loader is watched from here on.
    """
    recording, hooks = _state.recording, _state.hooks
    if hooks is None or (recording is None and not _state.watches_all):
        return None
    return _tried(lambda: _session_of(loader, recording, hooks))


def _identify(loader: Any) -> tuple[str, Identity] | None:
    """Name and place of a loader that is about to be iterated; ``None``: it is not recorded. From here on it is."""
    recording, hooks = _state.recording, _state.hooks
    if hooks is None or is_worker():
        return None
    watched = _tried(lambda: _watched_of(loader, recording, hooks)[0])
    return (watched.name, identity_of(watched.facts)) if watched is not None and watched.facts is not None else None


def _tried(start: Callable[[], Started | None]) -> Started | None:
    """``None`` where signal handlers of the program ended it too often."""
    if threading.current_thread() is not threading.main_thread():  # No handler runs there.
        return start()
    if _state.tries == TRIES:
        _state.tries = 0
        _report_interrupted()
        return None
    _state.tries += 1
    started = start()
    _state.tries = 0
    return started


def _report_interrupted() -> None:
    reason = f"a signal handler ended the start of an iterator {TRIES} times in a row: the next one is not recorded"
    if _state.recording is not None:
        _state.recording.guard.count("iterator start", RuntimeError(reason))
    if not _state.has_reported_tries:
        _state.has_reported_tries = True
        say(reason)


def _session_of(loader: Any, recording: Recording | None, hooks: Hooks) -> Session | None:
    try:
        watched, recording = _watched_of(loader, recording, hooks)
        if watched is None or recording is None:
            return None
        if _state.overrides is not None:
            watched.report_settings(loader, _state.overrides.set_of(loader))
            watched.report_sharding(_state.overrides.sharding_of(loader))
        consumer = consumer_of(loader)
        watched.report_dispatched(dispatches(consumer))
        hooks.keep_worker_loop()
        recording.report_lacks(hooks.notes)
        recording.trackers.is_told = _state.logs_by_callback
        recording.trackers.are_words_told = _state.logs_words
        recording.trackers.look()
        return open_session(watched, fetches_ahead(consumer), requests_a_step(consumer))
    except Exception as error:
        let_through(error)
        (recording.guard if recording is not None else Guard()).failed("iterator start", error)
        return None


def _watched_of(
    loader: Any, recording: Recording | None, hooks: Hooks
) -> tuple[WatchedLoader | None, Recording | None]:
    """The loader as it is recorded, and where; under ``underfed run`` also one that is seen for the first time."""
    if not _state.has_begun:
        recording = None if is_worker() else _running_recording(lambda: read_config(os.environ))
    if recording is None:
        return None, None
    watched = recording.registry.find(loader)
    # Without facts: what was to report them was interrupted.
    if _state.watches_all and not is_worker() if watched is None else watched.facts is None:
        # Whatever the loader's class overrides, this iterator is torch's own and can be measured.
        source = hooks.source_line(loader)
        facts = partial(loader_facts, loader, not_measured=hooks.not_measured, source=source)
        watched = recording.watch(loader, None, iterating_line(), facts)
    return watched, recording


def _forget() -> None:
    """In a forked child: the run stays the parent's. Nothing is closed, unlinked or written.

    Under ``underfed run`` the child may train itself, and then begins a recording of its own.
    """
    hooks, watches_all = _state.hooks, _state.watches_all
    if not watches_all:
        _state.tuner = None
    _state.reset()  # also the lock, which another thread may hold in the parent
    if hooks is None:
        return
    if watches_all:
        hooks.forget()
        _state.hooks = hooks
    else:
        hooks.remove()


os.register_at_fork(after_in_child=_forget)
