"""A change as a diff in the user's own terms: arguments of the ``DataLoader`` call, code, or a shell's commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from underfed_server.advice.loader_settings import SETTINGS
from underfed_server.facts.record import LoaderFacts
from underfed_server.model import Setting


def diff_of(loader: LoaderFacts, changed: Mapping[str, Setting], not_in_code: Collection[str] = ()) -> str:
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


def _is_written(loader: LoaderFacts, name: str) -> bool:
    """Whether the code must give this argument: a default is usually not written, nor the platform's ``fork``."""
    old = loader.settings.get(name)
    is_platforms = name == "multiprocessing_context" and old == "fork"
    return old is not None and not is_platforms and old != SETTINGS[name].default


def call(loader: LoaderFacts, arguments: Iterable[str]) -> str:
    """The call of ``DataLoader``; each of ``arguments`` begins with its mark."""
    lines = [" loader = DataLoader(", "     dataset,"]
    if loader.batch_size is not None:
        lines.append(f"     batch_size={loader.batch_size},")
    return "\n".join([*lines, *(f"{line[0]}    {line[1:]}" for line in arguments), " )"])
