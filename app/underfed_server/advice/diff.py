"""A change as a diff in the user's own terms: arguments of the ``DataLoader`` call, code, or a shell's commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from underfed_server.facts.record import LoaderFacts
from underfed_server.model import Setting

DEFAULTS: Mapping[str, Setting] = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "pin_memory": False,
    "in_order": True,
    "multiprocessing_context": None,
}
"""torch's own: an argument that holds its default is usually not written in the code."""


def diff_of(loader: LoaderFacts, changed: Mapping[str, Setting], not_in_code: Collection[str] = ()) -> str:
    """Lines that begin with a space, ``-`` or ``+``; arguments at torch's default are only added, not replaced.

    ``not_in_code``: settings that came from outside, so that there is no line of theirs to replace.
    """
    lines = []
    for name, value in changed.items():
        if name not in not_in_code and is_written(loader, name):
            lines.append(f"-{name}={loader.settings[name]!r},")
        if value is not None:
            lines.append(f"+{name}={value!r},")
    return call(loader, lines)


def is_written(loader: LoaderFacts, name: str) -> bool:
    """Whether the code surely says this argument: 2 is what torch makes of no ``prefetch_factor``."""
    if name not in loader.settings:
        return False
    old = loader.settings[name]
    is_implied = (name == "prefetch_factor" and old == 2) or (name == "multiprocessing_context" and old == "fork")
    return not is_implied and old != DEFAULTS.get(name, object())


def call(loader: LoaderFacts, arguments: Iterable[str]) -> str:
    """The call of ``DataLoader``; each of ``arguments`` begins with its mark."""
    lines = [" loader = DataLoader(", "     dataset,"]
    if loader.batch_size is not None:
        lines.append(f"     batch_size={loader.batch_size},")
    return "\n".join([*lines, *(f"{line[0]}    {line[1:]}" for line in arguments), " )"])
