"""Which steps are looked at closely, and how often batches that are loaded in the training process are measured."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from underfed.exchange.guard import Guard
from underfed.trainer.hooks import session as hook
from underfed.trainer.hooks.sampler_timing import timing
from underfed.trainer.hooks.session import EARLY_STEPS, MEASURING_SHARE, SAMPLED_OVERHEAD, Session
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.loading.collate import CollateTimer, running
from underfed.trainer.loading.probe import Probe

US = 1_000


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Of an iterator without workers."""
    monkeypatch.setattr(WatchedLoader, "ensure_collector", lambda _: None)
    made = hook.open_session(WatchedLoader(0, "train", tmp_path, Guard(), lambda: None))
    made.probe, made.collate, made.due_ns, made.is_constructed = Probe(), CollateTimer(Probe()), 0, True
    return made


def measure(session: Session, monkeypatch: pytest.MonkeyPatch, *, own_us: int, wait_us: int) -> None:
    """The next batch, which takes so long to come; and to measure it, so long."""
    assert session.begin_inspection(0)
    assert session.is_probing
    assert session.collate in running
    monkeypatch.setattr(hook, "now_ns", lambda: (wait_us + own_us) * US)
    session.end_inspection(torch.zeros(1), 0, 0, wait_us * US, wait_us * US)
    assert session.collate not in running
    session.loader.steps += 1


def test_the_first_batches_are_all_measured(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(EARLY_STEPS):
        measure(session, monkeypatch, own_us=900, wait_us=40)
        assert (session.is_inspected, session.due_ns) == (True, 0)


def test_later_ones_as_a_small_part_of_the_trainings_time_allows(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.loader.steps = EARLY_STEPS
    measure(session, monkeypatch, own_us=20, wait_us=40)
    assert session.due_ns == (40 + 20 * MEASURING_SHARE) * US
    session.due_ns = 0
    measure(session, monkeypatch, own_us=20, wait_us=20 * MEASURING_SHARE)
    assert session.due_ns == 0


def test_every_so_many_steps_one_is_looked_at_but_not_more_often_than_after_a_pause(session: Session) -> None:
    session.due_ns, session.look_ns, session.look_step = hook.NEVER_NS, 1_000, 100
    assert not session.is_due(100, 999)
    assert session.next_look_ns == 1_000
    assert not session.is_due(99, 1_000)
    assert session.is_due(100, 1_000)
    session.due_ns = 500
    assert session.is_due(99, 999), "its batch is to be measured"


def test_nothing_is_asked_before_the_next_of_the_sample_comes_at_the_pace_of_the_steps_since_the_last(
    session: Session,
) -> None:
    session.due_ns, session.look_ns, session.left_ns = hook.NEVER_NS, 1_000, 10_000
    session.look_step = SAMPLED_OVERHEAD
    assert not session.is_due(1, 11_000)
    assert session.next_look_ns == 11_000 + (SAMPLED_OVERHEAD - 1) * 1_000
    session.due_ns = 20_000
    assert not session.is_due(2, 12_000)
    assert session.next_look_ns == 20_000


def test_a_pass_begins_with_a_look_also_where_the_one_before_was_broken_off(session: Session) -> None:
    """Requests become steps when one rank asked for others, too: the next of the sample would be far away."""
    session.is_inspected, session.look_step = False, session.loader.steps + 8_000
    session.resetting()
    session.reset()
    assert session.is_inspected


def test_iterators_are_asked_for_their_session_only_while_one_of_them_times_its_sampler(session: Session) -> None:
    assert id(session) in timing
    session.stopped(None, is_over=True, entered_ns=0, left_ns=0)
    assert id(session) not in timing
    session.resetting()
    assert id(session) in timing


def test_the_sampler_of_an_iterator_that_is_gone_is_timed_no_more(session: Session) -> None:
    other = hook.open_session(session.loader)
    identity = id(other)
    assert identity in timing
    del other
    assert identity not in timing
