"""``underfed check``: its exit code says whether limits hold, and 2 that this is not known."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_stream
from tests.app.serving import serving, settings_for
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.main import create_app
from underfed_server.model import Comparison, LoaderLine, Speed
from underfed_server.store.store import Store
from underfed_server.terminal.check import check, slowdown_limit, stall_limit
from underfed_server.terminal.client import client_from_environment
from underfed_server.terminal.commands import runs

ROOT = Path(__file__).parents[3]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """A service with a run that waits 40 % of its time, one that was not judged, and two that were measured."""
    settings = settings_for(tmp_path_factory.mktemp("check"))
    application = create_app(settings)
    with serving(application, settings) as address:
        store = application.parts.store
        for seed, run_id in enumerate(("waits", "unjudged", "before", "after")):
            post(store, made_stream(20, run_id=run_id, seed=seed))
        store.save_diagnosis(made_diagnosis("waits", data_stall_fraction=0.4))
        for run_id in ("before", "after"):
            Diagnoser()(store, run_id)
        yield address, store


@pytest.fixture
def store(address: tuple[str, Store], monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("UNDERFED_URL", address[0])
    return address[1]


@pytest.mark.parametrize(
    ("limit", "code", "word"), [("0.5", 0, "holds"), ("0.4", 0, "holds"), ("0.39", 1, "FAILS"), ("0", 1, "FAILS")]
)
def test_a_run_may_wait_no_more_than_the_limit(store: Store, capsys: Capture, limit: str, code: int, word: str) -> None:
    assert check(["waits", "--max-stall", limit]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{word}")
    assert "data stall 40.0% of the time" in lines[0]
    assert ("first fix: Use workers" in lines) == (code == 1)
    assert lines[-1].endswith("/runs/waits")


def line(loader: str, stall: float, lost: float, share: float, **others: Any) -> LoaderLine:
    known = {"role": "train", "bound": "data", "level": "bound", "steps": 100, **others}
    return LoaderLine(loader=loader, data_stall_fraction=stall, hours_lost=lost, share_of_run_fraction=share, **known)


@pytest.mark.parametrize(
    ("loaders", "judged", "said"),
    [
        ([line("train", 0.4, 4.0, 0.95), line("val", 0.9, 0.4, 0.05, role="validation", loop=1)], "train",
         "data stall 40.0% of the time, "),
        ([line("photos", 0.3, 3.0, 1.0), line("labels", 0.4, 4.0, 1.0)], "labels",
         "data stall 70.0% of the time (40.0% for labels, 30.0% for photos), "),
        ([line("train", 0.1, 0.6, 0.6), line("val", 0.9, 3.6, 0.4, role="validation", loop=1)], "val",
         "data stall 42.0% of the run (36.0% for val, 6.0% for train), "),
        ([line("one", 0.5, 4.0, 0.8, role="other"), line("other", 0.0, 0.0, 0.2, role="other", loop=1)], "one",
         "data stall 40.0% of the run, "),
    ],
)  # fmt: skip
def test_the_share_is_of_what_the_verdict_is_about_and_of_all_loaders(
    loaders: list[LoaderLine], judged: str, said: str
) -> None:
    own = next(each for each in loaders if each.loader == judged)
    found = made_diagnosis("two", data_stall_fraction=own.data_stall_fraction)
    found = found.model_copy(update={"loaders": loaders, "loader": judged, "hours_used": 10.0})
    limit = stall_limit(found, 0.5)
    assert limit.sentence.startswith(said)
    assert limit.measured == pytest.approx(float(said.partition("%")[0].rpartition(" ")[2]) / 100)


@pytest.mark.parametrize(
    ("share", "allowed", "holds", "said"),
    [
        (0.452, 0.452, True, "data stall 45.2% of the time, 45.2% allowed"),
        (0.45224, 0.452, False, "data stall 45.22% of the time, 45.20% allowed"),
        (0.45199996, 0.452, True, "data stall 45.199996% of the time, 45.200000% allowed"),
        (0.0, 0.0, True, "data stall 0.0% of the time, 0.0% allowed"),
    ],
)
def test_figures_are_compared_as_measured_and_written_so_that_they_differ(
    share: float, allowed: float, holds: bool, said: str
) -> None:
    limit = stall_limit(made_diagnosis("near", data_stall_fraction=share), allowed)
    assert (limit.holds, limit.sentence.partition(" so far")[0]) == (holds, said)


def test_a_run_without_a_verdict_neither_passes_nor_fails(store: Store, capsys: Capture) -> None:
    assert check(["unjudged", "--max-stall", "0.9", "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["run_id"] == "unjudged"
    assert said["holds"] is None
    assert said["limits"][0]["measured"] is None


@pytest.mark.parametrize("wanted", [["nobody", "--max-stall", "0.1"],
                                    ["waits", "--against", "nobody", "--max-slowdown", "0.1"]])  # fmt: skip
def test_a_run_that_is_not_there_neither_passes_nor_fails(store: Store, capsys: Capture, wanted: list[str]) -> None:
    assert check(wanted) == 2
    assert "no run begins with 'nobody'" in capsys.readouterr().err


def test_a_service_that_is_not_there_lets_nothing_pass(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("UNDERFED_URL", "http://127.0.0.1:9")
    assert check(["latest", "--max-stall", "0.9"]) == 2
    assert "no service answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["--against", "before"], ["--max-slowdown", "0.1"], ["--max-stall", "10"], ["--max-stall", "nan"]]
)
def test_a_call_without_a_usable_limit_is_refused(capsys: Capture, words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        check(["waits", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err


def test_a_run_is_compared_with_an_earlier_one(store: Store, capsys: Capture) -> None:
    code = check(["after", "--against", "before", "--max-slowdown", "1", "--max-stall", "1", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (code, said["holds"]) == (0, True)
    slowdown = said["limits"][1]
    assert slowdown["low"] <= slowdown["measured"] <= slowdown["high"] <= 1


@pytest.mark.parametrize(
    ("speed", "holds"),
    [
        ((1.0, 0.98, 1.02), True),
        ((2.0, 1.9, 2.1), True),
        ((0.8, 0.78, 0.82), False),
        ((0.96, 0.90, 1.02), None),
        ((0.9, 0.80, 1.02), None),
    ],
)
def test_only_an_interval_that_lies_whole_on_one_side_of_the_limit_decides(
    store: Store, speed: tuple[float, float, float], holds: bool | None
) -> None:
    found: Comparison = client_from_environment().comparison(["before", "after"])
    factor, low, high = speed
    after = found.runs[1].model_copy(update={"speed": Speed(factor=factor, low=low, high=high, is_told=True)})
    compared = found.model_copy(update={"runs": [found.runs[0], after]})
    assert slowdown_limit(compared, 0.05).holds is holds


def test_the_name_of_the_earlier_run_is_distinguished_from_the_sentence_around_it(store: Store) -> None:
    found: Comparison = client_from_environment().comparison(["before", "after"])
    before = found.runs[0].model_copy(update={"label": "a step\nholds"})
    after = found.runs[1].model_copy(update={"speed": Speed(factor=1.0, low=0.98, high=1.02, is_told=True)})
    sentence = slowdown_limit(found.model_copy(update={"runs": [before, after]}), 0.05).sentence
    assert 'time than in "a step\\nholds" (' in sentence


def test_the_commands_of_its_page_are_understood(store: Store, capsys: Capture) -> None:
    page = (ROOT / "docs/check.md").read_text()
    (expression,) = re.findall(r"underfed runs '([^']+)'", page)
    assert runs([expression, "--limit", "1", "--json"]) == 0
    calls = [shlex.split(line)[2:] for line in re.findall(r"underfed check .*", page) if "--" in line]
    assert len(calls) == 2
    for words in calls:
        known = [
            "waits" if word in ("latest", "$UNDERFED_RUN_ID") else word.replace("$base", "before") for word in words
        ]
        assert check(known) in (0, 1, 2)
