"""What a Slack-compatible webhook gets: one text. Slack, Mattermost, Rocket.Chat and others take it."""

from __future__ import annotations

import json

from underfed_server.alerts.sending.text import about, lines_of
from underfed_server.logs import printable
from underfed_server.model import AlertMessage

_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "*": "∗", "`": "ˋ", "~": "∼"})
"""As Slack asks for, and what would be marks: a run's name calls nobody, links nowhere and ends no emphasis."""


def chat(message: AlertMessage) -> tuple[bytes, dict[str, str]]:
    """Body and headers."""
    title = printable(message.title).translate(_ESCAPED)
    lines = [line.translate(_ESCAPED) for line in (*lines_of(message), about(message)) if line]
    text = "\n".join([f"*{title}*", *lines, f"<{message.url}>"])
    headers = {"content-type": "application/json", "user-agent": "underfed"}
    return json.dumps({"text": text}).encode("ascii"), headers
