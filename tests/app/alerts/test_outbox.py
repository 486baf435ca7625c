"""Messages wait, are claimed by one sender, tried again, and logged: at least once, and once where nobody dies."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tests.app.alerts.conftest import ADA, Desk
from tests.app.alerts.receivers import Receiver
from tests.app.alerts.test_rules import FED
from tests.app.conftest import on_postgresql_alone, on_sqlite_alone
from tests.app.made_diagnosis import made_diagnosis
from tests.app.serving import poll
from tests.fakes.service import PATIENCE_S
from underfed_server.alerts.messages import test_message as message_of_a_test
from underfed_server.alerts.sending import sender as sending_threads
from underfed_server.alerts.sending.sender import AlertSender
from underfed_server.errors import ConflictError, InvalidError, NotFoundError
from underfed_server.store.alerts.outbox import BACKOFF, LEASE, LONGEST_WAIT, MOST_AN_HOUR, TOO_MANY, Outgoing, post
from underfed_server.store.store import Store

VISION = frozenset(("vision",))


def queued(desk: Desk, channel_id: str, count: int, project: str | None = None) -> None:
    message = message_of_a_test("ops", "http://page", desk.clock.now).model_copy(update={"kind": "raised"})
    outgoing = [Outgoing(channel_id, "r1", None, project, message)] * count
    desk.store.write(lambda connection: post(connection, desk.clock.now, outgoing))


@pytest.mark.sql
def test_a_failed_message_is_tried_again_after_longer_and_longer_and_then_never(desk: Desk, receiver: Receiver) -> None:
    queued(desk, desk.channel(receiver.url).channel_id, 1)
    receiver.answers = [(500, {})] * 100
    waits: list[timedelta] = []
    while desk.log[0].due_at is not None:
        waits.append(desk.log[0].due_at - desk.clock.now)
        desk.advance(seconds=waits[-1].total_seconds())
        assert desk.send() == 1
        assert desk.send() == 0
    assert waits == [timedelta(), *BACKOFF]
    (failed,) = desk.log
    assert (failed.state, failed.attempts, failed.error) == ("failed", 1 + len(BACKOFF), "it answered with 500")
    assert len({each.headers["webhook-id"] for each in receiver.got}) == 1


@contextmanager
def sending(desk: Desk) -> Iterator[AlertSender]:
    """The threads of a service."""
    sender = desk.alerting.sender
    sender.start()
    try:
        yield sender
    finally:
        sender.close()


@on_sqlite_alone
def test_of_a_service_s_threads_one_looks_for_messages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that looks has a connection of its own to the database, and asks it every other second."""
    looked: list[str] = []
    monkeypatch.setattr(desk.store, "has_due_alert", lambda: looked.append(threading.current_thread().name))
    with sending(desk) as sender:
        for times in range(1, 21):
            poll(lambda times=times: len(looked) >= times)  # type: ignore[misc]
            sender.wake()
    assert len(set(looked)) == 1


@on_sqlite_alone
def test_what_waits_for_one_channel_is_sent_one_after_the_other_without_a_pause(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending_threads, "LOOK_S", 2 * PATIENCE_S)
    queued(desk, desk.channel(receiver.url).channel_id, 5)
    with sending(desk):
        receiver.wait(5)
        poll(lambda: [each.state for each in desk.log] == ["sent"] * 5)


@on_sqlite_alone
def test_while_one_receiver_hangs_others_receive_theirs(
    desk: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending_threads, "LOOK_S", 2 * PATIENCE_S)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        queued(desk, desk.channel(f"http://127.0.0.1:{silent.getsockname()[1]}", name="silent").channel_id, 2)
        queued(desk, desk.channel(receiver.url).channel_id, 2)
        with sending(desk), silent.accept()[0]:
            receiver.wait(2)


@on_sqlite_alone
def test_a_receiver_that_comes_back_gets_all_that_waits_in_order(desk: Desk, receiver: Receiver) -> None:
    queued(desk, desk.channel(receiver.url).channel_id, 3)
    receiver.answers = [(503, {"Retry-After": "90"}), (429, {"Retry-After": "tomorrow"})]
    assert desk.send() == 1, "what fails for one message fails for all of the channel"
    desk.advance(seconds=89)
    assert desk.send() == 0
    desk.advance(seconds=1)
    assert desk.send() == 1
    desk.advance(seconds=30)
    assert desk.send() == 3
    assert [each.state for each in desk.log] == ["sent"] * 3
    ids = [each.headers["webhook-id"] for each in receiver.got]
    assert ids[2:] == sorted(each.alert_id for each in desk.log)


@on_sqlite_alone
def test_a_receiver_that_is_gone_is_not_asked_again(desk: Desk, receiver: Receiver) -> None:
    queued(desk, desk.channel(receiver.url).channel_id, 1)
    receiver.answers = [(410, {})]
    desk.send()
    assert (desk.log[0].state, desk.log[0].error) == ("failed", "it answered with 410")


@on_sqlite_alone
def test_a_clock_that_is_set_back_holds_nothing_up(desk: Desk, receiver: Receiver) -> None:
    queued(desk, desk.channel(receiver.url).channel_id, 1)
    receiver.answers = [(500, {})]
    desk.send()
    desk.clock.advance(days=-300)
    assert desk.send() == 1
    queued(desk, desk.channel(receiver.url, name="other").channel_id, 1)
    desk.store.claim_alert("a process that died")
    desk.clock.advance(days=-300)
    assert desk.send() == 1
    assert [each.state for each in desk.log] == ["sent", "sent"]
    assert timedelta(days=1) > LONGEST_WAIT > LEASE


