"""The sender: each answer of docs/wire.md, and that nothing is lost by any of them."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.service import Fault, Service, running_service, wait_until
from underfed.collector.spool.segment import Label, SpooledWindow
from underfed.collector.spool.sender import HURRIED_DELAY_S, LONGEST_DELAY_S, Outcome, Sender
from underfed.collector.spool.spool import Spool
from underfed.collector.spool.transport import HttpTransport, Reply, read_reply
from underfed.collector.wire import Window, encode_window
from underfed.exchange import figures

STREAM = "0-1"
PAGE = b"<html>Bad gateway</html>"
LATER = {
    **{str(status): Fault(status) for status in (401, 403, 404, 408, 429, 500, 502, 503, 0)},
    "a proxy's 502": Fault(502, PAGE),
    "a proxy's 400": Fault(400, PAGE),
    "a proxy's 413": Fault(413, PAGE),
    "a page that says all is well": Fault(200, PAGE),
    "JSON of something else": Fault(200, {"ok": True}),
    "a redirection": Fault(302, PAGE, {"Location": "/login"}),
    "broken JSON": Fault(200, b'{"next_window_index": 1'),
    "half an answer": Fault(200, after_commit=True, manner="cut"),
    "half an error": Fault(503, PAGE, manner="cut"),
    "no answer": Fault(200, manner="hangs"),
    "no answer to what it took": Fault(200, after_commit=True, manner="hangs"),
    "an answer in drops": Fault(200, after_commit=True, manner="drips"),
    "a 409 without a number": Fault(409),
}


def keep(spool: Spool, count: int, start: int = 0) -> None:
    for index in range(start, start + count):
        previous = index - 1 if index else None
        window = Window("run", 0, 1, index, previous, "2026-11-21T05:56:13Z", 0, 1)
        assert spool.append(Label(STREAM, index, previous, {}), encode_window(window))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(tmp_path / "spool")
    yield spool
    spool.close()


@pytest.fixture
def transport(service: Service) -> Iterator[HttpTransport]:
    transport = HttpTransport(service.url, "secret", timeout_s=5)
    yield transport
    transport.close()


@pytest.fixture
def sender(spool: Spool, transport: HttpTransport) -> Sender:
    return Sender(spool, transport)


def send_all(sender: Sender) -> Outcome:
    while (outcome := sender.send_one()) is Outcome.SENT:
        continue
    return outcome


def stored(service: Service) -> list[int]:
    return [window["window_index"] for window in service.windows]


def test_windows_arrive_in_order_over_one_connection(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 3)
    assert send_all(sender) is Outcome.EMPTY
    assert stored(service) == [0, 1, 2]
    assert service.tokens == ["Bearer secret"] * 3
    assert not sender.is_failing


def test_without_a_token_none_is_sent(service: Service, spool: Spool) -> None:
    keep(spool, 1)
    transport = HttpTransport(service.url, None)
    send_all(Sender(spool, transport))
    transport.close()
    assert service.tokens == [None]


@pytest.mark.parametrize("fault", LATER.values(), ids=LATER)
def test_trouble_keeps_everything(fault: Fault, service: Service, spool: Spool) -> None:
    keep(spool, 2)
    service.always = fault
    transport = HttpTransport(service.url, None, timeout_s=0.5)
    sender = Sender(spool, transport)
    assert sender.send_one() is Outcome.LATER
    assert (spool.unsent, sender.is_failing) == (2, True)
    assert sender.reason
    service.let_go()
    assert send_all(sender) is Outcome.EMPTY
    assert stored(service) == [0, 1]
    assert not sender.is_failing
    assert not spool.rejected
    transport.close()


@pytest.mark.parametrize(("silent_s", "is_failing"), [(0.0, True), (3_600.0, False)])
def test_a_service_that_hangs_counts_as_one_that_does_not_answer_before_the_post_ends(
    silent_s: float, is_failing: bool, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("underfed.collector.spool.sender.SILENT_S", silent_s)
    seen: list[bool] = []

    class Hanging:
        def post(self, _: bytes) -> Reply:
            seen.append(sending.is_failing)
            return Reply(200, next_window_index=1)

    keep(spool, 1)
    sending = Sender(spool, Hanging())
    send_all(sending)
    sending.ask_again()
    assert seen == [is_failing, is_failing]
    assert not sending.is_failing


def test_trouble_of_its_own_does_not_end_the_sending(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 3)
    trouble = [OSError(5, "Input/output error"), ValueError("a bug")]
    peek = spool.peek

    def peek_after_trouble(timeout_s: float = 0.0) -> SpooledWindow | None:
        if trouble:
            raise trouble.pop()
        return peek(timeout_s)

    spool.peek = peek_after_trouble  # type: ignore[method-assign]
    stop = threading.Event()
    sending = threading.Thread(target=sender.run, args=(stop,))
    sending.start()
    wait_until(lambda: stored(service) == [0, 1, 2], "all arrive")
    stop.set()
    spool.wake()
    sending.join()
    assert not trouble


@pytest.mark.parametrize("status", [400, 413, 415])
def test_a_window_that_will_never_be_taken_does_not_stop_the_others(
    status: int, service: Service, spool: Spool, sender: Sender
) -> None:
    keep(spool, 3)
    service.faults = [Fault(status, {"error": {"code": "invalid", "message": "steps: no"}})]
    assert send_all(sender) is Outcome.EMPTY
    assert stored(service) == [1, 2]
    assert spool.rejected[STREAM] == 1
    assert service.windows[0].get("previous_window_index") is None


def test_a_lost_answer_means_sending_again(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 2)
    service.faults = [Fault(0, after_commit=True), Fault(500, after_commit=True)]
    while send_all(sender) is Outcome.LATER:
        continue
    assert stored(service) == [0, 1]


def test_a_connection_that_the_service_closed_is_opened_again(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 1)
    send_all(sender)
    service.stop()
    service.start()
    keep(spool, 1, start=1)
    assert sender.send_one() is Outcome.SENT
    assert stored(service) == [0, 1]


def test_a_service_that_forgot_everything_gets_what_is_left(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 3)
    send_all(sender)
    service.forget()
    keep(spool, 2, start=3)
    assert send_all(sender) is Outcome.EMPTY
    # All are in one segment still, so the sender went back to the first.
    assert stored(service) == [0, 1, 2, 3, 4]


def test_a_window_that_is_gone_leaves_a_hole_that_is_named(
    tmp_path: Path, service: Service, transport: HttpTransport
) -> None:
    spool = Spool(tmp_path / "small", bound_bytes=16 * 300)
    sender = Sender(spool, transport)
    keep(spool, 1)
    send_all(sender)
    keep(spool, 40, start=1)
    assert spool.dropped[STREAM] > 0
    assert send_all(sender) is Outcome.EMPTY
    kept = stored(service)
    assert kept[1:] == list(range(kept[1], 41))
    assert kept[1] > 1
    assert service.windows[1]["previous_window_index"] == 0
    spool.close()


def test_a_service_that_keeps_asking_for_what_is_gone_is_not_asked_in_a_loop(
    service: Service, spool: Spool, sender: Sender
) -> None:
    keep(spool, 1)
    error = {"code": "out_of_order", "message": "…", "next_window_index": 0}
    service.always = Fault(409, {"error": error})
    assert sender.send_one() is Outcome.SENT
    assert sender.send_one() is Outcome.LATER
    assert spool.unsent == 1


def test_the_service_may_ask_for_the_run_again(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 1)
    service.wants_run = True
    send_all(sender)
    assert [stream for stream, reply in sender.take_replies().items() if reply.wants_run] == [STREAM]
    assert sender.take_replies() == {}


def test_the_services_verdict_is_known_while_it_repeats_it(
    service: Service, spool: Spool, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(spool, 1)
    send_all(sender)
    assert sender.verdict == {}, "an older service judges, and says nothing of it here"
    known = {"bound": "data", "max_data_stall_fraction": 0.25, "max_data_wait_us": 2_500}
    service.verdict = {**known, "level": "bound", "unknown": 1, "max_data_wait_p95_us": "much"}
    keep(spool, 1, start=1)
    send_all(sender)
    assert sender.verdict == {**dict.fromkeys(figures.OF_RUN), **known}
    monkeypatch.setattr("underfed.collector.spool.sender.VERDICT_S", 0.0)
    keep(spool, 1, start=2)
    send_all(sender)
    assert sender.verdict == {}, "it was received too long ago"


def test_a_window_that_was_sent_asks_for_the_verdict_of_now(service: Service, spool: Spool, sender: Sender) -> None:
    sender.ask_again()
    assert service.posts == 0, "there is nothing to ask with"
    keep(spool, 1)
    send_all(sender)
    service.verdict = {**dict.fromkeys(figures.OF_RUN), "bound": "data", "max_data_stall_fraction": 0.5}
    sender.ask_again()
    assert sender.verdict == service.verdict
    assert (service.posts, len(service.windows)) == (2, 1)
    service.always = Fault(503)
    sender.ask_again()
    assert sender.verdict == service.verdict
    assert not sender.is_failing, "a question that has no answer delays no window"


class Judging:
    """A service that answers each post with a verdict which is so old."""

    def __init__(self, age_s: float | None) -> None:
        self.age_s = age_s
        self.status, self.code = 200, None

    def post(self, body: bytes) -> Reply:
        index = json.loads(gzip.decompress(body))["window_index"]
        judged = {"verdict": {"bound": "data"}, "verdict_age_s": self.age_s}
        return Reply(self.status, next_window_index=index + 1, code=self.code, **judged)  # type: ignore[arg-type]


def test_a_verdict_includes_the_windows_that_the_service_had_when_it_judged(spool: Spool) -> None:
    service = Judging(age_s=0.0)
    sender = Sender(spool, service)
    keep(spool, 2)
    assert sender.send_one() is Outcome.SENT
    assert sender.judged == {}, "it was judged before its answer was asked for, at the latest"
    assert sender.send_one() is Outcome.SENT
    assert sender.judged == {STREAM: 0}
    service.age_s = 3_600.0
    sender.ask_again()
    assert sender.judged == {STREAM: 0}
    service.age_s = 0.0
    sender.ask_again()
    assert sender.judged == {STREAM: 1}


def test_any_verdict_of_a_service_that_does_not_say_how_old_it_is_includes_all(spool: Spool) -> None:
    sender = Sender(spool, Judging(age_s=None))
    keep(spool, 1)
    send_all(sender)
    assert sender.judged == {STREAM: 0}


def test_a_verdict_is_not_waited_for_on_a_window_that_the_service_will_never_take(spool: Spool) -> None:
    service = Judging(age_s=0.0)
    sender = Sender(spool, service)
    keep(spool, 2)
    sender.send_one()
    service.status, service.code = 400, "invalid"  # type: ignore[assignment]
    sender.send_one()
    service.status = 200
    sender.ask_again()
    assert sender.judged == {STREAM: 1}


def test_how_old_a_verdict_is_comes_in_microseconds() -> None:
    content = json.dumps({"next_window_index": 1, "verdict": {"bound": "data"}, "verdict_age_us": 1_500_000}).encode()
    assert read_reply(200, content, None).verdict_age_s == 1.5


@pytest.mark.parametrize("verdict", [None, "data", {"bound": 1}, {"cause": "no_workers"}, ["bound"]])
def test_an_answer_without_a_verdict_has_none(verdict: object) -> None:
    content = json.dumps({"next_window_index": 1, "verdict": verdict}).encode()
    assert read_reply(200, content, None).verdict is None


def test_it_waits_longer_each_time_and_not_in_step_with_others(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 1)
    service.always = Fault(503)
    longest = []
    for _ in range(9):
        sender.send_one()
        delays = [sender.delay_s() for _ in range(200)]
        assert min(delays) < max(delays)
        longest.append(max(delays))
    assert longest[0] <= 0.5
    assert longest == sorted(longest) or longest[-1] > 29
    assert max(longest) <= LONGEST_DELAY_S
    sender.hurry()
    assert max(sender.delay_s() for _ in range(200)) <= HURRIED_DELAY_S


def test_it_waits_as_long_as_the_service_asks(service: Service, spool: Spool, sender: Sender) -> None:
    keep(spool, 1)
    service.always = Fault(429, headers={"Retry-After": "7"})
    sender.send_one()
    assert 7 <= sender.delay_s() <= 7.5


def test_nobody_there_is_a_reason_and_no_error(spool: Spool) -> None:
    with running_service() as service:
        url = service.url
    keep(spool, 1)
    sender = Sender(spool, HttpTransport(url, None))
    assert sender.send_one() is Outcome.LATER
    assert "refused" in sender.reason


@pytest.mark.parametrize("content", [b"<html>proxy</html>", b"[]", b"", b'{"error": "text"}', b"\xff"])
def test_what_something_between_answers_counts_by_its_status_alone(content: bytes) -> None:
    assert read_reply(502, content, None).status == 502
    assert read_reply(502, content, "soon").retry_after_s is None


def test_a_refusal_states_its_reason() -> None:
    content = b'{"error": {"code": "invalid", "message": "steps: too long", "next_window_index": 3}}'
    reply = read_reply(400, content, "2")
    assert reply == Reply(400, 3, False, 2.0, "400 invalid steps: too long", "invalid")
