"""Where the program constructed its loaders: noted as ``DataLoader.__init__`` begins.

Nothing of the program is read here: the collector reads what stands at the line.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from underfed.exchange.config import sends_source
from underfed.exchange.facts import SourceLine
from underfed.host.signal_handlers import let_through
from underfed.trainer.call_sites import Site, site_of
from underfed.trainer.settings.loader_parts import attributes_of, dataset_of, weakly

MOST_KEPT = 256
"""Calls that are remembered: a program that constructs a loader for each epoch iterates it before it has as many."""


@dataclass(frozen=True, slots=True)
class Construction:
    site: Site
    loader: weakref.ref[Any]
    dataset: weakref.ref[Any] | None


class Constructions:
    """Of this process. Any thread."""

    def __init__(self) -> None:
        self._by_id: dict[int, Construction] = {}

    def note(self, loader: Any, dataset: Any) -> None:
        """Called while ``DataLoader.__init__`` begins: the loader has no attribute yet."""
        frame = _caller(type(loader))
        if frame is None:
            return
        self._by_id.pop(id(loader), None)
        if len(self._by_id) >= MOST_KEPT:
            self._by_id.pop(next(iter(self._by_id)), None)
        self._by_id[id(loader)] = Construction(site_of(frame), weakref.ref(loader), weakly(dataset))

    def site_of(self, loader: Any) -> Site | None:
        """Where the program called the loader's class. Of a loader that a framework constructed, where the program
        constructed the one that it is made from; else where the first framework did, as the Trainer before Accelerate.
        ``None``: not seen.
        """
        known = self._by_id.get(id(loader))
        own = known.site if known is not None and known.loader() is loader else None
        if own is not None and own.package is None:
            return own
        made_from = [each.site for each in list(self._by_id.values()) if _is_made_from(loader, each)]
        programs = [site for site in made_from if site.package is None]
        return programs[-1] if programs else next(iter(made_from), own)


def source_line(loader: Any, constructed: Site | None, watched: Site | None, environ: Mapping[str, str]) -> SourceLine:
    """Where the collector finds the call that constructed the loader, or why it does not.

    Args:
        watched: the line that watched it, beside which the call is looked for where it was not seen itself.
    """
    site, kind = constructed or watched, type(loader).__name__
    if site is None or (constructed is None and site.package is not None):
        return SourceLine(kind, why_not="the call was not seen")
    if site.package is not None:
        return SourceLine(kind, package=site.package, why_not=f"{site.package} constructed the loader")
    shown = _shown(site.file)
    where = SourceLine(kind, shown=shown, line=site.line, is_constructor=constructed is not None)
    if not sends_source(environ):
        return where.without_file("UNDERFED_SEND_SOURCE=0")
    path = Path(site.file).absolute()
    try:
        return where.with_file(str(path), path.stat().st_mtime_ns)
    except (OSError, ValueError) as error:
        let_through(error)
        return where.without_file("it is in no file, as in a notebook, an archive or a prompt")


def _shown(file: str) -> str:
    """Relative to where the program runs, else to its script: no path of a home directory."""
    path, main = Path(file).absolute(), getattr(sys.modules.get("__main__"), "__file__", None)
    for root in (Path.cwd(), Path(main).absolute().parent if main else None):
        if root is not None and path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name


def _is_made_from(loader: Any, earlier: Construction) -> bool:
    """Over the same data set, with the same collate function as far as that can still be seen."""
    dataset, original = dataset_of(loader), earlier.loader()
    if dataset is None or earlier.dataset is None or earlier.dataset() is not dataset:
        return False
    return original is None or attributes_of(original).get("collate_fn") is attributes_of(loader).get("collate_fn")


def _caller(kind: type) -> FrameType | None:
    """The frame that called the class: past its ``__init__``, those of its bases, and what wraps them."""
    codes = {id(code) for each in kind.__mro__ for code in _codes(vars(each).get("__init__"))}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and id(frame.f_code) not in codes:
        frame = frame.f_back
    while frame is not None and id(frame.f_code) in codes:
        frame = frame.f_back
    return frame


def _codes(function: Any) -> list[CodeType]:
    found = []
    while isinstance(function, FunctionType):
        found.append(function.__code__)
        function = vars(function).get("__wrapped__")
    return found
