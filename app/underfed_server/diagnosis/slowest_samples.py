"""The slowest samples of a run by name: index, file and size, and how many are like the slowest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.diagnosis.sentence import duration, size
from underfed_server.model import Evidence, SlowSample

NAMED = 3
"""In evidence; a diagnosis has all that are known, at most 20."""

LEAST_WAITED = 0.05
"""Of a load, in waits for a core, from which the time without them is shown beside it. Own choice."""


def named(sample: SlowSample) -> str | None:
    """``index 18,233, scans/0481.dcm``; ``None``: neither is known."""
    index = None if sample.index is None else f"index {sample.index:,}"
    return ", ".join(part for part in (index, sample.file) if part is not None) or None


def took(sample: SlowSample) -> str:
    """``7.12 s, 0.86 s of it without waiting for a core``: samples are ranked by the second figure."""
    if (_share(sample.runqueue_us, sample) or 0.0) < LEAST_WAITED:
        return duration(sample.load_us)
    return f"{duration(sample.load_us)}, {duration(sample.own_us)} of it without waiting for a core"


def slowest(samples: Sequence[SlowSample]) -> list[Evidence]:
    """Those that have a name. ``samples``: the slowest first."""
    known = [(name, sample) for sample in samples if (name := named(sample)) is not None][:NAMED]
    rows = [Evidence(what=f"Loading {name}", value=sample.load_us, unit="us") for name, sample in known]
    if not known:
        return []
    rows[1:1] = _parts_of(known[0][1])
    limit, alike = files_alike(samples)
    if limit is not None and len(samples) > 1:
        what = f"Of the {len(samples)} slowest samples, with a file of {size(limit)} or more"
        rows.append(Evidence(what=what, value=alike, unit="count"))
    return rows


def _parts_of(sample: SlowSample) -> list[Evidence]:
    """Of the slowest: how large its file is, and what it waited for."""
    rows = [
        Evidence(what="Size of that file", value=sample.file_bytes, unit="bytes"),
        Evidence(what="On the CPU, of that load", value=_share(sample.cpu_us, sample), unit="fraction"),
        Evidence(
            what="Ready to run, no core free, of that load", value=_share(sample.runqueue_us, sample), unit="fraction"
        ),
    ]
    return [row for row in rows if row.value is not None]


def _share(part_us: int | None, sample: SlowSample) -> float | None:
    return None if part_us is None or not sample.load_us else part_us / sample.load_us


def files_alike(samples: Sequence[SlowSample]) -> tuple[int | None, int]:
    """A round number of bytes that the slowest sample's file reaches, and of how many of the samples the file does.
    ``None``: its size is not known.
    """
    largest = next((each.file_bytes for each in samples if named(each) is not None), None)
    if not largest:
        return None, 0
    unit = 1024 ** math.floor(math.log2(largest) / 10)
    decade = unit * 10 ** math.floor(math.log10(largest / unit))
    limit = next(step * decade for step in (5, 2, 1) if step * decade <= largest)
    return limit, sum((each.file_bytes or 0) >= limit for each in samples)
