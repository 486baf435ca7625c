"""The agent of Underfed: finds out why a PyTorch training job waits for its input.

    import underfed
    loader = underfed.watch(loader)

Nothing happens at import. The first call starts a run: the training process writes small fixed-size records into
memory, and a collector process reads, keeps and sends them. ``UNDERFED_DISABLED=1`` turns every call into a
no-op.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from underfed.exchange.config import Value
    from underfed.trainer.prefetcher.prefetched import Prefetched

__all__ = ["Run", "finish", "init", "prefetch", "stats", "watch"]
__version__ = "0.2.0"

Loader = TypeVar("Loader")


@dataclass(frozen=True, slots=True)
class Run:
    """Which run this is, and where its page will be. Both ``None`` where nothing is recorded."""

    run_id: str | None
    url: str | None


@cache
def _records() -> bool:
    """Whether this system can be recorded on. Where not, a line says so once."""
    if sys.platform != "linux" and os.environ.get("UNDERFED_DISABLED", "") in ("", "0"):
        print(f"underfed: nothing is recorded on {sys.platform}: the agent runs on Linux", file=sys.stderr)
    return sys.platform == "linux"


def watch(loader: Loader, name: str | None = None, *, tune: bool = False) -> Loader:
    """Measure how long training waits for this DataLoader, and why. Returns the same object, unchanged.

    Something else that is iterated for batches (webdataset's ``WebLoader``, a DALI iterator, a generator) comes back
    as a stand-in that passes everything on: how long training waits for it is measured, how it loads is not.

    ``tune`` tries other settings of this loader while it trains and keeps the one measured to be fastest: the same
    samples, in the same order, each once (docs/tuning.md). Of several loaders the first one's.

    ``name`` distinguishes ``train`` from ``val``; without one loaders are ``loader-1``, ``loader-2`` …, and a name that
    is taken gets a number. Starts a run with defaults where ``init()`` did not. Only iterators created after this call
    are measured. Costs a few µs a step (``benchmarks/overhead``); where the training process loads its batches itself,
    measuring how takes at most 0.2 % of the time. What goes wrong in it is counted and never raised. On other systems
    than Linux nothing is recorded, and a line says so.

    Raises:
        NotWatchableError: this is not iterable (a ``TypeError``).
        TorchMissingError: PyTorch cannot be imported (an ``ImportError``).
        ConfigError: ``name`` or an ``UNDERFED_`` variable cannot be used (a ``ValueError``).
    """
    if not _records():
        return loader
    from underfed.trainer import control

    watched: Loader = control.watch(loader, name, tune=tune)
    return watched


def prefetch(loader: Iterable[Any], device: Any, transform: Callable[[Any], Any] | None = None) -> Prefetched:
    """Iterate over ``loader`` with its batches on ``device``, copied there while the model works on the batch before.

    Each ``iter()`` is a new pass; ``len()`` is the loader's. Batches, their order and shape, and exceptions with their
    place among them are the loader's own. On CUDA (and ROCm) tensors are put into page-locked memory where they are not
    yet, copied in a stream beside the current one, and safe to use in the current one. One batch is fetched ahead: from
    a ``DataLoader`` with workers if it is ready, so that no batch waits for the next; never from one without workers,
    where loading the next would delay this one; always from any other iterable. On a CPU you get the loader's own
    iterator; other devices get plain copies.

    ``transform`` is called with each batch on the device and returns what is handed out; on CUDA it runs in the copy
    stream, so normalising or augmenting there overlaps with the model's work. ``loader`` may be watched or not; if it
    is, copies are measured, and how much of them was not hidden. Each batch must have memory of its own: a loader that
    fills the same page-locked or device buffer again would overwrite a batch during its copy. A loader that counts its
    batches (in a ``state_dict()``) counts the one fetched ahead too.

    Raises:
        TorchMissingError: PyTorch cannot be imported (an ``ImportError``).
        ConfigError: there is no such device here (a ``ValueError``).
    """
    from underfed.trainer.prefetcher.prefetched import prefetched

    return prefetched(loader, device, transform)


def init(
    *,
    project: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, Value] | None = None,
) -> Run:
    """Start a run under a name; ``watch()`` does it with defaults.

    ``project/name`` is the job: runs of one job are compared with each other. ``config`` holds what a run should
    be remembered by (numbers, text, booleans). Arguments take precedence over ``UNDERFED_PROJECT``, ``UNDERFED_NAME``
    and ``UNDERFED_TAGS``.

    Raises:
        ConfigError: an argument or variable cannot be used, or a run has begun already.
    """
    if not _records():
        return Run(None, None)
    from underfed.trainer import control

    return control.init(project=project, name=name, tags=tags, config=config)


def finish() -> None:
    """End the run and remove every hook. Happens by itself at exit; a second call does nothing.

    Waits at most one second until the collector has read what was recorded.
    """
    if sys.platform != "linux":
        return
    from underfed.trainer import control

    control.finish()


def stats() -> dict[str, Any]:
    """How loading has gone so far on this rank: read from a file beside the records.

    ``steps`` counts those that the figures are of (the first five are left out); ``data_stall_fraction`` is the share
    of their time that training waited for data, on the device's clock where ``clock`` is ``"gpu"``; ``data_wait_us``
    and ``data_wait_p95_us`` are the mean and the 95th percentile (to within 5 %) of a step's wait in microseconds;
    ``steps_per_s`` counts the training loop without pauses; ``queue_empty_fraction`` is the share of requests that
    found no batch ready. ``recent`` holds the same of the newest minute. ``loader`` is the loader they are of.

    ``bound`` and ``cause`` are the service's verdict on the run; ``max_data_stall_fraction``, ``max_data_wait_us``,
    ``max_data_wait_p95_us`` and ``max_queue_empty_fraction`` are the largest over all ranks. They come with the
    service's answers, some seconds later, and are not known while it gives none. ``not_judged`` is why there is no
    verdict. ``page`` is the address of the run's page. ``None``: not measured, or not known yet, as nothing is of the
    newest second or two.
    """
    if sys.platform != "linux":
        from underfed.exchange import figures

        return figures.nothing()
    from underfed.trainer import control

    return control.stats()
