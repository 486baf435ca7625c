"""What the API shows of where loading spends its time: of all ranks together, or of one."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection
from starlette.testclient import TestClient

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_stream, made_window, posted
from tests.app.store.posting import post
from tests.fakes.looks import evenly
from underfed_server.api import served_hotspots
from underfed_server.api.served_hotspots import REST_NS, RESTED_RANKS, ServedHotspots
from underfed_server.errors import InvalidError
from underfed_server.facts.hotspots import NO_PROFILE, NO_WORKERS
from underfed_server.ingest.decode import decode
from underfed_server.model import Diagnosis, HotspotsPage
from underfed_server.store.reading.stacks import LoaderStacks, read_stacks
from underfed_server.store.store import Store

FRAMES = [
    {"function": "Photos.__getitem__", "file": "data.py", "line": 41},
    {"function": "Image.resize", "file": "PIL/Image.py", "line": 2440},
    {"function": "Photos.__getitem__", "file": "data.py", "line": 40},
    {"function": "default_collate", "file": "torch/utils/data/_utils/collate.py", "line": 401},
]


def seen(resizing: int = 60, reading: int = 25, collating: int = 10, other: int = 5, **said: Any) -> dict[str, Any]:
    stacks = [
        {"stage": "getitem", "frames": [0, 1], "samples": evenly(resizing)},
        {"stage": "getitem", "frames": [2], "samples": evenly(reading)},
        {"stage": "collate", "frames": [3], "samples": evenly(collating)},
        {"stage": "other", "frames": [], "samples": evenly(other)},
    ]
    return {"loader": "train", "frames": FRAMES, "stacks": stacks, "slow_samples": [], **said}


def shown(client: TestClient, more: str = "") -> HotspotsPage:
    answer = client.get(f"/api/v1/runs/run-1/hotspots?loader=train{more}")
    return HotspotsPage.model_validate(answer.json())


def test_a_function_has_its_own_share_and_that_of_what_it_calls(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen()])])
    page = shown(client)
    assert (page.samples, page.missing) == (100, None)
    found = {(each.function, each.line): each for each in page.hotspots}
    caller, resize = found["Photos.__getitem__", 41], found["Image.resize", 2440]
    assert (caller.self_fraction, caller.total_fraction, caller.stage) == (0.0, 0.6, "getitem")
    assert (resize.self_fraction, resize.total_fraction, resize.file) == (0.6, 0.6, "PIL/Image.py")
    assert found["default_collate", 401].stage == "collate"
    assert [each.total_fraction for each in page.hotspots] == [0.6, 0.6, 0.25, 0.1]
    assert page.hotspots[0] == caller, "of two alike the caller is first"


def test_stacks_are_handed_out_for_a_flame_graph(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen()])])
    page = shown(client)
    first = page.stacks[0]
    assert [page.frames[place].function for place in first.frames] == ["Photos.__getitem__", "Image.resize"]
    assert (first.samples, sum(stack.samples for stack in page.stacks)) == (60, 100)


def test_code_of_the_project_is_distinguished_from_that_of_packages(client: TestClient, store: Store) -> None:
    frames = [{**FRAMES[0], "is_own": True}, *FRAMES[1:]]
    post(store, [made_window(0, stacks=[seen(frames=frames)])])
    page = shown(client)
    assert {each.file for each in page.hotspots if each.is_own} == {"data.py"}
    assert {each.file for each in page.frames if each.is_own} == {"data.py"}
    assert {each.file for each in page.frames} > {"data.py"}
    assert page.hot_lines[0].sentence == "Image.resize at data.py:41, in Photos.__getitem__"


def test_what_is_seen_rarely_in_many_ranks_is_counted(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("underfed_server.api.served_hotspots.MOST_STACKS", 2)
    post(store, [made_window(0, stacks=[seen()])])
    stacks = [(stack.stage, len(stack.frames), stack.samples) for stack in shown(client).stacks]
    assert stacks == [("getitem", 2, 60), ("getitem", 1, 25), ("collate", 0, 10), ("other", 0, 5)]


def test_that_another_line_takes_the_time_since_the_middle_is_said(client: TestClient, store: Store) -> None:
    looks = seen(resizing=300, reading=300, collating=0, other=0)
    for stack, earlier in zip(looks["stacks"], (300, 20, 0, 0), strict=True):
        stack["earlier"] = evenly(earlier)
    post(store, [made_window(0, rank=rank, stacks=[looks]) for rank in range(2)])
    page = shown(client)
    assert page.change is not None and "took 94% until about half of the time, and 0% since" in page.change
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert (diagnosis.hot_change, diagnosis.step_change) == (page.change, None)
    assert shown(client, "&of=step").change is None


@pytest.mark.parametrize(("resizing", "reading", "order"), [
    (700, 200, None), (300, 250, "Either of the first two may be the larger"),
    (300, 280, "Any of the first 3 may be the largest"),
])  # fmt: skip
def test_where_margins_overlap_it_is_said_that_another_line_may_be_the_largest(
    client: TestClient, store: Store, resizing: int, reading: int, order: str | None
) -> None:
    collating = 260 if reading == 280 else 20
    post(store, [made_window(0, stacks=[seen(resizing=resizing, reading=reading, collating=collating, other=5)])])
    page = shown(client)
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert page.order == diagnosis.hot_order
    assert page.order == (order and f"{order}: by their margins they cannot be told apart.")
    assert diagnosis.step_order is None


def test_a_run_without_a_loader_has_no_hotspots_and_says_why(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, streams=[])])
    for of in ("loading", "step"):
        answer = client.get(f"/api/v1/runs/run-1/hotspots?of={of}&rank=0")
        assert answer.status_code == 200
        page = HotspotsPage.model_validate(answer.json())
        assert (page.run_id, page.loader, page.rank, page.of) == ("run-1", None, 0, of)
        assert (page.samples, page.hotspots, page.hot_lines, page.stacks, page.slow_samples) == (0, [], [], [], [])
        assert page.missing == "no step was recorded yet"


def test_what_is_sent_again_replaces_what_was_known(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen()]), made_window(1, stacks=[seen(resizing=160)])])
    assert shown(client).samples == 200


def test_ranks_are_added_up(client: TestClient, store: Store) -> None:
    slow = {"index": 7, "load_us": 900_000, "file": "scans/0481.dcm", "file_bytes": 109_051_904, "worker": 3}
    faster = {"index": 7, "load_us": 500_000, "file": "scans/0481.dcm"}
    post(store, [made_window(0, stacks=[seen(slow_samples=[faster])])])
    post(store, [made_window(0, rank=1, stacks=[seen(resizing=260, slow_samples=[slow, {"load_us": 400_000}])])])
    page = shown(client)
    assert (page.samples, page.rank) == (400, None)
    assert page.hotspots[0].total_fraction == 0.8
    slowest = [(each.index, each.load_us, each.rank) for each in page.slow_samples]
    assert slowest == [(7, 900_000, 1), (None, 400_000, 1)]
    assert [(each.file_bytes, each.worker) for each in page.slow_samples] == [(109_051_904, 3), (None, None)]
    assert shown(client, "&rank=0").samples == 100
    assert shown(client, "&rank=5").missing == "no looks at its loading, 100 are needed"


def test_samples_that_waited_for_a_core_are_not_slow_for_it(client: TestClient, store: Store) -> None:
    waited = {"index": 7, "load_us": 2_000_000, "cpu_us": 150_000, "runqueue_us": 1_800_000}
    crowded = {"index": 8, "load_us": 900_000, "cpu_us": 50_000, "runqueue_us": 850_000}
    own = {"index": 9, "load_us": 800_000, "cpu_us": 700_000, "runqueue_us": 0}
    post(store, [made_window(0, stacks=[seen(slow_samples=[waited, crowded, own])])])
    slowest = [(each.index, each.runqueue_us) for each in shown(client).slow_samples]
    assert slowest == [(9, 0), (7, 1_800_000)], "of itself the other took less than a tenth of a second"


def test_samples_of_less_than_a_tenth_of_a_second_are_not_named_as_slow(client: TestClient, store: Store) -> None:
    samples = [{"index": index, "load_us": load_us} for index, load_us in ((7, 99_999), (8, 100_000), (9, 60_000))]
    post(store, [made_window(0, stacks=[seen(slow_samples=samples)])])
    assert [each.index for each in shown(client).slow_samples] == [8]


def test_a_slow_sample_is_shown_once_though_its_file_was_not_seen_each_time(client: TestClient, store: Store) -> None:
    """A load that nobody looked at while the file was open."""
    file = {"file": "scans/0137.raw", "file_bytes": 60_000_000}
    samples = [{"load_us": 1_600_000, "index": 137}, {"load_us": 1_000_000, "index": 137, **file}, {"load_us": 900_000}]
    post(store, [made_window(0, stacks=[seen(slow_samples=samples)])])
    slowest = [(each.load_us, each.index, each.file, each.file_bytes) for each in shown(client).slow_samples]
    assert slowest == [(1_600_000, 137, "scans/0137.raw", 60_000_000), (900_000, None, None, None)]


def test_what_loading_was_seen_to_do_is_not_said_of_the_step(client: TestClient, store: Store) -> None:
    size = {"decoded_width": 4000, "decoded_height": 3000, "used_width": 224, "used_height": 224, "count": 61}
    slow = {"index": 7, "load_us": 900_000}
    post(store, [made_window(0, stacks=[seen(slow_samples=[slow], picture_sizes=[size])])])
    loading, step = shown(client), shown(client, "&of=step")
    assert (len(loading.slow_samples), len(loading.picture_sizes)) == (1, 1)
    assert (step.slow_samples, step.picture_sizes) == ([], [])


def test_a_diagnosis_names_the_hotspots_of_its_loader(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen(slow_samples=[{"index": 7, "load_us": 900_000}])])])
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert [each.line for each in diagnosis.hotspots] == [41, 2440, 40, 401]
    assert diagnosis.slow_samples[0].index == 7


def test_a_diagnosis_names_the_lines_of_the_program(client: TestClient, store: Store) -> None:
    frames = [{**frame, "is_own": frame["file"] == "data.py"} for frame in FRAMES]
    stacks = [*seen()["stacks"], {"stage": "step", "frames": [2], "samples": evenly(300)}]
    post(store, [made_window(0, stacks=[seen(frames=frames, stacks=stacks)])])
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    first, second, *_ = diagnosis.hot_lines
    assert (first.sentence, first.fraction) == ("Image.resize at data.py:41, in Photos.__getitem__", 0.6)
    assert (second.function, second.called, second.line, second.fraction) == ("Photos.__getitem__", None, 40, 0.25)
    assert [(line.line, line.fraction) for line in diagnosis.step_lines] == [(40, 1.0)]


def test_a_line_and_a_function_that_several_places_call_have_their_callers(client: TestClient, store: Store) -> None:
    own = [{**frame, "is_own": True} for frame in (FRAMES[0], FRAMES[2])]
    frames = [*own, {"function": "shrunk", "file": "data.py", "line": 9, "is_own": True}, FRAMES[1]]
    stacks = [
        {"stage": "getitem", "frames": [place, 2, 3], "samples": evenly(count)} for place, count in ((0, 63), (1, 57))
    ]
    post(store, [made_window(0, stacks=[{"loader": "train", "frames": frames, "stacks": stacks}])])
    page = shown(client)
    (line,) = page.hot_lines
    assert (line.sentence, line.fraction) == ("Image.resize at data.py:9, in shrunk", 1.0)
    through = [("Photos.__getitem__ at data.py:41", 0.525), ("Photos.__getitem__ at data.py:40", 0.475)]
    assert [(one.sentence, one.fraction) for one in line.callers] == through
    callers = {each.function: [(one.sentence, one.fraction) for one in each.callers] for each in page.hotspots}
    assert callers["Image.resize"] == through
    assert callers["shrunk"] == [], "no time is spent in itself"


def cleaning(unsure: int, sure: int) -> dict[str, Any]:
    """Looks at a call of the program, of which some found it where the thread was made to stop."""
    call = [
        {"function": name, "file": "data.py", "line": 41, "is_own": True} for name in ("Texts.__getitem__", "re.sub")
    ]
    frames = [*call, *({**frame, "first_line": 38, "last_line": 41} for frame in call)]
    stacks = [
        {"stage": "getitem", "frames": [place, place + 1], "samples": evenly(count)}
        for place, count in ((0, sure), (2, unsure))
    ]
    return {"loader": "train", "frames": frames, "stacks": stacks}


@pytest.mark.parametrize(("unsure", "sentence", "lines"), [
    (90, "re.sub or what precedes it at data.py:38–41, in Texts.__getitem__", (38, 41)),
    (10, "re.sub at data.py:41, in Texts.__getitem__", None),
])  # fmt: skip
def test_lines_that_cannot_be_distinguished_are_named_together(
    client: TestClient, store: Store, unsure: int, sentence: str, lines: tuple[int, int] | None
) -> None:
    post(store, [made_window(0, rank=rank, stacks=[cleaning(unsure, 100 - unsure)]) for rank in range(2)])
    page = shown(client)
    (line,) = page.hot_lines
    assert (line.sentence, line.fraction, line.lines) == (sentence, 1.0, lines)
    assert {each.lines for each in page.hotspots} == {lines}
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert [each.lines for each in diagnosis.hot_lines] == [lines]


def test_a_line_that_calls_a_function_of_python_is_sure_whatever_is_not_within(
    client: TestClient, store: Store
) -> None:
    sent = cleaning(100, 0)
    caller = {"function": "main", "file": "train.py", "line": 7, "is_own": True}
    library = [{**frame, "file": "lib/texts.py", "is_own": False} for frame in sent["frames"]]
    stacks = [{**stack, "frames": [4, *stack["frames"]]} for stack in sent["stacks"]]
    post(store, [made_window(0, stacks=[{**sent, "frames": [*library, caller], "stacks": stacks}])])
    assert [line.sentence for line in shown(client).hot_lines] == ["Texts.__getitem__ at train.py:7, in main"]


@pytest.mark.sql
def test_sizes_of_pictures_and_looks_at_the_agent_are_shown(client: TestClient, store: Store) -> None:
    size = {"decoded_width": 4000, "decoded_height": 3000, "used_width": 224, "used_height": 224, "count": 61}
    post(store, [made_window(0, stacks=[seen(picture_sizes=[size], agent_samples=25)])])
    post(store, [made_window(0, rank=1, stacks=[seen(picture_sizes=[size])])])
    page = shown(client)
    assert [each.model_dump() for each in page.picture_sizes] == [size | {"count": 122}]
    assert page.agent_fraction == pytest.approx(25 / 225)
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert diagnosis.agent_fraction == page.agent_fraction
    assert shown(client, "&rank=5").agent_fraction is None


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The rank of each merging; ``None``: all."""
    ranks: list[int | None] = []

    def counted(connection: Connection, run_id: str, loader: str, rank: int | None = None) -> LoaderStacks:
        ranks.append(rank)
        return read_stacks(connection, run_id, loader, rank)

    monkeypatch.setattr(served_hotspots, "read_stacks", counted)
    return ranks


