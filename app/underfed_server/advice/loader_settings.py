"""The loader settings that advice knows, and a change of them as a diff of the ``DataLoader`` call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from underfed_server.advice.constructor_call import (
    Arguments,
    NotChangedError,
    change_call,
    diff_lines,
    packed_in,
    written,
)
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


def without_workers(loader: LoaderInfo) -> list[str]:
    """Arguments that torch refuses without workers, as far as the loader may have been given them."""
    given = {"persistent_workers": "persistent_workers", "timeout": "timeout_s"}
    return [
        "prefetch_factor",
        "multiprocessing_context",
        *(name for name, setting in given.items() if loader.settings.get(setting)),
    ]


def normalised(settings: Settings) -> dict[str, Setting]:
    """Every setting of ``SETTINGS``, with torch's default where none was given or it means nothing without workers."""
    chosen = {}
    for name, known in SETTINGS.items():
        value = None if known.needs_workers and not settings.get("num_workers") else settings.get(name)
        chosen[name] = known.default if value is None else value
    return chosen


TRAINERS = "transformers"
"""Its ``Trainer`` constructs loaders from its ``TrainingArguments``."""

OF_TRAINER = {
    name: f"dataloader_{name}" for name in ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory")
}
"""Their names of what they pass on."""


@dataclass(frozen=True, slots=True)
class CallDiff:
    lines: str
    """They begin with a space, ``-`` or ``+``."""
    file: str | None
    """Where the call stands; ``None``: not known."""
    sketch: str | None
    """Why they are not the program's own lines, or are not to be changed there; ``None``: they are."""


def diff_of(loader: LoaderInfo, wanted: Arguments, not_in_code: Collection[str] = ()) -> CallDiff:
    """The change of the program's own call, else a sketch of one, which says why.

    Args:
        wanted: the arguments that change; one of ``None`` is not given any more.
        not_in_code: settings that came from outside: the code says other values.
    """
    # What is not given any more may be what it never gives.
    of_trainer = [name for name, value in wanted.items() if value is not None or name in OF_TRAINER]
    if loader.constructed_by == TRAINERS and OF_TRAINER.keys() >= set(of_trainer):
        arguments = {OF_TRAINER[name]: wanted[name] for name in of_trainer}
        why = "the Trainer constructs its loaders from the TrainingArguments, which the program sets"
        known = {OF_TRAINER[name]: _written(loader, name, not_in_code) for name in of_trainer}
        return CallDiff(_sketch("arguments = TrainingArguments(", ["...,"], arguments, known), None, why)
    try:
        changed = change_call(_own_call(loader, not_in_code), wanted)
    except NotChangedError as error:
        if (packed := _packed_sketch(loader, wanted, not_in_code)) is not None:
            return CallDiff(packed, loader.constructed_at, str(error))
        kind = "DataLoader" if loader.snapshot_interval_steps is None else "StatefulDataLoader"
        given = [] if loader.batch_size is None else [f"batch_size={loader.batch_size},"]
        known = {name: _written(loader, name, not_in_code) for name in wanted}
        lines = _sketch(f"loader = {kind}(", ["dataset,", *given], wanted, known)
        return CallDiff(lines, loader.constructed_at, str(error))
    elsewhere = f"{changed.set_elsewhere}: change it where that is set" if changed.set_elsewhere else None
    return CallDiff(
        "\n".join(diff_lines(str(loader.constructor_call), changed.source)), loader.constructed_at, elsewhere
    )


def _own_call(loader: LoaderInfo, not_in_code: Collection[str]) -> str:
    """The program's call, if it is the one that gave the loader its settings.

    Raises:
        NotChangedError: it was not read, or it is another one.
    """
    if loader.constructor_call is None:
        why = loader.not_measured.get("constructor_call")
        raise NotChangedError(f"the program's own call was not read{f': {why}' if why else ''}")
    for name, value in written(loader.constructor_call).items():
        is_checked = name in SETTINGS and SETTINGS[name].is_settable and name not in not_in_code and value is not None
        if is_checked and loader.settings.get(name, value) != value:
            raise NotChangedError(f"the call says {name}={value!r}, and the loader had {loader.settings[name]!r}")
    return loader.constructor_call


def _packed_sketch(loader: LoaderInfo, wanted: Arguments, not_in_code: Collection[str]) -> str | None:
    """What to set in the ``options`` of a call with ``**options``, above that call; ``None``: it is no such call."""
    try:
        call = _own_call(loader, not_in_code)
        packed = packed_in(call, wanted.keys())
    except NotChangedError:
        return None
    if packed is None:
        return None
    changes = [
        f'+{packed}.pop("{name}", None)' if value is None else f'+{packed}["{name}"] = {value}'
        for name, value in wanted.items()
    ]
    return "\n".join([*changes, *(f" {line}" for line in call.split("\n"))])


def _written(loader: LoaderInfo, name: str, not_in_code: Collection[str]) -> str | None:
    """What the code must give this argument: a default is usually not written, nor the platform's ``fork``."""
    if name == "timeout":
        return repr(loader.settings.get("timeout_s"))
    old = None if name in not_in_code or name not in SETTINGS else loader.settings.get(name)
    is_platforms = name == "multiprocessing_context" and old == "fork"
    return None if old is None or is_platforms or old == SETTINGS[name].default else repr(old)


def _sketch(begins: str, given: list[str], wanted: Arguments, known: Arguments) -> str:
    lines = [f" {begins}", *(f"     {each}" for each in given)]
    for name, value in wanted.items():
        lines += [f"-    {name}={known[name]},"] if known[name] is not None else []
        lines += [f"+    {name}={value},"] if value is not None else []
    return "\n".join([*lines, " )"])
