"""The loader settings that advice knows, and a change of them as a diff of the ``DataLoader`` call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from underfed_server.model import LoaderInfo, Setting

Settings = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class LoaderSetting:
    default: Setting
    """What torch takes where none is given."""
    needs_workers: bool = False
    """It means nothing without workers."""
    is_settable: bool = False
    """``underfed run --set`` takes it (CONTRACT)."""
    may_be_unknown: bool = False
    """``None`` says that it was not seen, and not that it has its default."""


SETTINGS: Mapping[str, LoaderSetting] = {
    "num_workers": LoaderSetting(0, is_settable=True),
    "batch_size": LoaderSetting(None, may_be_unknown=True),
    "pin_memory": LoaderSetting(False, is_settable=True),
    "sharing_strategy": LoaderSetting(None, may_be_unknown=True),
    "prefetch_factor": LoaderSetting(2, needs_workers=True, is_settable=True),
    "persistent_workers": LoaderSetting(False, needs_workers=True, is_settable=True),
    "in_order": LoaderSetting(True, needs_workers=True, is_settable=True),
    "threads_per_worker": LoaderSetting(None, needs_workers=True, is_settable=True),
    "multiprocessing_context": LoaderSetting(None, needs_workers=True, may_be_unknown=True),
}


def normalised(settings: Settings) -> dict[str, Setting]:
    """Every setting of ``SETTINGS``, with torch's default where none was given or it means nothing without workers."""
    chosen = {}
    for name, known in SETTINGS.items():
        value = None if known.needs_workers and not settings.get("num_workers") else settings.get(name)
        chosen[name] = known.default if value is None else value
    return chosen


def diff_of(loader: LoaderInfo, changed: Mapping[str, Setting], not_in_code: Collection[str] = ()) -> str:
    """Lines that begin with a space, ``-`` or ``+``; arguments at torch's default are only added, not replaced.

    ``not_in_code``: settings that came from outside, so that there is no line of theirs to replace.
    """
    lines = []
    for name, value in changed.items():
        if name not in not_in_code and _is_written(loader, name):
            lines.append(f"-{name}={loader.settings[name]!r},")
        if value is not None:
            lines.append(f"+{name}={value!r},")
    return call(loader, lines)


def _is_written(loader: LoaderInfo, name: str) -> bool:
    """Whether the code must give this argument: a default is usually not written, nor the platform's ``fork``."""
    old = loader.settings.get(name)
    is_platforms = name == "multiprocessing_context" and old == "fork"
    return old is not None and not is_platforms and old != SETTINGS[name].default


def call(loader: LoaderInfo, arguments: Iterable[str]) -> str:
    """The call of ``DataLoader``; each of ``arguments`` begins with its mark."""
    lines = [" loader = DataLoader(", "     dataset,"]
    if loader.batch_size is not None:
        lines.append(f"     batch_size={loader.batch_size},")
    return "\n".join([*lines, *(f"{line[0]}    {line[1:]}" for line in arguments), " )"])