def test_stacks_are_merged_again_once_one_rank_sent_more(store: Store, merged: list[int | None]) -> None:
    post(store, [made_window(0, rank=rank, stacks=[seen()]) for rank in range(3)])
    hotspots, found = ServedHotspots(), made_diagnosis()
    first = hotspots.added_to(store, found)
    assert [line.fraction for line in hotspots.added_to(store, found).hot_lines] == [0.6, 0.25, 0.1]
    assert (first.hotspots, len(merged)) == (hotspots.added_to(store, found).hotspots, 1)
    post(store, [made_window(1, rank=2, stacks=[seen(resizing=400)])])
    assert hotspots.added_to(store, found).hot_lines[0].fraction == pytest.approx(520 / 640, abs=1e-4)
    assert len(merged) == 2


def test_pages_and_verdict_of_a_run_have_its_stacks_merged_once(
    client: TestClient, store: Store, merged: list[int | None]
) -> None:
    post(store, [made_window(0, rank=rank, stacks=[seen()]) for rank in range(3)])
    for more in ("", "", "&of=step", "&rank=1", "&rank=1&of=step"):
        shown(client, more)
    client.get("/api/v1/runs/run-1/diagnosis?loader=train")
    assert merged == [None, 1]
    post(store, [made_window(1, rank=2, stacks=[seen(resizing=400)])])
    assert (shown(client, "&rank=1").samples, shown(client, "&rank=2").samples, shown(client).samples) == (
        100,
        440,
        640,
    )
    assert merged == [None, 1, 2, None], "the first rank has sent nothing more"


