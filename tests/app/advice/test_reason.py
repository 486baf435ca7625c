"""The reason names causes in the order of what is to be done about them, and the line that an act is about."""

from __future__ import annotations

from typing import Any

from tests.app.made_diagnosis import made_advice, made_cause
from underfed_server.advice.outside_loader import Action
from underfed_server.advice.reason import reason_by_acts
from underfed_server.model import Advice, CauseFinding, Evidence
from underfed_server.names import CauseName

MOVE = Action("Move the other jobs", "", "Move the other jobs.", 0.1, "cpu_limited")


def cause(name: CauseName, sentence: str) -> CauseFinding:
    return made_cause(name).model_copy(update={"sentence": sentence})


def advice(**changes: Any) -> Advice:
    return Advice.model_validate(dict(made_advice()) | changes)


CAUSES = [cause("no_workers", "It loads by itself. So it waits."), cause("cpu_limited", "Other jobs use the cores.")]
ITSELF, OTHERS = "It loads by itself (57% of the wait). So it waits.", "Other jobs use the cores (43% of the wait)."
WHY, OTHERS_FIRST = f"Saves take 5%. {ITSELF} {OTHERS} So.", f"Saves take 5%. {OTHERS} {ITSELF} So."


def test_what_is_done_first_is_said_first() -> None:
    to_try = advice(predicted_speedup=None)
    assert reason_by_acts(WHY, CAUSES, [MOVE], [to_try], is_beside_first=True) == OTHERS_FIRST
    assert reason_by_acts(WHY, CAUSES, [MOVE], [advice()], is_beside_first=False) == WHY
    assert reason_by_acts(WHY, CAUSES, [], [], is_beside_first=False) == WHY


def test_the_line_that_the_first_fix_is_about_is_named_once() -> None:
    share = Evidence(what="Of loading", value=0.36, unit="fraction", margin_fraction=0.17)
    decode = advice(change="cheaper_transform", predicted_speedup=None, ceiling=1.4, ceiling_of="36% of loading",
                    why="open at data.py:3: Decoded.", evidence=[share])  # fmt: skip
    reason = reason_by_acts(WHY, CAUSES, [], [decode], is_beside_first=False)
    assert reason == WHY.replace(". So.", ". Of loading, 36% ± 17 is open at data.py:3. So.")
    named = [CAUSES[0], cause("cpu_limited", "Other jobs use the cores of open at data.py:3.")]
    why = " ".join(each.sentence for each in named)
    assert reason_by_acts(why, named, [], [decode], is_beside_first=False) == why


def test_what_is_not_said_one_after_the_other_stays_as_it_is() -> None:
    apart = "It loads by itself. So it waits. Meanwhile. Other jobs use the cores."
    assert reason_by_acts(apart, CAUSES, [MOVE], [], is_beside_first=True) == apart
    assert reason_by_acts(None, CAUSES, [MOVE], [], is_beside_first=True) is None
