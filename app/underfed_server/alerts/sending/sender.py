"""The threads that send what waits: each claims one message, tries to deliver it, and notes what became of it.

One of them looks for messages, and leaves that to another once it has claimed one: however many threads there are, the
database is asked by one, over one connection.

At least once: a message is noted as sent after it was. A receiver knows one that comes again by its id. A channel gets
one message at a time from a process, so that one that hangs holds one thread and no more.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import ssl
import threading
from collections.abc import Sequence

from underfed_server.alerts.sealing import Sealer
from underfed_server.alerts.sending.addresses import parse
from underfed_server.alerts.sending.attempt import AttemptError
from underfed_server.alerts.sending.mail import mail, send_mail
from underfed_server.alerts.sending.posting import post_body
from underfed_server.alerts.sending.text import chat
from underfed_server.alerts.sending.webhook import signed
from underfed_server.counters import Counters
from underfed_server.errors import UnderfedError
from underfed_server.settings import AlertSettings
from underfed_server.store.alerts.outbox import Claimed
from underfed_server.store.databases.trouble import log_failure
from underfed_server.store.store import Store

log = logging.getLogger("underfed.alerts")

THREADS = 8
"""So many receivers may hang at once while others receive theirs."""

LOOK_S = 2.0
"""How often is looked for what another process queued, or what is due again."""

FAILED_S = 5.0
CLOSING_S = 1.5


class AlertSender:
    """Starts with :meth:`start`, ends with :meth:`close`."""

    def __init__(self, store: Store, sealer: Sealer, settings: AlertSettings, counters: Counters) -> None:
        self._store = store
        self._sealer = sealer
        self._settings = settings
        self._counters = counters
        self._name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._context: ssl.SSLContext | None = None
        self._changed = threading.Condition()
        self._looking = threading.Lock()
        """Held by the thread that looks for messages."""
        self._wakes = 0
        self._is_closing = False
        self._threads: Sequence[threading.Thread] = [
            threading.Thread(target=self._run, name=f"underfed-alerts-{index}", daemon=True) for index in range(THREADS)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """What is on its way is not waited for: its lease ends, and it is sent again."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(CLOSING_S / THREADS)

    def wake(self) -> None:
        """There is something to send. Does not block; any thread."""
        with self._changed:
            self._wakes += 1
            self._changed.notify_all()

    def _run(self) -> None:
        while not self._is_closing:
            with self._looking:
                claimed = self._wait_for_message()
            if claimed is None:
                return
            try:
                self._send(claimed)
            except Exception as error:
                log_failure(log, error, f"what became of alert {claimed.alert_id} could not be noted")
            self.wake()  # its channel may have the next message

    def _wait_for_message(self) -> Claimed | None:
        """``None``: the service closes."""
        while not self._is_closing:
            wakes, rest_s = self._wakes, LOOK_S
            try:
                if (claimed := self._claim()) is not None:
                    return claimed
            except Exception as error:
                log_failure(log, error, "alerts could not be sent")
                rest_s = FAILED_S
            with self._changed:
                self._changed.wait_for(lambda seen=wakes: self._is_closing or self._wakes != seen, rest_s)  # type: ignore[misc]
        return None

    def _claim(self) -> Claimed | None:
        return self._store.claim_alert(self._name) if self._store.has_due_alert() else None

    def _send(self, claimed: Claimed) -> None:
        try:
            but = self._deliver(claimed)
        except AttemptError as error:
            self._note_failed(claimed, error)
        except UnderfedError as error:
            self._note_failed(claimed, AttemptError(str(error)))
        except Exception as error:
            # Without a note it would be claimed again as soon as its lease ends, for ever.
            log_failure(log, error, f"alert {claimed.alert_id} could not be sent")
            self._note_failed(claimed, AttemptError("the service failed; its log says why"))
        else:
            self._store.note_sent(claimed, but)
            self._counters.alerts.labels(claimed.kind, "sent").inc()

    def _note_failed(self, claimed: Claimed, attempt: AttemptError) -> None:
        why = str(attempt)
        is_planned = self._store.note_failed(claimed, why, is_final=attempt.is_final, wait=attempt.wait)
        self._counters.alerts.labels(claimed.kind, "failed").inc()
        if not is_planned and claimed.message.kind != "test":
            log.warning("alert %s was not sent, and is not tried again: %s", claimed.alert_id, why)

    def _deliver(self, claimed: Claimed) -> str | None:
        """Who did not get it, where that is said.

        Raises:
            AttemptError: nobody did. SealError: where to is not known.
        """
        where, now = self._sealer.open(claimed.sealed), self._store.now()
        if claimed.kind == "email":
            server = self._settings.mail_server
            if server is None:
                raise AttemptError("the service has no mail server: its operator sets UNDERFED_SMTP_URL")
            made = mail(claimed.alert_id, claimed.message, server.sender, list(where["to"]), now)
            return send_mail(server, made, self._trusted())
        body, headers = (
            chat(claimed.message)
            if claimed.kind == "slack"
            else signed(claimed.alert_id, claimed.message, str(where["secret"]), now)
        )
        networks = self._settings.networks
        post_body(parse(str(where["url"]), networks), body, headers, networks, self._trusted())
        return None

    def _trusted(self) -> ssl.SSLContext:
        """With the certificates of the system, or of ``SSL_CERT_FILE``, read when first needed: it takes milliseconds
        and megabytes."""
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context
