"""An alert as lines of text, for people: the sentence, why, the first fix with its gain, and the page. And as the one
text that a Slack-compatible webhook gets: Slack, Mattermost, Rocket.Chat and others take it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from underfed_server.logs import printable
from underfed_server.model import AlertFix, AlertMessage


def lines_of(message: AlertMessage) -> Iterator[str]:
    """Without its title and its link."""
    yield printable(message.sentence)
    if message.why is not None:
        yield printable(message.why)
    if message.fix is not None:
        yield from _fix(message.fix)


def about(message: AlertMessage) -> str:
    """Whose run it is; empty: of no run."""
    if message.run_id is None:
        return ""
    by = f" of {message.user}" if message.user else ""
    return printable(f"Run {message.run_id}{by} in {message.project}")


def _fix(fix: AlertFix) -> Iterator[str]:
    yield printable(f"First fix: {fix.title} ({fix.gain})")
    for each in fix.evidence:
        yield printable(f"• {each}")


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "*": "∗", "`": "ˋ", "~": "∼"})
"""As Slack asks for, and what would be marks: a run's name calls nobody, links nowhere and ends no emphasis."""


def chat(message: AlertMessage) -> tuple[bytes, dict[str, str]]:
    """Body and headers."""
    title = printable(message.title).translate(_ESCAPED)
    lines = [line.translate(_ESCAPED) for line in (*lines_of(message), about(message)) if line]
    text = "\n".join([f"*{title}*", *lines, f"<{message.url}>"])
    headers = {"content-type": "application/json", "user-agent": "underfed"}
    return json.dumps({"text": text}).encode("ascii"), headers
