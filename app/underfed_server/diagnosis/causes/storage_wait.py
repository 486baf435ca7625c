"""Loading is blocked on reads that reach storage or a network, not the page cache."""

from __future__ import annotations

from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.cause import Cause, Found, Shared, load_signal, share_signal
from underfed_server.diagnosis.costly_evidence import costliest, reads
from underfed_server.diagnosis.examination import Examination, read_from, waits_only_at_first
from underfed_server.diagnosis.measures import are_cores_full
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.sentence import size
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.places import storage_place
from underfed_server.facts.record import RankFacts
from underfed_server.model import Evidence

LEAST_SHARE = 0.25
"""Share of load time blocked on reads that reach storage from which storage is a cause: with less, decoding is what
even an instant disk would leave."""


MUCH_MORE = 4.0
"""Bytes read for each of a batch, from which most of what is read of a mapped file is not used. Files are more often
smaller than what is decoded from them."""


def find(examined: Examination) -> Found | None:
    share, rank = examined.loads.storage, examined.rank
    if share is None or share < LEAST_SHARE:
        return None
    place, batches = storage_place(examined.facts, rank), rank.batches
    where, blocked = read_from(examined), measures.load_share(rank, batches.blocked_us)
    if measures.reads_network(rank):
        return _by_network(examined, share, blocked)
    who = _who(share)
    sentence = f"{who} for {where}: the page cache does not serve the reads."
    if waits_only_at_first(rank):
        sentence = f"{who} for {where} in the first epoch; later epochs find the files in the page cache."
    sentence += _read_ahead(examined) + _beside(examined)
    read_per_s = measures.read_bytes_per_s(rank)
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        sentence,
        [
            Evidence(what=f"Reading from storage, {evidence.WAITED_FOR}", value=share, unit="fraction"),
            Evidence(what="Blocked, of load time", value=blocked, unit="fraction", series="blocked_us"),
            evidence.runqueue_share(examined.loads.runqueue),
            *costliest(examined, None if _is_mapped(rank) else reads),
            evidence.storage_reads(rank),
            Evidence(what="Read from storage", value=read_per_s, unit="bytes_per_s", series="read_bytes"),
            Evidence(what="Read from storage for one batch", value=measures.mean(batches.read_bytes), unit="bytes"),
            Evidence(what="Asked for by one batch", value=measures.mean(batches.asked_bytes), unit="bytes"),
            *evidence.read_elsewhere(examined.storage.elsewhere.most),
            evidence.setting("The data lies on", where if place else None),
            evidence.setting("File system", place.file_system if place else None),
        ],
    )


def _who(share: float) -> str:
    """``share``: of load time that is waited for."""
    return "Loading waits" if share >= 0.5 else f"Loading waits {percent(share)} of its time"


def _is_mapped(rank: RankFacts) -> bool:
    """No call asks for what is read: touching its pages does."""
    return (measures.mean(rank.batches.asked_bytes) or 0.0) < measures.READS_BYTES


def _read_ahead(examined: Examination) -> str:
    rank, whole = examined.rank, examined.loader.batch_bytes if examined.loader else None
    read = measures.mean(rank.batches.read_bytes) or 0.0
    if not whole or not _is_mapped(rank) or read < MUCH_MORE * whole:
        return ""
    return (
        f" {size(read)} are read for a batch of {size(whole)}: of a mapped file each page brings its neighbours, "
        "unless it is mapped with madvise(MADV_RANDOM)."
    )


def _beside(examined: Examination) -> str:
    """What else may have been waited for in what counts as reading: it is not distinguished."""
    if not are_cores_full(examined.rank, examined.facts.host, examined.loads.runqueue):
        return ""
    return " All cores are busy as well: a part of that time may be what serves the reads waiting for one."


def _by_network(examined: Examination, share: float, blocked: float | None) -> Found:
    rank = examined.rank
    unknown = "" if measures.received_bytes(rank) is not None else " How much they receive was not measured."
    return Found(
        min(examined.unexplained, examined.wait.loading * share),
        f"{_who(share)} for the network: the workers read through connections of their own.{unknown}"
        f"{_beside(examined)}",
        [
            Evidence(what="Blocked, of load time", value=blocked, unit="fraction", series="blocked_us"),
            *costliest(examined, reads),
            *evidence.network(rank),
            Evidence(what="Received for one batch", value=measures.received_bytes(rank), unit="bytes"),
        ],
    )


CAUSE = Cause(
    label="slow storage",
    find=find,
    cured_by=("cheaper_transform", "num_workers", "tmpfs"),
    signals=(
        load_signal("Loading blocked, not computing", "blocked_us", THRESHOLDS.blocked_fraction, "blocked"),
        share_signal(
            "Reads that reach storage",
            lambda examined: measures.storage_fraction(examined.rank),
            THRESHOLDS.storage_read_fraction,
            "of bytes asked for",
            "not cached",
            series="read_bytes",
        ),
    ),
    turn="first",
    is_of_loading=True,
    shared=Shared("mount", "wait for storage at"),
)
