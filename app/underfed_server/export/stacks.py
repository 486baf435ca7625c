"""What threads of a run were seen to execute, as flame graphs read it: collapsed stacks, and speedscope's JSON.

Of all its loaders, ranks together. A count is of looks, each of which stands for about 10 ms of a burst. Of fewer
than a share needs, a profile says so in its name; collapsed stacks have no place for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from underfed_server.errors import InvalidError
from underfed_server.facts.loading import LEAST_SAMPLES, looks_in
from underfed_server.model import Run, Stage
from underfed_server.store.reading.stacks import Place, Samples, read_stacks
from underfed_server.store.store import Store

SCHEMA = "https://www.speedscope.app/file-format-schema.json"

NOT_KEPT: Place = ("(stacks that were seen seldom)", "", None)

STEP = "between batches"


class Sampled(NamedTuple):
    loader: str
    what: str
    """``loading``, or what the training thread does between batches of the loader."""
    samples: Samples

    @property
    def seen(self) -> int:
        return looks_in(self.samples)

    @property
    def name(self) -> str:
        few = "" if self.seen >= LEAST_SAMPLES else f" (sampled {self.seen} times, too few for shares)"
        return f"{self.loader}: {self.what}{few}"


def sampled_of(store: Store, run: Run) -> list[Sampled]:
    """
    Raises:
        InvalidError: nothing was sampled.
    """
    with store.reading() as reader:
        found = {each.loader: read_stacks(reader.connection, run.run_id, each.loader) for each in run.loaders}
    parts = [
        Sampled(loader, what, samples)
        for loader, stacks in found.items()
        for what, samples in (("loading", stacks.loading), (STEP, stacks.step))
        if samples
    ]
    if not parts:
        reasons = {each.reason for each in found.values() if each.reason} or {"it was not sampled"}
        raise InvalidError(f"format: nothing is known of what this run executes: {', '.join(reasons)}", field="format")
    return parts


def as_collapsed(parts: Iterable[Sampled]) -> Iterator[bytes]:
    """A line for each stack: its frames, the outermost first and separated by ``;``, and how often it was seen. Around
    it stand its loader and its stage (Brendan Gregg's FlameGraph reads that, and so do speedscope, inferno and others).
    """
    for part in parts:
        for (stage, places), count in _by_count(part.samples):
            names = [part.loader, STEP if stage == "step" else stage, *(_line_of(place) for place in places)]
            line = ";".join(name.replace(";", ",").replace("\n", " ") for name in names)
            yield f"{line} {count}\n".encode()


def as_speedscope(parts: Iterable[Sampled]) -> Iterator[bytes]:
    """A sampled profile for each loader's loading, and for what is done between its batches."""
    numbers: dict[Place, int] = {}
    profiles = [_profile(part, numbers) for part in parts]
    frames = [_frame(place) for place in numbers]
    file = {"$schema": SCHEMA, "exporter": "underfed", "shared": {"frames": frames}}
    yield json.dumps({**file, "profiles": profiles}).encode()


def _profile(part: Sampled, numbers: dict[Place, int]) -> dict[str, Any]:
    stacks = _by_count(part.samples)
    within = [[(stage, "", None), *places] if stage != "step" else places for (stage, places), _ in stacks]
    return {
        "type": "sampled",
        "name": part.name,
        "unit": "none",
        "startValue": 0,
        "endValue": part.seen,
        "samples": [[numbers.setdefault(place, len(numbers)) for place in places] for places in within],
        "weights": [count for _, count in stacks],
    }


def _by_count(samples: Samples) -> list[tuple[tuple[Stage, tuple[Place, ...]], int]]:
    often = sorted(samples.items(), key=lambda item: -item[1].sum())
    return [((stage, places or (NOT_KEPT,)), int(looks.sum())) for (stage, places), looks in often]


def _line_of(place: Place) -> str:
    function, file, line = place
    if not file:
        return function
    return f"{function} ({file})" if line is None else f"{function} ({file}:{line})"


def _frame(place: Place) -> dict[str, Any]:
    function, file, line = place
    known = {"file": file or None, "line": line}
    return {"name": function, **{name: value for name, value in known.items() if value is not None}}
