"""What a run that tuned itself found out, for the next one, which begins with what the program has."""

from __future__ import annotations

from underfed_server.model import ToWrite, Tuning

DEFAULT_PREFETCH = 2
"""Of torch, where there are workers."""


def to_write(tuning: Tuning | None) -> ToWrite | None:
    """``None``: nothing else than what the run began with was kept, or its gain was not measured."""
    if tuning is None or tuning.status != "kept" or not tuning.lines or tuning.speedup is None:
        return None
    what = ", ".join(line.strip().rstrip(",") for line in tuning.lines)
    since = "" if tuning.kept_from_step is None else f" since step {tuning.kept_from_step:,}"
    ends = "" if tuning.low is None or tuning.high is None else f" ({tuning.low:.2f} to {tuning.high:.2f})"
    measured = f"Measured{ends} in turns with the setting before, not by the mean steps before and since."
    kept = tuning.kept or {}
    is_default = kept.get("prefetch_factor") == DEFAULT_PREFETCH and "prefetch_factor" not in what
    default = " Its prefetch_factor=2 is the default of torch." if is_default else ""
    return ToWrite(
        title=f"Write {what} into the program",
        gain=f"× {tuning.speedup:.2f} measured",
        detail=f"In use{since}; the next run begins without it. {measured}{default}",
        lines=tuning.lines,
    )
