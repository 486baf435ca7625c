"""Why a run waits: what the rules find, each with its own part of the wait, the largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from underfed_server.diagnosis.judged import Judged
from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.rules import AT_ANY_BOUND, Rule
from underfed_server.diagnosis.sentence import NAMES
from underfed_server.model import Bound, Cause, CauseFinding, Evidence

ELSEWHERE: dict[Bound, frozenset[Cause]] = {"transfer": frozenset({"pageable_copy"})}
"""What explains a bound other than data. With data, every cause may be found."""


def find_causes(
    judged: Judged, limits: Limits, rules: Mapping[str, Rule], leading: Cause | None = None
) -> tuple[CauseFinding, ...]:
    """Together they cost at most the stall; a copy that is not hidden comes on top of it.

    Args:
        leading: the cause that leads until another costs clearly more.
    """
    found = []
    for rule in rules.values():
        finding = rule(judged, limits)
        if finding is not None and _is_told(finding, judged.bound, limits):
            found.append(finding)
            judged = judged.after(finding)
    shared = _beside_slow_rank(found, judged)
    kept = [each for each in shared if _is_told(each, judged.bound, limits)]
    return _in_order(kept, limits, leading)


def _is_told(finding: CauseFinding, bound: Bound, limits: Limits) -> bool:
    if finding.cause in AT_ANY_BOUND:
        return True
    if bound != "data" and finding.cause not in ELSEWHERE.get(bound, ()):
        return False
    return finding.cost_fraction >= limits.minor_cost_fraction


def _beside_slow_rank(found: Sequence[CauseFinding], judged: Judged) -> list[CauseFinding]:
    """What one rank waits longer than the others is ``slow_rank``; why it does is evidence, and costs nothing more."""
    slow = next((each for each in found if each.cause == "slow_rank"), None)
    others = [each for each in found if each.cause not in ("slow_rank", "pageable_copy")]
    if slow is None or not others:
        return list(found)
    why = max(others, key=lambda each: each.cost_fraction)
    told = Evidence(what="What it waits for", value=NAMES[why.cause], unit="setting")
    rest = 1 - slow.cost_fraction / judged.rank.stall_fraction
    return [
        slow.model_copy(update={"sentence": f"{slow.sentence} {why.sentence}", "evidence": [*slow.evidence, told]}),
        *(each.model_copy(update={"cost_fraction": each.cost_fraction * rest}) for each in others),
        *(each for each in found if each.cause == "pageable_copy"),
    ]


def _in_order(found: Sequence[CauseFinding], limits: Limits, leading: Cause | None) -> tuple[CauseFinding, ...]:
    def weight(finding: CauseFinding) -> float:
        return finding.cost_fraction * (limits.clearly_larger_factor if finding.cause == leading else 1.0)

    return tuple(sorted(found, key=weight, reverse=True))