def test_why_there_is_too_little_is_asked_each_time(client: TestClient, store: Store, merged: list[int | None]) -> None:
    post(store, [made_window(0, stacks=[seen(resizing=6, reading=0, collating=0, other=0)])])
    assert shown(client).missing != "switched off meanwhile"
    said = {"project": "vision", "name": "resnet", "not_measured": {"hotspots": "switched off meanwhile"}}
    post(store, [made_window(1, run=said)])
    assert shown(client).missing == "switched off meanwhile"


def test_stacks_of_many_ranks_rest_while_their_run_goes_on(store: Store, merged: list[int | None]) -> None:
    """One of them has sent more at any time."""
    now_ns = 0
    hotspots, found = ServedHotspots(lambda: now_ns), made_diagnosis()

    def looks(status: str = "running") -> int:
        return hotspots.added_to(store, found.model_copy(update={"status": status})).looks

    post(store, [made_window(0, rank=rank, stacks=[seen()]) for rank in range(RESTED_RANKS)])
    assert looks() == 100 * RESTED_RANKS
    post(store, [made_window(1, rank=2, stacks=[seen(resizing=400)])])
    assert looks() == 100 * RESTED_RANKS
    now_ns = REST_NS
    assert (looks(), len(merged)) == (100 * RESTED_RANKS + 340, 2)
    post(store, [made_window(1, rank=3, stacks=[seen(resizing=400)])])
    assert looks("finished") == 100 * RESTED_RANKS + 680, "what it ended with is shown at once"


