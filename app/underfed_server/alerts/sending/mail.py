"""Sends an alert by e-mail, over the mail server that the operator of the service names."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial

from underfed_server.alerts.sending.attempt import DEADLINE_S, AttemptError, deadline
from underfed_server.alerts.sending.text import about, lines_of
from underfed_server.logs import printable
from underfed_server.model import AlertMessage
from underfed_server.settings import MailServer

MOST_SUBJECT = 200


def mail(alert_id: str, message: AlertMessage, sender: str, recipients: Sequence[str], now: datetime) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = printable(message.title)[:MOST_SUBJECT]
    made["From"] = sender
    made["To"] = ", ".join(recipients)
    made["Date"] = format_datetime(now)
    # The same in every attempt, so that a mailbox may know a message it has.
    made["Message-ID"] = f"<{alert_id}@underfed.invalid>"
    made["Auto-Submitted"] = "auto-generated"
    paragraphs = [printable(message.title), *lines_of(message), message.url, about(message)]
    made.set_content("\n\n".join(each for each in paragraphs if each) + "\n")
    return made


def send_mail(server: MailServer, made: EmailMessage, context: ssl.SSLContext) -> str | None:
    """On return the mail server has taken it, for all recipients or, where it says otherwise, for some.

    Raises:
        AttemptError: it has not.
    """
    try:
        return _refused(_sent(server, made, context))
    except smtplib.SMTPRecipientsRefused as error:
        codes = sorted({code for code, _ in error.recipients.values()})
        why = f"the mail server refused the recipients with {', '.join(map(str, codes))}"
        raise AttemptError(why, is_final=min(codes) >= 500) from error
    except smtplib.SMTPResponseException as error:
        did = "the log-in" if isinstance(error, smtplib.SMTPAuthenticationError) else "the message"
        raise AttemptError(f"the mail server refused {did} with {error.smtp_code}") from error
    except smtplib.SMTPNotSupportedError as error:
        raise AttemptError("the mail server does not offer what is asked of it (STARTTLS, or to log in)") from error
    except ssl.SSLCertVerificationError as error:
        raise AttemptError(f"the mail server's certificate is not accepted: {error.verify_message}") from error
    except (ConnectionRefusedError, socket.gaierror) as error:
        raise AttemptError("the mail server cannot be reached") from error
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        why = f"did not answer within {DEADLINE_S:.0f} s" if isinstance(error, TimeoutError) else "broke off"
        raise AttemptError(f"the mail server {why}") from error


def _sent(server: MailServer, made: EmailMessage, context: ssl.SSLContext) -> dict[str, tuple[int, bytes]]:
    """Recipients that were refused while others were not, with the code."""
    with _connected(server, context) as client, deadline(DEADLINE_S, partial(_cut, client)):
        if server.security == "starttls":
            client.starttls(context=context)
        if server.user is not None:
            client.login(server.user, server.password or "")
        return client.send_message(made)


@contextmanager
def _connected(server: MailServer, context: ssl.SSLContext) -> Iterator[smtplib.SMTP]:
    client = (
        smtplib.SMTP_SSL(server.host, server.port, timeout=DEADLINE_S, context=context)
        if server.security == "tls"
        else smtplib.SMTP(server.host, server.port, timeout=DEADLINE_S)
    )
    try:
        yield client
        # It has answered: that the farewell fails is no failure.
        with suppress(OSError, smtplib.SMTPException):
            client.quit()
    finally:
        client.close()


def _cut(client: smtplib.SMTP) -> None:
    with suppress(OSError, AttributeError):
        client.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


def _refused(recipients: Mapping[str, tuple[int, bytes]]) -> str | None:
    return f"the mail server refused {len(recipients)} of the recipients" if recipients else None
