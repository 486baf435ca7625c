"""What receivers of each kind get: a webhook checked with the reference library, a chat, and a real mail server."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from standardwebhooks.webhooks import WebhookVerificationError

from tests.app.alerts.conftest import ADA, Desk
from tests.app.alerts.receivers import Receiver, mail_server
from tests.app.conftest import on_sqlite_alone
from tests.app.made_diagnosis import made_advice, made_cause
from underfed_server.alerts.alerting import MOST_RECIPIENTS
from underfed_server.errors import ConflictError, InvalidError
from underfed_server.model import Advice, Evidence
from underfed_server.settings import MailServer

pytestmark = on_sqlite_alone


def promised() -> Advice:
    proof = [
        Evidence(what="Workers busy", value=0.97, unit="fraction"),
        Evidence(what="Not sampled", value=None, unit="us"),
        Evidence(what="Loading one batch", value=41_200, unit="us"),
    ]
    made = made_advice(1.6).model_copy(update={"low": 1.5, "high": 1.7, "evidence": proof, "title": "Use 4 workers"})
    return Advice.model_validate(made.model_dump(by_alias=True))


def starved(desk: Desk) -> None:
    desk.judged(sentence="The GPU waits for data 40% of every step.", why="One worker loads.", advice=[promised()])


def test_a_webhook_gets_signed_json_with_the_sentence_the_first_fix_and_the_link(
    desk: Desk, receiver: Receiver
) -> None:
    channel = desk.channel(f"{receiver.url}/hook?key=1")
    desk.rule(channel.channel_id)
    starved(desk)
    assert desk.send() == 1
    (got,) = receiver.got
    assert got.path == "/hook?key=1"
    assert channel.secret is not None
    said = got.verified(channel.secret)
    assert said["type"] == "alert.raised"
    data = said["data"]
    assert data["title"] == "resnet waits for data 40% of its step time"
    assert (data["sentence"], data["why"]) == ("The GPU waits for data 40% of every step.", "One worker loads.")
    assert data["fix"] == {
        "title": "Use 4 workers", "gain": "× 1.50–1.70 of its speed, predicted", "predicted_speedup": 1.6,
        "low": 1.5, "high": 1.7, "evidence": ["Workers busy: 97%", "Loading one batch: 41.2 ms"],
    }  # fmt: skip
    assert data["url"] == "https://underfed.example/runs/run-1"
    assert got.headers["webhook-id"] == desk.log[0].alert_id
    with pytest.raises(WebhookVerificationError):
        got.verified(desk.channel(receiver.url, name="another").secret or "")


def test_advice_that_promises_no_gain_has_none_in_the_message(desk: Desk) -> None:
    desk.rule(desk.channel("http://127.0.0.1:9").channel_id)
    desk.judged(advice=[made_advice(None)])
    fix = desk.log[0].message.fix
    assert fix is not None
    assert (fix.gain, fix.predicted_speedup) == ("no gain is predicted", None)


def test_a_chat_gets_one_text_in_which_a_name_calls_nobody(desk: Desk, receiver: Receiver) -> None:
    desk.rule(desk.channel(receiver.url, "slack").channel_id)
    name = "<!channel> @here *x* & `y`\n</b>"
    desk.judged(run={"name": name}, advice=[promised()], causes=[made_cause("storage_wait")])
    desk.send()
    text = receiver.got[0].json["text"]
    assert list(receiver.got[0].json) == ["text"]
    title, *lines = text.split("\n")
    assert title == "*&lt;!channel&gt; @\u200bhere ∗x∗ &amp; ˋyˋ\\n&lt;/b&gt; waits for data 40% of its step time*"
    assert lines[-1] == "<https://underfed.example/runs/run-1>"
    assert "First fix: Use 4 workers (× 1.50–1.70 of its speed, predicted)" in lines


def test_a_mail_server_gets_a_message_for_all_recipients(desk: Desk) -> None:
    with mail_server() as mailbox:
        desk.with_mail(MailServer("127.0.0.1", mailbox.port, "none", "underfed@example.org"))
        desk.rule(desk.mail_channel("ada@example.org", "ml-team@example.org").channel_id)
        desk.judged(run={"name": "résumé\r\nBcc: eve@example.org"}, sentence="Ü" * 1_200, advice=[promised()])
        assert desk.send() == 1
    (mail,) = mailbox.mails
    assert mailbox.recipients == [["ada@example.org", "ml-team@example.org"]]
    assert mail["Bcc"] is None
    assert mail["Subject"] == "résumé\\r\\nBcc: eve@example.org waits for data 40% of its step time"
    assert (mail["From"], mail["Auto-Submitted"]) == ("underfed@example.org", "auto-generated")
    text = mail.get_content()
    assert "Ü" * 1_200 in text.replace("\n", "")
    assert "https://underfed.example/runs/run-1" in text
    assert desk.log[0].state == "sent"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of 127.0.0.1, signed by itself: certificate and key in one file."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", f"{file}.crt"]
    subprocess.run([*words.split(), *more], check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    yield file


def test_a_mail_server_is_logged_in_to_over_tls_whose_certificate_is_checked(
    desk: Desk, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with mail_server(tls_context=context, require_starttls=True, auth_required=True) as mailbox:
        server = MailServer("127.0.0.1", mailbox.port, "starttls", "underfed@example.org", "ada", "right")
        desk.with_mail(server)
        channel = desk.mail_channel("ada@example.org")
        desk.alerting.test(channel.channel_id, None, "http://page")
        desk.send()
        assert desk.log[0].error == "the mail server's certificate is not accepted: self-signed certificate"
        assert mailbox.logged_in == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        desk.restart()
        desk.alerting.test(channel.channel_id, None, "http://page")
        desk.send()
    assert mailbox.logged_in == [("ada", "right")]
    assert [each["Subject"] for each in mailbox.mails] == ["Underfed can reach the channel mail"]


def test_of_recipients_that_are_refused_it_is_said(desk: Desk) -> None:
    with mail_server() as mailbox:
        mailbox.refuse = "550 nobody"
        desk.with_mail(MailServer("127.0.0.1", mailbox.port, "none", "underfed@example.org"))
        for to in (["refused@example.org", "ada@example.org"], ["refused@example.org"]):
            channel = desk.alerting.make_channel(to[0] + str(len(to)), "email", None, to, None, ADA)
            desk.alerting.test(channel.channel_id, None, "http://page")
            desk.advance(seconds=1)  # the log is in the order of time
        desk.send()
    assert [(each.state, each.error) for each in desk.log] == [
        ("sent", "the mail server refused 1 of the recipients"),
        ("failed", "the mail server refused the recipients with 550"),
    ]


def test_a_mail_server_that_is_away_is_tried_again(desk: Desk) -> None:
    desk.with_mail(MailServer("127.0.0.1", 9, "none", "underfed@example.org"))
    desk.rule(desk.mail_channel("ada@example.org").channel_id)
    desk.judged()
    desk.send()
    assert (desk.log[0].state, desk.log[0].error) == ("waiting", "the mail server cannot be reached")


REFUSED_RECIPIENTS = [
    [], ["ada"], ["ada@example.org\nBcc: x@y"], ["Ada <ada@example.org>"], ["ada@exa mple.org"], ["a@b", "a,b@c"],
    ["ä@example.org"], ["x" * 400 + "@example.org"], ["ada@example.org"] * (MOST_RECIPIENTS + 1),
]  # fmt: skip


@pytest.mark.parametrize("to", REFUSED_RECIPIENTS)
def test_what_is_no_address_is_no_recipient(desk: Desk, to: list[str]) -> None:
    desk.with_mail(MailServer("127.0.0.1", 9, "none", "underfed@example.org"))
    with pytest.raises(InvalidError):
        desk.mail_channel(*to)


def test_without_a_mail_server_there_is_no_channel_by_mail(desk: Desk) -> None:
    with pytest.raises(ConflictError, match="UNDERFED_SMTP_URL"):
        desk.mail_channel("ada@example.org")
