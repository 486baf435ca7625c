"""Each window once and in order, whatever a network does to posts and answers."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import func, select

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import LOADER, RUN, made_stream, made_window, posted_window
from tests.app.store.clock import WallClock
from underfed_server.errors import OutOfOrderError
from underfed_server.ingest.posted import Ack, RunVerdict
from underfed_server.model import RankDiagnosis
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.writing.windows import Appender, stream_of


def post(store: Store, window: dict[str, Any]) -> Ack | OutOfOrderError:
    outcome = store.submit(posted_window(window)).result(timeout=30)
    assert isinstance(outcome, Ack | OutOfOrderError)
    return outcome


def answered(store: Store, window: dict[str, Any]) -> Ack:
    ack = post(store, window)
    assert isinstance(ack, Ack)
    return ack


def rows(store: Store) -> int:
    with store.reading() as reader:
        return reader.connection.execute(select(func.count()).select_from(tables.hot)).scalar_one()


def test_a_window_is_acknowledged_and_there(store: Store) -> None:
    assert post(store, made_window(0)) == Ack(next_window_index=1, wants_run=False, is_new=True)
    assert rows(store) == 1


def test_a_repeated_window_is_acknowledged_without_a_write(store: Store) -> None:
    post(store, made_window(0))
    post(store, made_window(1))
    for repeated in (0, 1):
        assert post(store, made_window(repeated)) == Ack(next_window_index=2, wants_run=False, is_new=False)
    assert rows(store) == 2


def test_an_answer_has_the_last_verdict_on_the_run(store: Store) -> None:
    post(store, made_window(0))
    figures = ((0.3, 4_000, 9_000, 0.25), (None, None, None, None), (0.5, 3_000, 9_500, None))
    ranks = [
        RankDiagnosis(
            rank=rank, data_stall_fraction=stall, straggler=False, data_wait_us=mean, data_wait_p95_us=p95,
            queue_empty_fraction=empty,
        )
        for rank, (stall, mean, p95, empty) in enumerate(figures)
    ]  # fmt: skip
    store.save_diagnosis(made_diagnosis(data_stall_fraction=0.4, causes=[made_cause()], ranks=ranks))
    expected = RunVerdict("data", "bound", "no_workers", 0.4, 0.5, 4_000, 9_500, 0.25)
    assert answered(store, made_window(0)).verdict == expected, "of a window that is repeated"
    assert answered(store, made_window(1)).verdict == expected
    again = Appender(store.now, is_shared=False)
    with store.reading() as reader:
        again.states.load(reader.connection, [stream_of(posted_window(made_window(2)).window)])
    assert again.states["run-1"].verdict == expected, "as after a restart"
    store.save_diagnosis(made_diagnosis(bound="unknown", level="unknown", data_stall_fraction=None))
    assert answered(store, made_window(2)).verdict is None


def test_an_answer_says_since_when_the_verdict_is_of_at_most(store: Store, clock: WallClock) -> None:
    post(store, made_window(0))
    began = store.now()
    store.save_diagnosis(made_diagnosis())
    store.note_judged("run-1", [], began)
    clock.advance(seconds=2)
    post(store, made_window(1))
    assert answered(store, made_window(1)).verdict_age_us == 2_000_000
    began = store.now()
    clock.advance(seconds=1)
    store.save_diagnosis(made_diagnosis(data_stall_fraction=0.5))
    assert answered(store, made_window(1)).verdict_age_us == 3_000_000, "older than it is, never younger"
    store.note_judged("run-1", [], began)
    assert answered(store, made_window(1)).verdict_age_us == 1_000_000
    again = Appender(store.now, is_shared=False)
    with store.reading() as reader:
        again.states.load(reader.connection, [stream_of(posted_window(made_window(2)).window)])
    assert again.states["run-1"].verdict_age_us(store.now()) == 1_000_000, "as after a restart"
    clock.advance(hours=-1)
    assert answered(store, made_window(1)).verdict_age_us == 0, "the clock was set back"


def test_a_window_whose_predecessor_is_missing_sends_the_agent_back(store: Store) -> None:
    post(store, made_window(0))
    refused = post(store, made_window(2))
    assert isinstance(refused, OutOfOrderError)
    assert refused.next_window_index == 1
    assert rows(store) == 1


def test_a_stream_that_does_not_begin_at_its_beginning_is_sent_back(store: Store) -> None:
    refused = post(store, made_window(3, run=RUN, loaders=[LOADER]))
    assert isinstance(refused, OutOfOrderError)
    assert refused.next_window_index == 0
    assert store.unjudged() == []


def test_a_hole_that_the_agent_made_itself_is_no_reordering(store: Store) -> None:
    post(store, made_window(0))
    assert isinstance(post(store, made_window(5, previous_window_index=0)), Ack)
    refused = post(store, made_window(9, previous_window_index=7))
    assert isinstance(refused, OutOfOrderError)
    assert refused.next_window_index == 6


def test_a_window_that_follows_one_long_stored_is_taken_whatever_was_dropped_between(store: Store) -> None:
    for index in range(5):
        post(store, made_window(index))
    assert isinstance(post(store, made_window(9, previous_window_index=2)), Ack)
    assert isinstance(post(store, made_window(10, previous_window_index=None)), Ack)


def test_an_agent_whose_first_windows_were_dropped_begins_with_a_later_one(store: Store) -> None:
    window = made_window(7, previous_window_index=None, run=RUN, loaders=[LOADER])
    assert post(store, window) == Ack(next_window_index=8, wants_run=False, is_new=True)


def test_another_rank_or_incarnation_is_another_stream(store: Store) -> None:
    for changes in ({"rank": 1}, {"incarnation": 2}, {"run_id": "run-2"}):
        assert isinstance(post(store, made_window(0, **changes)), Ack)
        assert isinstance(post(store, made_window(1, **changes)), Ack)
    assert rows(store) == 6


@pytest.mark.parametrize("said", [{}, {"run": RUN}, {"loaders": [LOADER]}])
def test_a_service_that_does_not_know_the_run_or_a_loader_asks_for_it(store: Store, said: dict[str, Any]) -> None:
    windows = list(made_stream(3))
    for name in ("run", "loaders"):
        del windows[0][name]
    answer = post(store, windows[0] | said)
    assert isinstance(answer, Ack)
    assert answer.wants_run
    again = post(store, windows[1] | {"run": RUN, "loaders": [LOADER]})
    assert isinstance(again, Ack)
    assert not again.wants_run
    assert store.run("run-1").project == "vision"


def test_a_run_without_its_description_is_listed_by_its_id(store: Store) -> None:
    window = made_window(0)
    del window["run"]
    post(store, window)
    assert store.run("run-1").name == "run-1"


def test_every_window_once_and_in_order_through_lost_answers_repeats_and_reordering(store: Store) -> None:
    """A sender that obeys docs/wire.md, on a network that loses answers, repeats posts and lets some overtake."""
    chance = random.Random(3)
    windows = list(made_stream(60))
    position = 0
    while position < len(windows):
        ahead = min(len(windows) - 1, position + chance.choice([0, 0, 0, 1, 2]))
        answer = post(store, windows[ahead])
        if isinstance(answer, OutOfOrderError):
            position = answer.next_window_index
        elif chance.random() < 0.3:
            continue  # the answer was lost: the same again
        else:
            position = answer.next_window_index
        if chance.random() < 0.2:
            post(store, windows[chance.randrange(position + 1) if position < len(windows) else 0])
    steps = store.steps("run-1", 0, "train")
    assert steps.step_index.tolist() == list(range(60 * 20))
    assert steps.step_us.tolist() == [value for window in windows for value in window["steps"][0]["step_us"]]


def test_the_lowest_rank_describes_the_run_and_each_rank_its_host(store: Store) -> None:
    post(store, made_window(0, rank=1, run=RUN | {"name": "of rank 1", "hostname": "node-2"}))
    post(store, made_window(0, rank=0, run=RUN | {"name": "of rank 0"}))
    post(store, made_window(1, rank=1, run=RUN | {"name": "of rank 1 again", "hostname": "node-2"}))
    run = store.run("run-1")
    assert run.name == "of rank 0"
    assert run.hostnames == ["node-1", "node-2"]
    assert [host.hostname for host in run.hosts] == ["node-1", "node-2"]
    assert run.ranks == [0, 1]


def test_losses_and_overhead_are_those_of_all_ranks(store: Store) -> None:
    for rank, cost in ((0, 1.0), (1, 3.0)):
        windows = list(made_stream(2, rank=rank, overhead_us=cost))
        post(store, windows[0] | {"losses": {"dropped_steps": 2}})
        post(store, windows[1] | {"losses": {"dropped_steps": 5, "agent_errors": 1}})
    run = store.run("run-1")
    assert run.losses.dropped_steps == 10
    assert run.losses.agent_errors == 2
    assert run.overhead_us == 2.0


def test_an_epoch_that_is_reported_again_replaces_what_was_known_of_it(store: Store) -> None:
    epoch = {"loader": "train", "epoch_index": 0, "start_us": 10, "first_step_index": 0}
    post(store, made_window(0, epochs=[epoch]))
    assert [(each.start_us, each.ended) for each in store.run("run-1").epochs] == [(10, None)]
    post(
        store, made_window(1, epochs=[epoch | {"steps": 40, "end_us": 500, "ended": "exhausted", "graph_built": False}])
    )
    assert [(each.steps, each.ended) for each in store.run("run-1").epochs] == [(40, "exhausted")]
    assert [(each.grad_enabled, each.graph_built) for each in store.run("run-1").epochs] == [(None, False)]
