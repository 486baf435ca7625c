"""The form in which a change is declared: one file in ``catalogue/`` for each, with one ``CHANGE``.

Its name is that of its file; the first paragraph of its docstring is its line in docs/causes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from underfed_server.advice.case import Case
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import Sign
from underfed_server.model import Refusal


@dataclass(frozen=True, slots=True)
class Change:
    """Which causes it cures is said by the causes."""

    label: str
    """What people read, in the page and the terminal."""
    consider: Callable[[Case], Offer | Refusal | Sequence[Offer] | None]
    """``None``: the change does not apply to the run. Several offers: each about another part of the work."""
    needs_cause: bool = True
    """It is considered only where the verdict names a cause that it cures."""
    sign: Sign | None = None
    """How a later run shows that it carries the change, where no setting of the loader does. A change of code that
    leaves no sign is never taken as carried."""
    alters: str | None = None
    """The trait besides settings that the change alters: it may differ between the runs."""
    alters_work: bool = False
    """It makes the step's own work another, too: that this differs says nothing else was changed."""
    goes_first: Callable[[Case], bool] | None = None
    """Whether it comes before others that cure the leading cause, though its gain has no figure. ``None``: never."""
    is_of_its_causes: bool = False
    """It touches nothing but what the causes cost that it cures: no gain of it is above that of their being gone."""
    is_between_epochs: bool = False
    """The gain lies between epochs: runs are compared over whole epochs only (CONTRACT)."""
