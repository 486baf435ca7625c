"""How the hosts of a run switch settings at the same step: what a host reports to the others, as docs/wire.md has it,
and what they reported to it.

Both are small files in the directory of the host's first rank, each replaced as a whole: the training process writes
the one, which the collector sends with each window, and the collector the other, from the service's answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from underfed.exchange.config import Value
from underfed.exchange.parts import parse, read_small
from underfed.host.signal_handlers import passing

FILE, ANSWER_FILE = "switch.json", "switch-heard.json"


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """What all hosts are to switch to, and at which step."""

    number: int
    """Larger than that of any earlier one of the run."""
    step: int
    crew: int
    """Of the processes that are to do it, one a host: the sum of their incarnations."""
    settings: dict[str, Value]
    keep: dict[str, Value]
    """What they go back to if no more reports arrive."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What the first rank of a host reports to the others."""

    ranks: int
    """Of the run, that record on this host."""
    seen: int = 0
    """The newest plan that arrived; 0: none."""
    seen_step: int | None = None
    """The step at which it did."""
    done: int = 0
    """The newest plan whose settings are in use, their start-up over."""
    reason: str | None = None
    """Why the plan that arrived cannot be done here."""
    is_searching: bool = False
    """Of the leading host: others should be quick to answer."""
    plan: SwitchPlan | None = None


@dataclass(frozen=True, slots=True)
class SwitchAnswer:
    """What the service answered last: what the other hosts reported."""

    ranks: int
    """Of the run, on all hosts that reported."""
    crew: int
    lead_window_index: int | None = None
    """Of the leading host's newest window: it grows while that host reports."""
    is_searching: bool = False
    plan: SwitchPlan | None = None
    """One that this host has not seen."""
    number: int | None = None
    """For the leading host: the plan that the rest is about."""
    done_ranks: int = 0
    """Ranks of other hosts that use its settings."""
    first_seen_step: int | None = None
    last_seen_step: int | None = None
    """Among the steps at which it arrived at other hosts."""
    reason: str | None = None
    """Why one of them cannot do it."""


def read_answer(path: str) -> SwitchAnswer | None:
    """``None``: there is none yet, or it cannot be understood."""
    with passing(OSError, ValueError, TypeError, AttributeError):
        return _checked(parse(SwitchAnswer, read_small(path)))
    return None


def _checked(answer: SwitchAnswer) -> SwitchAnswer:
    """
    Raises:
        TypeError: what it holds is not what it should be.
    """
    plan = answer.plan
    whole = [answer.ranks, answer.crew, answer.done_ranks]
    whole += [] if plan is None else [plan.number, plan.step, plan.crew]
    maybe = (answer.number, answer.lead_window_index, answer.first_seen_step, answer.last_seen_step)
    whole += [each for each in maybe if each is not None]
    if not all(type(each) is int for each in whole):
        raise TypeError("a number is none")
    for settings in () if plan is None else (plan.settings, plan.keep):
        if not all(value is None or (isinstance(value, int) and value >= 0) for value in settings.values()):
            raise TypeError("a setting is none")
    return answer
