"""Everything about alerts that the API and the background share: channels made and tried, who watches, who sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from underfed_server.alerts.messages import test_message
from underfed_server.alerts.sealing import Sealer, Secrets
from underfed_server.alerts.sending.addresses import parse
from underfed_server.alerts.sending.sender import AlertSender
from underfed_server.alerts.sending.webhook import make_secret
from underfed_server.alerts.watcher import AlertWatcher
from underfed_server.counters import Counters
from underfed_server.errors import ConflictError, InvalidError
from underfed_server.model import Alert, AlertRule, Alerts, ChannelKind, ChannelMade
from underfed_server.names import Projects
from underfed_server.settings import MAIL_ADDRESS, AlertSettings
from underfed_server.store.alerts.rules import NewRule
from underfed_server.store.runs.audit_log import Author
from underfed_server.store.store import Store

MOST_RECIPIENTS = 20


class Alerting:
    """Any thread."""

    def __init__(
        self, store: Store, settings: AlertSettings, keys: Callable[[], Sequence[str]], counters: Counters
    ) -> None:
        """``keys``: what addresses and secrets are encrypted with, as :class:`Sealer` asks."""
        self._store = store
        self._settings = settings
        self._sealer = Sealer(keys)
        self.sender = AlertSender(store, self._sealer, settings, counters)
        self.watcher = AlertWatcher(store, self.sender.wake, settings.public_url)

    def alerts(self, within: Projects) -> Alerts:
        """Those of the projects that the caller sees."""
        return Alerts(
            channels=self._store.channels(within),
            rules=self._store.alert_rules(within),
            sends_email=self._settings.mail_server is not None,
        )

    def make_channel(
        self, name: str, kind: ChannelKind, url: str | None, to: Sequence[str], project: str | None, by: Author
    ) -> ChannelMade:
        """Raises:
        InvalidError: messages cannot be sent there.
        ConflictError: there is one of this name, or the service has no key or no mail server.
        """
        target, secrets, secret = self._mail_to(to, url) if kind == "email" else self._posted_to(kind, url, to)
        sealed = self._sealer.seal(secrets)
        made = self._store.make_channel(name=name, kind=kind, target=target, sealed=sealed, project=project, by=by)
        return ChannelMade(**dict(made), secret=secret)

    def make_rule(self, new: NewRule, within: Projects, by: Author) -> AlertRule:
        """``within``: the projects that the caller administers. Raises: as the store does."""
        made = self._store.make_alert_rule(new, within, by)
        self.watcher.reload()
        return made

    def delete_rule(self, rule_id: str, within: Projects, by: Author) -> None:
        self._store.delete_alert_rule(rule_id, within, by)
        self.watcher.reload()

    def delete_channel(self, channel_id: str, within: Projects, by: Author) -> None:
        self._store.delete_channel(channel_id, within, by)
        self.watcher.reload()

    def test(self, channel_id: str, within: Projects, page_url: str) -> Alert:
        """Queue a message that says nothing but that it came. Its attempt is the only one."""
        name = next((each.name for each in self._store.channels(within) if each.channel_id == channel_id), "")
        message = test_message(name, self._settings.public_url or page_url, self._store.now())
        queued = self._store.post_test(channel_id, message, within)
        self.sender.wake()
        return queued

    def _posted_to(self, kind: ChannelKind, url: str | None, to: Sequence[str]) -> tuple[str, Secrets, str | None]:
        if url is None or to:
            raise InvalidError(
                f"a channel of kind {kind} has a url and no recipients", field="url" if url is None else "to"
            )
        target = parse(url, self._settings.networks)
        host = f"[{target.host}]" if ":" in target.host else target.host
        secret = make_secret() if kind == "webhook" else None
        return f"{target.scheme}://{host}:{target.port}", {"url": url, "secret": secret or ""}, secret

    def _mail_to(self, to: Sequence[str], url: str | None) -> tuple[str, Secrets, str | None]:
        if self._settings.mail_server is None:
            raise ConflictError(
                "the service has no mail server: its operator sets UNDERFED_SMTP_URL and UNDERFED_SMTP_FROM",
                field="kind",
            )
        if url is not None or not 0 < len(to) <= MOST_RECIPIENTS:
            raise InvalidError(f"to: a channel of kind email has one to {MOST_RECIPIENTS} recipients", field="to")
        wrong = next((each for each in to if not MAIL_ADDRESS.fullmatch(each)), None)
        if wrong is not None:
            raise InvalidError(f"to: {wrong!r} is no e-mail address", field="to")
        return ", ".join(to), {"to": list(to)}, None
