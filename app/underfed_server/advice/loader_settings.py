"""The loader settings that advice knows, each with torch's default and what else is to be known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from underfed_server.model import Setting

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