def test_what_a_process_claimed_that_died_is_sent_by_another_under_the_same_id(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url)
    queued(desk, channel.channel_id, 2)
    claimed = desk.store.claim_alert("a process that dies")
    assert claimed is not None
    desk.restart()
    assert desk.send() == 0, "a channel gets one message at a time"
    desk.advance(seconds=LEASE.total_seconds() + 1)
    assert desk.send() == 2
    assert receiver.got[0].headers["webhook-id"] == claimed.alert_id
    assert receiver.got[0].verified(channel.secret or "")["type"] == "alert.raised"


@on_postgresql_alone
def test_two_processes_that_send_from_one_database_send_nothing_twice(
    desk: Desk, database_url: str, receiver: Receiver
) -> None:
    other = Store(database_url, now=desk.clock)
    try:
        for index in range(8):
            queued(desk, desk.channel(f"{receiver.url}/{index}", name=str(index)).channel_id, 5)
        desks = [desk, Desk(other, desk.clock)]
        senders = [threading.Thread(target=each.send) for each in desks for _ in range(3)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    finally:
        other.close()
    # A channel that another thread is sending to is left to it: what remains is sent now.
    desk.send()
    ids = [each.headers["webhook-id"] for each in receiver.got]
    assert len(ids) == 40
    assert sorted(ids) == [each.alert_id for each in desk.log]


@on_postgresql_alone
def test_two_services_to_which_both_ends_of_a_recording_come_report_it_once(desk: Desk, database_url: str) -> None:
    """The collector's own to one, and that of its spool to the other: the database decides which is reported."""
    others = [Store(database_url, now=desk.clock) for _ in range(2)]
    try:
        for index in range(5):
            desk.rule(desk.channel("http://127.0.0.1:9", name=str(index)).channel_id)
        desk.judged(**FED)
        for store in others:
            store.save_diagnosis(made_diagnosis(status="finished"))
        start = threading.Barrier(4)

        def look(service: Desk) -> None:
            start.wait(30)
            service.alerting.watcher("run-1")

        services = [Desk(store, desk.clock) for store in others for _ in range(2)]
        watching = [threading.Thread(target=look, args=(service,)) for service in services]
        for thread in watching:
            thread.start()
        for thread in watching:
            thread.join()
    finally:
        for store in others:
            store.close()
    assert sorted(each.channel or "" for each in desk.log) == [str(index) for index in range(5)]


@on_sqlite_alone
def test_a_test_is_tried_once_and_one_at_a_time(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url)
    receiver.answers = [(500, {})]
    queued = desk.alerting.test(channel.channel_id, None, "http://page")
    with pytest.raises(ConflictError, match="on its way"):
        desk.alerting.test(channel.channel_id, None, "http://page")
    assert desk.send() == 1
    assert desk.store.alert(queued.alert_id, None).state == "failed"
    with pytest.raises(NotFoundError):
        desk.alerting.test("nothing", None, "http://page")


@on_sqlite_alone
def test_a_channel_that_is_removed_takes_its_rules_and_what_waits_along(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url)
    desk.rule(channel.channel_id)
    desk.judged()
    desk.alerting.delete_channel(channel.channel_id, None, ADA)
    assert desk.send() == 0
    desk.judged("another")
    assert desk.store.alert_rules(None) == []
    (failed,) = desk.log
    assert (failed.state, failed.error, failed.channel) == ("failed", "the channel was removed", None)


@on_sqlite_alone
def test_a_channel_gets_so_many_messages_an_hour_and_the_others_are_in_the_log(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url).channel_id
    queued(desk, channel, MOST_AN_HOUR - 1)
    desk.advance(minutes=59)
    queued(desk, channel, 3)
    assert [each.error for each in desk.log].count(TOO_MANY) == 2
    with pytest.raises(ConflictError, match="100 messages"):
        desk.alerting.test(channel, None, "http://page")
    assert desk.send() == MOST_AN_HOUR
    desk.advance(minutes=2)
    queued(desk, channel, 1)
    assert desk.send() == 1


@on_sqlite_alone
def test_the_log_is_read_page_by_page_by_project_and_trimmed_by_age(desk: Desk, receiver: Receiver) -> None:
    channel = desk.channel(receiver.url).channel_id
    for project in ("vision", "speech", "vision"):
        queued(desk, channel, 1, project)
        desk.advance(seconds=1)
    page = desk.store.alerts(VISION, 1, None)
    assert page.next_cursor is not None
    last = desk.store.alerts(VISION, 1, page.next_cursor)
    assert [*page.alerts, *last.alerts] == [desk.log[2], desk.log[0]]
    assert last.next_cursor is None
    with pytest.raises(NotFoundError):
        desk.store.alert(desk.log[1].alert_id, VISION)
    with pytest.raises(InvalidError, match="did not issue"):
        desk.store.alerts(None, 1, "x")
    desk.send()
    queued(desk, channel, 1)
    desk.advance(days=30)
    assert desk.store.trim_alerts(timedelta(days=30)) == 3, "what waits is kept"
