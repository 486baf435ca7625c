"""Hooks torch's DataLoader right after it is imported, and imports nothing of torch itself.

``site/sitecustomize.py`` loads this file by its path into every Python below ``underfed run``, or of a cluster that
sets ``UNDERFED_AUTOLOAD``, also where the package is not installed. So nothing is imported here that is not loaded
already when a Python starts.
"""

# ruff: noqa: PTH110, PTH118, PTH120

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    After = Callable[[ModuleType], None]

PACKAGE = os.path.dirname(os.path.dirname(__file__))
DATALOADER = "torch.utils.data.dataloader"
STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"
TRAINER = "transformers.trainer"
WANDB = "wandb"


class Finder:
    """First on ``sys.meta_path``. Other finders find the awaited modules; once these are loaded, it is called."""

    def __init__(self) -> None:
        self.awaited: dict[str, After] = {
            DATALOADER: hook_dataloader,
            STATEFUL: hook_stateful,
            TRAINER: hook_trainer,
            WANDB: hook_wandb,
        }

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "underfed":
            return own_package()
        if name not in self.awaited:
            return None
        spec = self._find_elsewhere(name, path, target)
        if spec is not None and spec.loader is not None:
            call_after(spec, self.loaded)
        return spec

    def loaded(self, module: ModuleType) -> None:
        """Once per module: one that is loaded again is not hooked again."""
        after = self.awaited.pop(module.__name__, None)
        if after is not None:
            when_task_is_known(self, lambda: guarded(after, module))

    def _find_elsewhere(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """As the import system would without us: frozen, from a zip file, or by someone else's finder."""
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None) if finder is not self else None
            spec: ModuleSpec | None = find_spec(name, path, target) if find_spec is not None else None
            if spec is not None:
                return spec
        return None


def arm(launch: str | None) -> None:
    """Report to the launcher, if there is one, that this Python loaded our ``sitecustomize``, and wait for torch."""
    if launch:
        reports = os.path.join(launch, "python")
        if not os.path.exists(reports):
            os.close(os.open(reports, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    finder = Finder()
    sys.meta_path.insert(0, finder)
    for name in list(finder.awaited):
        if name in sys.modules:
            finder.loaded(sys.modules[name])  # a .pth file imported it before us


def own_package() -> ModuleSpec | None:
    """Only our package, not its neighbours: the training may use another environment than ours."""
    from importlib.util import spec_from_file_location

    return spec_from_file_location(
        "underfed",
        os.path.join(PACKAGE, "__init__.py"),
        submodule_search_locations=[PACKAGE],
    )


def call_after(spec: ModuleSpec, loaded: After) -> None:
    """Have ``loaded`` called when the module was executed. Spec and loader are then as they would have been."""
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        # The loader of a zip file serves all modules in it.
        if module.__name__ == spec.name:
            restore(module, loader)
            loaded(module)

    if isinstance(loader, type):
        # The loader of frozen modules is a class, the same for all of them: nothing is put into that.
        spec.loader = type(loader.__name__, (loader,), {"exec_module": staticmethod(exec_module)})  # type: ignore[assignment]
    else:
        loader.exec_module = exec_module


def restore(module: ModuleType, loader: Any) -> None:
    if isinstance(loader, type):
        module.__loader__ = loader  # type: ignore[assignment]
        if module.__spec__ is not None:
            module.__spec__.loader = loader  # type: ignore[assignment]
    else:
        vars(loader).pop("exec_module", None)


def when_task_is_known(finder: Finder, call: Callable[[], None]) -> None:
    """At once, except in a child of multiprocessing, whose task is not known yet: a worker needs no hooks."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or not getattr(process.current_process(), "_inheriting", False):
        call()
        return
    waiting = [call]

    def learned(_finder: Finder) -> None:
        # Also called in every process that this one forks later.
        while waiting and not loads_batches():
            waiting.pop()()

    before_task(finder, learned)


def before_task(finder: Finder, learned: Callable[[Finder], None]) -> None:
    """Before ``multiprocessing`` runs this process's task: through a fork server's registry, or else ..."""
    from multiprocessing.context import SpawnProcess
    from multiprocessing.util import register_after_fork

    register_after_fork(finder, learned)
    # ... what a spawned process has in its place, which does nothing.
    original = vars(SpawnProcess)["_after_fork"]

    def after_fork() -> None:
        SpawnProcess._after_fork = original  # type: ignore[attr-defined]
        original.__func__()
        learned(finder)

    SpawnProcess._after_fork = staticmethod(after_fork)  # type: ignore[attr-defined]


def loads_batches() -> bool:
    """Whether this process was started as a DataLoader's worker."""
    process = sys.modules["multiprocessing.process"].current_process()
    target = getattr(process, "_target", None)
    home = getattr(target, "__module__", None) or type(target).__module__
    return home in ("torch.utils.data._utils.worker", "underfed.trainer.loading.worker")


def hook_dataloader(_module: ModuleType) -> None:
    from underfed.exchange import launch
    from underfed.trainer import control

    control.watch_all()
    launch.report(os.environ, launch.TORCH)


def hook_stateful(module: ModuleType) -> None:
    from underfed.trainer import control

    control.watch_module(module)


def hook_trainer(_module: ModuleType) -> None:
    from underfed.integrations.transformers import add_where_recording

    add_where_recording()


def hook_wandb(_module: ModuleType) -> None:
    from underfed.integrations.wandb import ask_for_figures

    ask_for_figures(os.environ)


def guarded(after: After, module: ModuleType) -> None:
    """Errors never reach the import of torch."""
    try:
        after(module)
    except Exception as error:
        from underfed.exchange import launch
        from underfed.exchange.guard import Guard

        launch.report(os.environ, launch.UNHOOKED, f"{module.__name__}: {type(error).__name__}: {error}")
        Guard().failed("autoload", error)