def test_a_bounded_number_of_bytes_is_kept(
    client: TestClient, store: Store, merged: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    post(store, [made_window(0, rank=rank, stacks=[seen()]) for rank in range(3)])
    both = 2 * sum(len(client.get(f"/api/v1/runs/run-1/hotspots?loader=train&rank=0&of={of}").content)
                   for of in ("loading", "step"))  # fmt: skip
    monkeypatch.setattr(served_hotspots, "MOST_KEPT_BYTES", both * 5 // 2)
    for rank in (0, 1, 0, 2, 0, 1):
        shown(client, f"&rank={rank}")
    assert merged == [0, 1, 2, 1], "of two places, that which was asked for longest ago went"


def test_a_few_samples_say_nothing(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen(resizing=6, reading=0, collating=0, other=0)])])
    page = shown(client)
    assert (page.hotspots, page.missing) == ([], "6 looks at its loading, 100 are needed")


def test_it_is_said_why_nothing_was_sampled(client: TestClient, store: Store) -> None:
    off = {"project": "vision", "name": "resnet", "not_measured": {"hotspots": "switched off by UNDERFED_STACKS=0"}}
    post(store, [made_window(0, run=off)])
    assert shown(client).missing == "switched off by UNDERFED_STACKS=0"


def test_without_workers_it_is_said_that_nothing_is_sampled(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, loaders=[{"loader": "train", "settings": {"num_workers": 0}}])])
    assert shown(client).missing == NO_WORKERS


