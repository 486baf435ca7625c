"""Puts another release's ``torch.utils.data`` in the place of the installed one, in this process.

All else of torch stays the installed release's: the old files run on its tensors and processes.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NAME = "torch.utils.data"


class Sources:
    """A finder for ``torch.utils.data`` and what lies below, before all others."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != NAME and not name.startswith(f"{NAME}."):
            return None
        return PathFinder.find_spec(name, [str(self.root.joinpath(*name.split(".")[:-1]))])


def serve(root: Path) -> None:
    """Import ``torch`` and replace its ``torch.utils.data``. Before anything else that uses it is imported."""
    import torch

    make_up_for_what_is_gone()
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Sources(root))
    torch.utils.data = importlib.import_module(NAME)


def make_up_for_what_is_gone() -> None:
    """What releases since 2.1 removed outside of ``torch.utils.data``, and the older files import or call."""
    import torch

    if not hasattr(torch._utils, "_accumulate"):  # until 2.4; the same as itertools'
        torch._utils._accumulate = itertools.accumulate  # type: ignore[attr-defined]
    torch.set_vital = set_vital  # type: ignore[attr-defined]  # until 2.10


def set_vital(*words: str) -> bool:
    """Counted what was used of torch, for nobody here; the installed release warns of it."""
    return False


def served_from(root: Path) -> bool:
    """Whether no part of ``torch.utils.data`` is the installed one's."""
    files = [module.__file__ for name, module in sys.modules.items() if name == NAME or name.startswith(f"{NAME}.")]
    return bool(files) and all(file is not None and Path(file).is_relative_to(root) for file in files)
