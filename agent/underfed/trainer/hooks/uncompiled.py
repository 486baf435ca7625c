"""Keeps ``torch.compile`` out of what is ours: a loop within it that iterates a loader is compiled as without us.

While a compiled function runs, Dynamo looks at every Python function that is called. Those of torch's DataLoader it
leaves alone; of ours it would compile what it can, count graph breaks and warn of each clock that we read. Code that is
marked in its frame evaluation costs nothing then, and nothing without. Dynamo itself is not imported for that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

PACKAGE = "underfed"

DISABLED = "_torchdynamo_disable"
"""Attribute of a function by which Dynamo, when it traces a call of it, knows not to look inside."""

AROUND_WORKERS = ("run_worker", "WorkerEntry.__call__", "SpawnedEntry.__call__")
"""Ours, but all that a worker does runs within their calls: one that a compiled loop forks is looked at by Dynamo."""

_marked: dict[ModuleType, int] = {}
"""How many names a module had when its functions were marked: each recording asks, and a loaded one gets no more."""

Mark = Callable[[CodeType], None]
"""Has Dynamo run this code as it is."""


@dataclass(frozen=True, slots=True)
class LeftUncompiled:
    """A function of another package than torch with our calls in it, which Dynamo would trace. Until ``undo()``."""

    function: FunctionType

    def undo(self) -> None:
        vars(self.function).pop(DISABLED, None)


def leave_uncompiled(function: FunctionType) -> LeftUncompiled | None:
    """The function alone, not what it calls. ``None``: it was marked already."""
    if DISABLED in vars(function):
        return None
    if (mark := _mark(with_calls=False)) is not None:
        mark(function.__code__)
    setattr(function, DISABLED, True)
    return LeftUncompiled(function)


def leave_ours_uncompiled() -> None:
    """All of our functions that are loaded, those called from torch's code together with what they call."""
    mark, mark_alone = _mark(with_calls=True), _mark(with_calls=False)
    if mark is None or mark_alone is None:
        return
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == PACKAGE]:
        names = len(vars(module))
        if _marked.get(module) == names:
            continue
        for function in [each for each in _functions(module) if DISABLED not in vars(each)]:
            setattr(function, DISABLED, True)
            (mark_alone if function.__qualname__ in AROUND_WORKERS else mark)(function.__code__)
        _marked[module] = names


def _mark(*, with_calls: bool) -> Mark | None:
    """``with_calls``: also what the code calls, in torch 2.7 and newer. ``None``: there is no Dynamo."""
    import torch

    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    action, strategy = getattr(frames, "_FrameAction", None), getattr(frames, "_FrameExecStrategy", None)
    if frames is not None and action is not None and strategy is not None:
        skipped = strategy(action.SKIP, action.SKIP if with_calls else action.DEFAULT)
        return lambda code: frames.set_code_exec_strategy(code, skipped)
    return getattr(frames, "skip_code", None)


def _functions(module: Any) -> list[FunctionType]:
    """Those that a module and its classes define."""
    name = module.__name__
    found: list[Any] = list(vars(module).values())
    for kind in [each for each in found if isinstance(each, type) and each.__module__ == name]:
        found += vars(kind).values()
    plain = [getattr(each, "__func__", None) or getattr(each, "fget", None) or each for each in found]
    return [each for each in plain if isinstance(each, FunctionType) and each.__module__ == name]