def test_the_training_thread_is_apart_from_loading(client: TestClient, store: Store) -> None:
    both = seen()
    both["stacks"] = [*both["stacks"], {"stage": "step", "frames": [3], "samples": evenly(300)}]
    post(store, [made_window(0, stacks=[both])])
    loading, step = shown(client), shown(client, "&of=step")
    assert (loading.of, loading.samples, loading.has_step) == ("loading", 100, True)
    assert {each.stage for each in loading.hotspots} == {"getitem", "collate"}
    assert (step.of, step.samples, step.missing) == ("step", 300, None)
    assert [(each.function, each.self_fraction, each.stage) for each in step.hotspots] == [
        ("default_collate", 1, "step")
    ]
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis?loader=train").json())
    assert [each.stage for each in diagnosis.step_hotspots] == ["step"]
    assert {each.stage for each in diagnosis.hotspots} == {"getitem", "collate"}


def test_without_a_profile_the_training_thread_has_a_reason(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, stacks=[seen()])])
    page = shown(client, "&of=step")
    assert (page.hotspots, page.stacks, page.has_step, page.missing) == ([], [], False, NO_PROFILE)


def test_the_loader_that_the_run_is_about_is_shown(client: TestClient, store: Store) -> None:
    post(store, made_stream(1, stacks=[seen()]))
    assert client.get("/api/v1/runs/run-1/hotspots").json()["loader"] == "train"
    assert client.get("/api/v1/runs/none/hotspots").status_code == 404


def test_a_stack_of_frames_that_are_not_there_is_refused() -> None:
    with pytest.raises(InvalidError) as refused:
        decode(posted(made_window(0, stacks=[seen(frames=FRAMES[:2])])))
    assert refused.value.field == "stacks[0].stacks[1].frames"
