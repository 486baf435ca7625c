"""``/alerts``: who is told, by which channel, when a run loses time, and what was sent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from underfed_server.alerts.conditions import CONDITIONS
from underfed_server.api.dependencies import ALLOWED, AuthorDep, CursorQuery, PartsDep, PermissionDep
from underfed_server.api.runs import WITHOUT_NUL
from underfed_server.errors import ForbiddenError, InvalidError
from underfed_server.ingest.permission import Permission
from underfed_server.model import (
    Alert,
    AlertRule,
    Alerts,
    AlertsPage,
    ChannelKind,
    ChannelMade,
    Condition,
    ErrorBody,
)
from underfed_server.store.alerts.rules import NewRule

router = APIRouter(prefix="/alerts", tags=["alerts"], dependencies=ALLOWED)

HOUR_US = 3_600_000_000
LONGEST_US = 7 * 24 * HOUR_US
"""That a condition must hold, or that nothing more is told of it."""

MOST_ALERTS = 500

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Whose = Annotated[str, StringConstraints(max_length=500, pattern=WITHOUT_NUL)]
TAKEN = {
    "model": ErrorBody,
    "description": "There is another one of this name, or too many, or the service lacks a part",
}


class NewChannel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    kind: ChannelKind
    url: Annotated[str, StringConstraints(max_length=2_000)] | None = None
    """Where messages are posted; it is not told again."""
    to: Annotated[list[Annotated[str, StringConstraints(max_length=400)]], Field(max_length=20)] = []
    """Recipients of e-mails."""
    project: Name | None = None
    """The only project that it may be told of; null: any."""


class NewAlertRule(BaseModel):
    """What is not given is as the condition has it by default."""

    model_config = ConfigDict(extra="forbid")

    condition: Condition
    threshold: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    for_us: Annotated[StrictInt, Field(ge=0, le=LONGEST_US)] | None = None
    cool_down_us: Annotated[StrictInt, Field(ge=0, le=LONGEST_US)] = 4 * HOUR_US
    tells_recovery: StrictBool = True
    channel_id: Annotated[str, StringConstraints(max_length=100, pattern=WITHOUT_NUL)]
    project: Whose | None = None
    user: Whose | None = None


@router.get("")
def alerts(parts: PartsDep, permission: PermissionDep) -> Alerts:
    """Channels and rules; a token that is bound to a project sees those of the project."""
    return parts.alerting.alerts(permission.project)


@router.post("/channels", status_code=201, responses={409: TAKEN})
def make_channel(new: NewChannel, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> ChannelMade:
    """Add a channel. Of a webhook this answer holds the secret that its messages are signed with."""
    project = _own(new.project, permission)
    return parts.alerting.make_channel(new.name, new.kind, new.url, new.to, project, by)


@router.delete("/channels/{channel_id}", status_code=204)
def delete_channel(channel_id: str, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Remove a channel and its rules; what waits to be sent there is not sent."""
    parts.alerting.delete_channel(channel_id, permission.project, by)


@router.post("/channels/{channel_id}/test", status_code=202, responses={409: TAKEN})
def test_channel(channel_id: str, request: Request, parts: PartsDep, permission: PermissionDep) -> Alert:
    """Send a message that says only that it came. The log says, under the id in this answer, whether it did."""
    return parts.alerting.test(channel_id, permission.project, _page_url(request))


@router.post("/rules", status_code=201, responses={409: TAKEN})
def make_rule(
    new: NewAlertRule, request: Request, parts: PartsDep, permission: PermissionDep, by: AuthorDep
) -> AlertRule:
    """Add a rule: which condition of whose runs is told to which channel."""
    rule = NewRule(
        condition=new.condition,
        threshold=_threshold(new),
        for_us=_for_us(new),
        cool_down_us=new.cool_down_us,
        tells_recovery=new.tells_recovery,
        channel_id=new.channel_id,
        project=_own(new.project, permission),
        user=new.user,
        page_url=_page_url(request),
    )
    return parts.alerting.make_rule(rule, permission.project, by)


@router.delete("/rules/{rule_id}", status_code=204)
def delete_rule(rule_id: str, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Remove a rule; what it has told already is still sent."""
    parts.alerting.delete_rule(rule_id, permission.project, by)


@router.get("/log")
def log(
    parts: PartsDep,
    permission: PermissionDep,
    limit: Annotated[int, Query(ge=1, le=MOST_ALERTS)] = 100,
    cursor: CursorQuery = None,
) -> AlertsPage:
    """Messages that were sent, wait, or failed, newest first."""
    return parts.store.alerts(permission.project, limit, cursor)


@router.get("/log/{alert_id}")
def logged(alert_id: str, parts: PartsDep, permission: PermissionDep) -> Alert:
    """One message, and what became of it."""
    return parts.store.alert(alert_id, permission.project)


def _own(project: str | None, permission: Permission) -> str | None:
    """Raises:
    ForbiddenError: a project's administrator adds for that project alone.
    """
    if permission.project is not None and project not in (None, permission.project):
        raise ForbiddenError(f"this token is for the project {permission.project!r} only", field="project")
    return permission.project or project


def _threshold(new: NewAlertRule) -> float | None:
    declared = CONDITIONS[new.condition]
    if declared.threshold is None:
        if new.threshold is not None:
            raise InvalidError(f"threshold: the condition {new.condition} has none", field="threshold")
        return None
    if new.threshold is not None and new.threshold > declared.most:
        raise InvalidError(f"threshold: at most {declared.most:g}, not {new.threshold:g}", field="threshold")
    return declared.threshold if new.threshold is None else new.threshold


def _for_us(new: NewAlertRule) -> int:
    declared = CONDITIONS[new.condition]
    if new.for_us and not declared.can_wait:
        raise InvalidError(f"for_us: the condition {new.condition} does not pass by itself", field="for_us")
    return declared.for_us if new.for_us is None else new.for_us


def _page_url(request: Request) -> str:
    return str(request.base_url).rstrip("/")
