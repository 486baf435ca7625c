"""``underfed run`` ends with what the service says of its run: verdict, first fix, page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from underfed.errors import ConfigError
from underfed.exchange import tuning
from underfed.exchange.config import read_config
from underfed.exchange.parts import write_part
from underfed.exchange.tuning import TuningFacts
from underfed.launcher import verdict
from underfed.launcher.verdict import NO_ANSWER, NOT_JUDGED, NOT_SENT, SO_FAR, lines_of, report_tuning, report_verdict

RAISE = {"title": "Raise num_workers from 0 to 4", "is_promised": True, "predicted_speedup": 1.62, "low": 1.48}
RAISE |= {"high": 1.71, "command": "underfed run --set num_workers=4 -- python train.py"}
JUDGED: dict[str, Any] = {"is_final": True, "bound": "data", "judged_at": "2026-11-21T10:00:00Z",
                          "sentence": "It waits.", "advice": [RAISE]}  # fmt: skip
UNJUDGED: dict[str, Any] = JUDGED | {"is_final": False, "judged_at": None, "bound": "unknown", "advice": []}


@dataclass
class Answers:
    """A service that gives these answers one after the other, and the last one from then on."""

    each: list[Any]
    asked: list[str] = field(default_factory=list)

    def get(self, path: str) -> Any:
        self.asked.append(path)
        answer = self.each.pop(0) if len(self.each) > 1 else self.each[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    lines: list[str] = []
    monkeypatch.setattr(verdict, "say", lines.append)
    monkeypatch.setattr(verdict, "POLL_S", 0.0)
    yield lines


def after_run(monkeypatch: pytest.MonkeyPatch, *answers: Any, ran_s: float = 3_600.0) -> Answers:
    service = Answers(list(answers))
    monkeypatch.setattr(verdict, "Service", lambda *_: service)
    report_verdict(read_config({"UNDERFED_URL": "http://head:7077"}), ["before", "run-1"], ran_s)
    return service


def test_the_verdict_is_printed_once_the_run_has_ended_and_was_judged(
    printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = after_run(monkeypatch, None, UNJUDGED, JUDGED | {"is_final": False}, JUDGED)
    assert service.asked == ["/runs/run-1/diagnosis"] * 4
    assert printed == [
        "It waits.",
        "first fix: Raise num_workers from 0 to 4 (× 1.48–1.71)",
        "try it: underfed run --set num_workers=4 -- python train.py",
        "why, and all else: http://head:7077/runs/run-1",
    ]


@pytest.mark.parametrize("is_first", [True, False])
def test_what_lies_outside_the_loader_comes_first_where_the_service_says_so(is_first: bool) -> None:
    judged = JUDGED | {"beside_loader": "Move the other jobs.", "is_beside_first": is_first}
    assert ("first fix: Move the other jobs, gain not known" in lines_of(judged, "page")) == is_first


def test_what_tuning_kept_is_written_down_first_as_on_the_page() -> None:
    kept = {"title": "Write num_workers=2 into the program", "gain": "× 1.91 measured", "detail": "", "lines": []}
    beside = {"beside_loader": "Move the other jobs.", "is_beside_first": True}
    said = [*lines_of(JUDGED | beside | {"to_write": kept}, "page")]
    assert said[1:4] == [
        "first fix: Write num_workers=2 into the program, × 1.91 measured",
        "worth a try: Move the other jobs, gain not known",
        "worth a try: Raise num_workers from 0 to 4 (× 1.48–1.71)",
    ]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, NOT_SENT),
        ({}, NOT_SENT),
        ("hello", NOT_SENT),
        (UNJUDGED, NOT_JUDGED),
        (UNJUDGED | {"judged_at": "2026-11-21T10:00:00Z"}, NOT_JUDGED),
    ],
)
def test_without_a_verdict_in_time_the_page_is_named_and_why(
    answer: Any, why: str, printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    after_run(monkeypatch, answer, ran_s=0.02)
    assert printed == [f"{why} http://head:7077/runs/run-1"]


def test_a_service_that_is_not_there_is_not_waited_for(printed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(after_run(monkeypatch, ConfigError("no service answers")).asked) == 1
    assert printed == [], "that was said when recording began"


def test_a_service_that_takes_too_long_is_named_with_the_page(
    printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "ANSWER_S", 0.0)  # each answer takes too long
    service = after_run(monkeypatch, ConfigError("timed out"), JUDGED)
    assert printed == [f"{NO_ANSWER} http://head:7077/runs/run-1"]
    assert len(service.asked) == 1, "whoever waits for the end of the command waits for it once"


def test_a_verdict_that_does_not_become_final_in_time_is_said_to_be_one_so_far(
    printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "ANSWER_S", 0.0)
    after_run(monkeypatch, JUDGED | {"is_final": False}, ConfigError("timed out"), ran_s=0.02)
    assert printed[0] == f"{SO_FAR}It waits."
    assert printed[-1].endswith("/runs/run-1")


def test_a_verdict_without_the_last_windows_is_not_the_last_word(
    printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    after_run(monkeypatch, JUDGED | {"is_final": False, "sentence": "Early."}, JUDGED | {"is_final": True})
    assert printed[0] == "It waits."


def test_a_command_that_ran_for_no_time_asks_once(printed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(after_run(monkeypatch, UNJUDGED, ran_s=0.0).asked) == 1
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("changes", "gain"),
    [
        ({"run_speedup": 1.19, "run_low": 1.15, "run_high": 1.22}, "the run × 1.15–1.22"),
        ({"is_promised": False}, "to be tried: no gain is promised"),
        ({"low": None, "high": None}, "× 1.62"),
    ],
)
def test_the_fix_is_named_with_what_the_run_gains(changes: dict[str, Any], gain: str) -> None:
    found = list(lines_of(JUDGED | {"advice": [RAISE | changes]}, "http://head:7077/runs/run-1"))
    assert found[1] == f"first fix: Raise num_workers from 0 to 4 ({gain})"


CHEAPER = {"change": "cheaper_transform", "title": "Tokenise once", "is_promised": False, "ceiling": 2.5,
           "diff_file": "data.py:41"}  # fmt: skip
CORES = {"change": "cpu_allocation", "title": "Give it more cores", "is_promised": False, "ceiling": 3.0}


@pytest.mark.parametrize("behind", [[], [CORES]])
def test_where_no_setting_promises_a_gain_the_usual_change_of_the_line_is_named(behind: list[Any]) -> None:
    said = list(lines_of(JUDGED | {"advice": [CHEAPER, *behind]}, "…"))[1:-1]
    assert said == [
        "no setting promises a gain; the usual change: Tokenise once, data.py:41 "
        "(about × 2.50 if that work cost nothing)"
    ]


def test_the_first_fix_is_the_first_of_the_page_though_a_line_is_behind_it() -> None:
    said = list(lines_of(JUDGED | {"advice": [CORES, CHEAPER]}, "…"))[1:-1]
    assert said == ["first fix: Give it more cores (to be tried: no gain is promised)"]


def test_a_cheaper_line_that_comes_before_a_setting_is_the_first_fix() -> None:
    said = list(lines_of(JUDGED | {"advice": [CHEAPER, RAISE]}, "…"))[1:-1]
    assert said == ["first fix: Tokenise once, data.py:41 (about × 2.50 if that work cost nothing)"]


def test_where_a_setting_promises_one_it_is_the_first_fix() -> None:
    said = list(lines_of(JUDGED | {"advice": [RAISE, CHEAPER]}, "…"))
    assert said[1] == "first fix: Raise num_workers from 0 to 4 (× 1.48–1.71)"
    assert not any("Tokenise" in line for line in said)


def test_a_run_that_needs_nothing_gets_its_verdict_and_its_page() -> None:
    page = "http://head:7077/runs/run-1"
    assert list(lines_of(JUDGED | {"advice": []}, page)) == ["It waits.", f"why, and all else: {page}"]


def test_the_line_that_costs_most_stands_below_the_verdict_that_it_explains() -> None:
    resize: dict[str, Any] = {"fraction": 0.624, "sentence": "Image.resize at data.py:41, in Photos.__getitem__"}
    called = (("crop", 0.325), ("fit", 0.3))
    resize["callers"] = [{"fraction": share, "sentence": f"{name} at data.py:9"} for name, share in called]
    saving = {"fraction": 0.31, "sentence": "torch.save at train.py:88, in train"}
    known = JUDGED | {"advice": [], "hot_lines": [resize, saving], "step_lines": [saving]}
    said = {bound: list(lines_of(known | {"bound": bound}, "…"))[1:-1] for bound in ("data", "host", "compute")}
    assert said == {
        "data": [
            "62% of loading: Image.resize at data.py:41, in Photos.__getitem__",
            "of it through crop at data.py:9 (33%), fit at data.py:9 (30%)",
        ],
        "host": ["31% between batches: torch.save at train.py:88, in train"],
        "compute": [],
    }


@pytest.mark.parametrize(("what", "value", "said"), [
    ("Of loading, in torch.multinomial at s.py:9, in Weighted.__iter__", 0.62,
     "62% ± 4 of loading: torch.multinomial at s.py:9, in Weighted.__iter__"),
    ("Of loading, in its costliest call: not measured, --profile alone", None,
     "Of loading, in its costliest call: not measured, --profile alone"),
])  # fmt: skip
def test_of_a_slow_sampler_no_line_of_the_workers_is_named(what: str, value: float | None, said: str) -> None:
    evidence = [
        {"what": "Sampler time of one batch", "value": 9e3},
        {"what": what, "value": value, "margin_fraction": 0.04},
    ]
    causes = [{"cause": "slow_sampler", "evidence": evidence}]
    decode = {"fraction": 0.9, "sentence": "decode at data.py:41, in Photos.__getitem__"}
    known = JUDGED | {"bound": "data", "advice": [], "hot_lines": [decode], "causes": causes}
    assert list(lines_of(known, "…"))[1:-1] == [said]


def test_where_stacks_were_asked_for_it_is_said_that_too_few_were_seen() -> None:
    few = JUDGED | {"advice": [], "looks": 41, "step_looks": 180, "needed_looks": 100}
    said = "loading was looked at 41 times, too few to tell its lines: 100 are needed"
    assert list(lines_of(few, "…", is_profiled=True))[1:-1] == [said]
    assert list(lines_of(few, "…"))[1:-1] == []
    for bound, expected in (
        ("data", ["loading was looked at 0 times"]),
        ("host", ["what follows a batch was looked at 0 times"]),
        ("compute", []),
    ):
        nothing = list(lines_of(few | {"bound": bound, "looks": 0, "step_looks": 0}, "…", is_profiled=True))
        assert [line.partition(",")[0] for line in nothing[1:-1]] == expected


KEPT = {"status": "kept", "lines": ["num_workers=3,"], "reason": None}
LEFT = {"status": "left_alone", "lines": [], "reason": "nothing was faster"}


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (KEPT, "--tune, to write into the script: num_workers=3,"),
        (LEFT, "--tune leaves the loader as it is: nothing was faster"),
    ],
)
def test_what_came_of_tuning_is_said_for_a_process_that_could_not(
    printed: list[str], monkeypatch: pytest.MonkeyPatch, outcome: dict[str, Any], said: str
) -> None:
    """As one that ended by ``os._exit``, or became another program."""
    monkeypatch.setattr(verdict, "Service", lambda *_: Answers([JUDGED | {"tuning": outcome}]))
    config = read_config({"UNDERFED_URL": "http://head:7077"})
    report_verdict(config, ["run-1"], 60.0)
    assert said not in printed
    report_verdict(config, ["run-1"], 60.0, is_tuning_unreported=True)
    assert said in printed


@pytest.mark.parametrize(("known", "said"), [
    ({}, "about × 2.50 if that work cost nothing"),
    ({"ceiling_low": 1.61, "ceiling_high": 4.9}, "about × 2.50 (1.61 to 4.90) if that work cost nothing"),
    ({"ceiling_of": "80% of loading, in this line and another one with such work"},
     "about × 2.50 if that work, 80% of loading, in this line and another one with such work, cost nothing"),
    ({"ceiling": None}, "its gain is not known"),
])  # fmt: skip
def test_what_a_cheaper_line_gives_at_best_is_said_with_its_ends_and_what_it_is_of(
    known: dict[str, Any], said: str
) -> None:
    assert f"({said})" in list(lines_of(JUDGED | {"advice": [CHEAPER | known]}, "…"))[1]


def test_what_is_neither_training_nor_waiting_is_said_below_the_verdict() -> None:
    beside = ["Checkpoints take 13% of this loop's time: 15 pauses.", "draw takes 9%.", "plot takes 6%."]
    said = list(lines_of(JUDGED | {"advice": [], "beside_training": beside}, "…"))
    assert said[1:-1] == beside[:2]


def test_that_the_first_line_need_not_be_the_largest_is_said_with_it() -> None:
    lines = {"hot_lines": [{"fraction": 0.4, "sentence": "f at a.py:1"}], "hot_order": "Either may be the larger."}
    said = list(lines_of(JUDGED | {"advice": [], "bound": "data", **lines}, "…"))
    assert said[1:-1] == ["40% of loading: f at a.py:1", "Either may be the larger."]


@pytest.mark.parametrize(("status", "waited", "is_named"), [
    ("finished", 0.98, True), ("crashed", 0.2, True), ("finished", 0.19, False), ("running", 0.98, False),
    ("finished", None, False),
])  # fmt: skip
def test_without_a_verdict_the_line_of_a_run_that_mostly_waited_is_named(
    status: str, waited: float | None, is_named: bool
) -> None:
    lines = [{"fraction": 0.65, "margin_fraction": 0.31, "sentence": "Image.resize at data.py:12"}]
    known = {"bound": "unknown", "status": status, "waited_fraction": waited, "hot_lines": lines, "advice": []}
    said = list(lines_of(JUDGED | known, "…"))[1:-1]
    assert said == (["65% ± 31 of loading: Image.resize at data.py:12"] if is_named else [])


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            TuningFacts("train", tuning.KEPT, {}, lines=["num_workers=4,"]),
            "--tune, to write into the script: num_workers=4,",
        ),
        (TuningFacts("train", tuning.LEFT_ALONE, {}, "too dear"), "--tune leaves the loader as it is: too dear"),
        (TuningFacts("train", tuning.SEARCHING, {}), tuning.ENDED_WITHIN),
    ],
)
def test_the_trials_of_a_run_that_a_signal_ended_are_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], facts: TuningFacts, said: str
) -> None:
    report_tuning(tmp_path)
    assert not capfd.readouterr().err
    write_part(tmp_path / tuning.FILE, facts)
    report_tuning(tmp_path)
    assert capfd.readouterr().err == f"underfed: {said}\n"
