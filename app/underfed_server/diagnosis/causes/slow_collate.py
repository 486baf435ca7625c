"""Joining samples into a batch is the main part of loading it."""

from __future__ import annotations

from underfed_server.diagnosis import evidence
from underfed_server.diagnosis.cause import Cause, Found, share_below
from underfed_server.diagnosis.costly_evidence import costliest, is_joining
from underfed_server.diagnosis.examination import Examination
from underfed_server.diagnosis.measures import mean, without_queueing
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import RankFacts
from underfed_server.model import Evidence, LoaderInfo, Signal

LEAST_SHARE = 0.40
"""Share of load time, without waiting for a core, from which joining samples is the main part of a load, the rest being
spread over reading, decoding and transforming: with less, making it instant does not even gain a factor of 1.7."""

OF_WORK = "of load time without waits for a core"

JOINING = f"Joining samples, {OF_WORK}"
"""What its evidence says that the share is, which is also the one that a change promises to save."""


def find(examined: Examination) -> Found | None:
    share, loader, batches = examined.loads.collate, examined.loader, examined.rank.batches
    working = _of_work(examined)
    if share is None or working is None or working < LEAST_SHARE:
        return None
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"{_takes(examined, working)}{AS_FAST if copies_as_fast(examined.rank, loader) else ''}.",
        [
            Evidence(what=JOINING, value=working, unit="fraction", series="collate_us"),
            evidence.runqueue_share(examined.loads.runqueue),
            evidence.mean_us("Joining one batch", batches.collate_us, "collate_us"),
            *costliest(examined, is_joining, only=_only(examined)),
            evidence.load(examined.rank),
            evidence.batch_bytes(loader),
            evidence.batch_tensors(loader),
        ],
    )


COPY_US_A_MB = 1_200.0
"""To join samples, of which the copy into new memory is most (own study: 600 to 800 µs a megabyte)."""

AS_FAST = ", about as fast as memory is filled. No other way of joining is faster: only smaller samples are"


def copies_as_fast(rank: RankFacts, loader: LoaderInfo | None) -> bool:
    """Joining takes no longer than the copy into new memory, which any way of joining does."""
    joining_us, size_bytes = mean(rank.batches.collate_us), loader.batch_bytes if loader else None
    return bool(size_bytes and joining_us) and (joining_us or 0.0) <= COPY_US_A_MB * (size_bytes or 0) / 1e6


def _takes(examined: Examination, working: float) -> str:
    if percent(working) == percent(1.0):
        return f"Joining its samples is all of {_whole(examined).replace('loading it', 'loading a batch')}"
    return f"Joining samples into a batch takes {percent(working)} of {_whole(examined)}"


def _of_work(examined: Examination) -> float | None:
    """Share of load time: joining is measured without waiting for a core, and so is what it is a share of."""
    return without_queueing(examined.loads.collate, examined.loads.runqueue)


def _waits_for_cores(examined: Examination) -> bool:
    return (examined.loads.runqueue or 0.0) >= THRESHOLDS.minor_cost_fraction


def _whole(examined: Examination) -> str:
    """What that is a share of, where a load waits for cores besides."""
    return "the work of loading it" if _waits_for_cores(examined) else "a load"


def _only(examined: Examination) -> str:
    """Looks find a thread that waits for a core where it computes."""
    return ", joining samples" + (", its waits for a core there included" if _waits_for_cores(examined) else "")


def _read_signal(examined: Examination, is_found: bool) -> Signal:
    return share_below(
        LEAST_SHARE, "Joining samples into batches", OF_WORK, _of_work(examined), "slow collate",
        is_cause=is_found, series="collate_us",
    )  # fmt: skip


CAUSE = Cause(
    label="slow collate",
    find=find,
    cured_by=("cheaper_transform", "smaller_dtype", "vectorize_collate"),
    signals=(_read_signal,),
    is_of_loading=True,
)
