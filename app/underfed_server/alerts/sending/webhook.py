"""What a webhook gets: JSON, signed as the Standard Webhooks specification says (standardwebhooks.com)."""

from __future__ import annotations

import base64
import json
import secrets
from datetime import datetime
from typing import Any

from standardwebhooks.webhooks import Webhook

from underfed_server.model import AlertMessage

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification asks for 24 to 64."""


def make_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def signed(alert_id: str, message: AlertMessage, secret: str, now: datetime) -> tuple[bytes, dict[str, str]]:
    """Body and headers. The id is the same in every attempt, so that a receiver knows a message it has."""
    content: dict[str, Any] = {
        "type": f"alert.{message.kind}",
        "timestamp": message.at.isoformat().replace("+00:00", "Z"),
        "data": message.model_dump(mode="json"),
    }
    body = json.dumps(content)
    headers = {
        "content-type": "application/json",
        "user-agent": "underfed",
        "webhook-id": alert_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(alert_id, now, body),
    }
    return body.encode("ascii"), headers
