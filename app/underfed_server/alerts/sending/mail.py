"""Sends an alert by e-mail, over the mail server that the operator of the service names."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from underfed_server.alerts.sending.attempt import DEADLINE_S, AttemptError, deadline, reached
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
        refused = _sent(server, made, context)
        return f"the mail server refused {len(refused)} of the recipients" if refused else None
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
    with closing(_Client(server, context)) as client:
        try:
            with deadline(DEADLINE_S, client.cut):
                client.connect(server.host, server.port)
                if server.security == "starttls":
                    client.starttls(context=context)
                if server.user is not None:
                    client.login(server.user, server.password or "")
                refused = client.send_message(made)
                # It has answered: that the farewell fails is no failure.
                with suppress(OSError, smtplib.SMTPException):
                    client.quit()
        except (OSError, smtplib.SMTPException) as error:
            # The library's own error for a connection that is lost hides that the socket's timeout came first.
            if client.is_cut or isinstance(error.__context__, TimeoutError):
                raise TimeoutError from error
            raise
    return refused


class _Client(smtplib.SMTP):
    """Can be cut off from another thread at any moment of an attempt, also while it connects or shakes hands."""

    def __init__(self, server: MailServer, context: ssl.SSLContext) -> None:
        """Connects to nothing yet."""
        super().__init__(timeout=DEADLINE_S)
        self._host = server.host
        """The library checks certificates against it; it sets it only where it connects at once."""
        self._context = context if server.security == "tls" else None
        self._line: socket.socket | None = None
        """The connection, whatever wraps it: what is wrapped lets go of its own socket before the handshake."""
        self.is_cut = False

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        """As the library asks its own subclasses for it."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        line = reached([(family, address) for family, _, _, _, address in found])
        line.settimeout(timeout)
        self._line = line.dup()
        if self.is_cut:
            self.cut()  # the name took too long to resolve
        return line if self._context is None else self._context.wrap_socket(line, server_hostname=host)

    def cut(self) -> None:
        self.is_cut = True
        if self._line is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        if self._line is not None:
            self._line.close()
