"""What a library's function is called that the program calls: what works behind it is not what the program wrote.

``array.std()`` is first seen in ``_std`` of NumPy, ``model(batch)`` in ``Module._wrapped_call_impl`` of torch, and
``optimizer.step()`` in a wrapper.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from underfed_server.store.reading.stacks import Place, Samples

INTERNAL = re.compile(r"(^|\.)(_(?!_)\w+|wrapper|wrapped|inner|decorate_context)$")
"""Functions that a program does not call by that name."""

WITHIN = re.compile(r"^torch/(_dynamo/|_compile\.py|autograd/(profiler|grad_mode)\.py|utils/_contextlib\.py)")
"""Files of functions that torch calls on the way to what the program calls."""

OF_ARRAYS = re.compile(r"^numpy/(_core|core)/_methods\.py$")
"""Methods of arrays that are written in Python, each with an underscore before its name."""

OF_MODULES = "torch/nn/modules/module.py"
"""Calls ``forward`` of the module that the program calls."""

Call = tuple[Place, str, str]
"""A place in the program, and the function and file that are first seen of what it calls there."""


def names_of_calls(samples: Samples, own_files: AbstractSet[str]) -> Mapping[Call, str]:
    """Of calls that are first seen in something internal: how what was seen behind it most often is named."""
    found: dict[Call, Counter[str]] = defaultdict(Counter)
    for (_stage, places), looks in samples.items():
        at = innermost_own(places, own_files)
        if at is not None and at + 1 < len(places) and (name := _behind(places, at)) is not None:
            found[call_at(places, at)][name] += int(looks.sum())
    return {call: names.most_common(1)[0][0] for call, names in found.items()}


def called_at(places: Sequence[Place], at: int, names: Mapping[Call, str]) -> str | None:
    """What the program calls at ``places[at]``; ``None``: nothing. ``names``: for looks that found nothing public."""
    if at + 1 >= len(places):
        return None
    function, file, _line = places[at + 1]
    if not _is_internal(places, at):
        return function
    if OF_ARRAYS.search(file):
        return f"numpy.{function.lstrip('_')}"
    return _behind(places, at) or names.get(call_at(places, at), function)


def call_at(places: Sequence[Place], at: int) -> Call:
    return (places[at], *places[at + 1][:2])


def innermost_own(places: Sequence[Place], own_files: AbstractSet[str]) -> int | None:
    """Not of what is not written in Python: that is named at the place of its call."""
    last = len(places) - 1 - is_called(places, len(places) - 1)
    return max((at for at in range(last + 1) if places[at][1] in own_files), default=None)


def is_called(places: Sequence[Place], at: int) -> bool:
    """It has no frame of its own: what is not written in Python is named at the place of its call."""
    return at > 0 and at == len(places) - 1 and places[at][1:] == places[at - 1][1:]


def _is_internal(places: Sequence[Place], at: int) -> bool:
    return not is_called(places, at + 1) and not _is_public(places[at + 1])


def _is_public(place: Place) -> bool:
    return INTERNAL.search(place[0]) is None and WITHIN.search(place[1]) is None


def _behind(places: Sequence[Place], at: int) -> str | None:
    """The first public function behind internal ones, of a module its class. ``None``: none is internal, or all are."""
    if not _is_internal(places, at):
        return None
    for place in range(at + 1, len(places)):
        if _is_public(places[place]):
            function = places[place][0]
            is_of_module = places[place - 1][1] == OF_MODULES and function.endswith(".forward")
            return function.removesuffix(".forward") if is_of_module else function
    return None
