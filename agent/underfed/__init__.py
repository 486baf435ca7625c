"""The agent of Underfed: tells why a PyTorch training job waits for its input.

    import underfed
    loader = underfed.watch(loader)

Nothing happens at import. The first call starts a run: the training process writes small fixed-size records into
memory, and a companion process reads, keeps and sends them. ``UNDERFED_DISABLED=1`` turns every call into a
no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from underfed.config import Value

__all__ = ["Run", "finish", "init", "watch"]
__version__ = "0.1.0"

Loader = TypeVar("Loader")


@dataclass(frozen=True, slots=True)
class Run:
    """Which run this is, and where its page will be. Both ``None`` where nothing is recorded."""

    run_id: str | None
    url: str | None


def watch(loader: Loader, name: str | None = None) -> Loader:
    """Measure how long training waits for this DataLoader, and why. Returns the same object, unchanged.

    Something else that is iterated for batches (webdataset's ``WebLoader``, a DALI iterator, a generator) comes back
    as a stand-in that passes everything on: how long training waits for it is measured, how it loads is not.

    ``name`` tells ``train`` from ``val``; without one loaders are ``loader-1``, ``loader-2`` …, and a name that is
    taken gets a number. Starts a run with defaults where ``init()`` did not. Only iterators made after this call
    are measured. Costs a few µs a step (``benchmarks/overhead``); where the training process loads its batches itself,
    measuring how takes at most 0.2 % of the time. What goes wrong in it is counted and never raised.

    Raises:
        NotWatchableError: this is not iterable (a ``TypeError``).
        TorchMissingError: PyTorch cannot be imported (an ``ImportError``).
        ConfigError: ``name`` or an ``UNDERFED_`` variable cannot be used (a ``ValueError``).
    """
    from underfed import control

    watched: Loader = control.watch(loader, name)
    return watched


def init(
    *,
    project: str | None = None,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    config: Mapping[str, Value] | None = None,
) -> Run:
    """Start a run and say what it is called; ``watch()`` does it with defaults.

    ``project/name`` is the job: runs of one job are compared with each other. ``config`` holds what a run should
    be remembered by (numbers, text, booleans). Arguments win over ``UNDERFED_PROJECT``, ``UNDERFED_NAME`` and
    ``UNDERFED_TAGS``.

    Raises:
        ConfigError: an argument or variable cannot be used, or a run has begun already.
    """
    from underfed import control

    return control.init(project=project, name=name, tags=tags, config=config)


def finish() -> None:
    """End the run and take every hook out. Happens by itself at exit; a second call does nothing.

    Waits at most one second until the companion has read what was recorded.
    """
    from underfed import control

    control.finish()
