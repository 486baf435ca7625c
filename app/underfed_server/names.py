"""Names of which the API has a closed set, and the label that people read for each.

Causes and changes are the modules of two folders: a new one is a new file, and is in the API's description by being
there. What a module declares builds on the shapes that name it, so labels are looked up by name, when one is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo


def _modules(folder: str) -> tuple[str, ...]:
    return tuple(sorted(module.name for module in iter_modules([str(Path(__file__).parent / folder)])))


CAUSES = _modules("diagnosis/causes")
CHANGES = _modules("advice/catalogue")

Projects: TypeAlias = frozenset[str] | None
"""The projects that a caller sees; ``None``: all."""

if TYPE_CHECKING:
    CauseName: TypeAlias = str
    ChangeName: TypeAlias = str
else:
    CauseName = Literal[CAUSES]
    ChangeName = Literal[CHANGES]

LABELS: Mapping[str, Mapping[str, str]] = {
    "status": {"running": "running", "finished": "finished", "crashed": "crashed", "lost": "no signal"},
    "bound": {
        "data": "data-bound",
        "transfer": "transfer-bound",
        "compute": "compute-bound",
        "host": "host-bound",
        "unknown": "no verdict",
    },
    "level": {
        "healthy": "healthy",
        "watch": "some wait",
        "limited": "limited by its input",
        "bound": "bound by its input",
        "unknown": "no verdict",
    },
    "tuning": {
        "waiting": "waiting",
        "searching": "trying settings",
        "kept": "kept a faster setting",
        "left_alone": "left as it was",
        "refused": "not tuned",
        "failed": "tuning failed",
        "ended": "ended within its trials",
    },
    "condition": {
        "data_bound": "waits for data",
        "hours_lost": "hours lost",
        "verdict_changed": "verdict changed",
        "memory": "memory runs out",
        "straggler": "a rank straggles",
        "host_offline": "host offline",
    },
}


def label_of(kind: str, name: str) -> str:
    """``label_of("status", "lost")`` → ``"no signal"``.

    Raises:
        KeyError: there is no such kind, or the kind has no such name.
    """
    return all_labels()[kind][name]


@cache
def all_labels() -> Mapping[str, Mapping[str, str]]:
    """By kind (``cause``, ``change``, ``status``, ``bound``, ``level``, ``tuning``, ``condition``) and name."""
    return {
        "cause": _declared("diagnosis.causes", "CAUSE"),
        "change": _declared("advice.catalogue", "CHANGE"),
        **LABELS,
    }


def _declared(package: str, declaration: str) -> Mapping[str, str]:
    names = _modules(package.replace(".", "/"))
    modules = {name: import_module(f"underfed_server.{package}.{name}") for name in names}
    return {name: getattr(module, declaration).label for name, module in modules.items()}


def _beside(_: object, info: ValidationInfo) -> str | None:
    """The label of ``cause`` for the field ``cause_label``. A label that was stored or sent is ignored."""
    kind = (info.field_name or "").removesuffix("_label")
    name = info.data.get(kind)
    return None if name is None else label_of(kind, name)


Label = Annotated[str, BeforeValidator(_beside), Field(validate_default=True)]
OptionalLabel = Annotated[str | None, BeforeValidator(_beside), Field(validate_default=True)]
"""The label of the field before it, filled in by the model itself."""
