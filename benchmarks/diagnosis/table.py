"""The confusion matrix, how often each cause is right and found, and every verdict that was wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchmarks.diagnosis.outcome import Outcome
from underfed_server.names import CAUSES

SILENT = "silent"
NEIGHBOUR, SOUND = "healthy neighbours", "sound loops"


def print_tables(outcomes: Sequence[Outcome]) -> None:
    synthetic = sorted({each.name for each in outcomes if each.name.startswith("synthetic.")})
    loud = [each for each in outcomes if each.strength in ("clear", "strong") or each.truth is None]
    print(f"\n{len(outcomes)} runs; as windows: {', '.join(synthetic) or 'none'}")
    print("\nClear and strong sicknesses, healthy neighbours and sound loops: runs by leading cause\n")
    print_matrix(loud)
    print("\nWeak sicknesses: naming no cause is no mistake\n")
    print_matrix([each for each in outcomes if each.strength == "weak" and each.truth is not None])
    print("\nOf the first table\n")
    print_rates(loud)
    print("\nWrong\n")
    for outcome in outcomes:
        if not outcome.is_right:
            print(outcome.line())


def print_matrix(outcomes: Sequence[Outcome]) -> None:
    """Rows are the truth; columns, by number, the leading cause."""
    counted = Counter((row_of(each), each.found or SILENT) for each in outcomes)
    columns = (*CAUSES, SILENT)
    print(f"{'truth':<29}" + "".join(f"{number:>4}" for number in range(1, len(columns))) + f"{SILENT:>8}")
    for number, row in enumerate((*CAUSES, NEIGHBOUR, SOUND), 1):
        if any((row, column) in counted for column in columns):
            cells = [str(counted[row, column] or "·") for column in columns]
            label = f"{number:>2} {row}" if row in CAUSES else f"   {row}"
            print(f"{label:<29}" + "".join(f"{cell:>4}" for cell in cells[:-1]) + f"{cells[-1]:>8}")


def row_of(outcome: Outcome) -> str:
    if outcome.truth is not None:
        return outcome.truth
    return SOUND if outcome.is_sound else NEIGHBOUR


def print_rates(outcomes: Sequence[Outcome]) -> None:
    print(f"{'cause':<29}{'runs':>6}{'precision':>11}{'recall':>8}")
    for cause in CAUSES:
        truths = sum(each.truth == cause for each in outcomes)
        found = sum(each.found == cause for each in outcomes)
        right = sum(each.found == cause == each.truth for each in outcomes)
        if truths or found:
            print(f"{cause:<29}{truths:>6}{share(right, found):>11}{share(right, truths):>8}")
    healthy = [each for each in outcomes if each.truth is None]
    print(f"{SILENT:<29}{len(healthy):>6}{'':>11}{share(sum(each.is_right for each in healthy), len(healthy)):>8}")


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"
