"""A change as a diff in the user's own terms: the arguments of the ``DataLoader`` call."""

from __future__ import annotations

from collections.abc import Mapping

from underfed_server.facts.record import LoaderFacts
from underfed_server.model import Setting

DEFAULTS: Mapping[str, Setting] = {"num_workers": 0, "prefetch_factor": None}
"""torch's own: an argument that holds its default is usually not written in the code."""


def diff_of(loader: LoaderFacts, changed: Mapping[str, Setting]) -> str:
    """Lines that begin with a space, ``-`` or ``+``; arguments at torch's default are only added, not replaced."""
    lines = [" loader = DataLoader(", "     dataset,"]
    if loader.batch_size is not None:
        lines.append(f"     batch_size={loader.batch_size},")
    for name, value in changed.items():
        old = loader.settings.get(name)
        if name in loader.settings and old != DEFAULTS.get(name, object()):
            lines.append(f"-    {name}={old!r},")
        lines.append(f"+    {name}={value!r},")
    return "\n".join([*lines, " )"])
