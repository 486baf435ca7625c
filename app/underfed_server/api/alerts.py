"""``/alerts``: who receives a message, by which channel, when a run loses time, and what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field, StrictBool, StrictInt, StringConstraints

from underfed_server.alerts.conditions import CONDITIONS
from underfed_server.api.dependencies import AuthorDep, CursorQuery, Parts, PartsDep, PermissionDep
from underfed_server.api.required_scope import needs
from underfed_server.api.runs import WITHOUT_NUL
from underfed_server.errors import InvalidError, NotFoundError
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
    Model,
)
from underfed_server.names import Projects
from underfed_server.store.alerts.rules import NewRule

router = APIRouter(prefix="/alerts", tags=["alerts"])

HOUR_US = 3_600_000_000
LONGEST_US = 7 * 24 * HOUR_US
"""That a condition must hold, or that no further message about it is sent."""

MOST_ALERTS = 500

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Whose = Annotated[str, StringConstraints(max_length=500, pattern=WITHOUT_NUL)]
TAKEN = {
    "model": ErrorBody,
    "description": "There is another one of this name, or too many, or the service lacks a part",
}


class NewChannel(Model):
    name: Name
    kind: ChannelKind
    url: Annotated[str, StringConstraints(max_length=2_000)] | None = None
    """Where messages are posted; it is not shown again."""
    to: list[Annotated[str, StringConstraints(max_length=400)]] = Field([], max_length=20)
    """Recipients of e-mails."""
    project: Name | None = None
    """The only project whose runs its messages may be about; null: any."""


class NewAlertRule(Model):
    """What is not given is as the condition has it by default."""

    condition: Condition
    threshold: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    for_us: Annotated[StrictInt, Field(ge=0, le=LONGEST_US)] | None = None
    cool_down_us: Annotated[StrictInt, Field(ge=0, le=LONGEST_US)] = 4 * HOUR_US
    tells_recovery: StrictBool = True
    channel_id: Annotated[str, StringConstraints(max_length=100, pattern=WITHOUT_NUL)]
    project: Whose | None = None
    user: Whose | None = None


@router.get("", **needs("view"))
def alerts(parts: PartsDep, permission: PermissionDep) -> Alerts:
    """Channels and rules; who sees some projects alone sees theirs."""
    return parts.alerting.alerts(permission.projects())


@router.post("/channels", status_code=201, responses={409: TAKEN}, **needs("admin"))
def make_channel(new: NewChannel, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> ChannelMade:
    """Add a channel. Of a webhook this answer holds the secret that its messages are signed with."""
    project = permission.home("admin", new.project)
    return parts.alerting.make_channel(new.name, new.kind, new.url, new.to, project, by)


@router.delete("/channels/{channel_id}", status_code=204, **needs("admin"))
def delete_channel(channel_id: str, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Remove a channel and its rules; what waits to be sent there is not sent."""
    parts.alerting.delete_channel(channel_id, _of_channel(channel_id, parts, permission), by)


@router.post("/channels/{channel_id}/test", status_code=202, responses={409: TAKEN}, **needs("admin"))
def test_channel(channel_id: str, request: Request, parts: PartsDep, permission: PermissionDep) -> Alert:
    """Send a message that says only that it came. The log says, under the id in this answer, whether it did."""
    return parts.alerting.test(channel_id, _of_channel(channel_id, parts, permission), _page_url(request))


@router.post("/rules", status_code=201, responses={409: TAKEN}, **needs("admin"))
def make_rule(
    new: NewAlertRule, request: Request, parts: PartsDep, permission: PermissionDep, by: AuthorDep
) -> AlertRule:
    """Add a rule: which condition of whose runs is reported to which channel."""
    rule = NewRule(
        condition=new.condition,
        threshold=_threshold(new),
        for_us=_for_us(new),
        cool_down_us=new.cool_down_us,
        tells_recovery=new.tells_recovery,
        channel_id=new.channel_id,
        project=permission.home("admin", new.project),
        user=new.user,
        page_url=_page_url(request),
    )
    return parts.alerting.make_rule(rule, permission.projects("admin"), by)


@router.delete("/rules/{rule_id}", status_code=204, **needs("admin"))
def delete_rule(rule_id: str, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> None:
    """Remove a rule; messages that it has queued are still sent."""
    rules = parts.store.alert_rules(permission.projects())
    within = _administered(rule_id, {each.rule_id: each.project for each in rules}, permission, "rule_id")
    parts.alerting.delete_rule(rule_id, within, by)


@router.get("/log", **needs("view"))
def log(
    parts: PartsDep,
    permission: PermissionDep,
    limit: Annotated[int, Query(ge=1, le=MOST_ALERTS)] = 100,
    cursor: CursorQuery = None,
) -> AlertsPage:
    """Messages that were sent, wait, or failed, newest first."""
    return parts.store.alerts(permission.projects(), limit, cursor)


@router.get("/log/{alert_id}", **needs("view"))
def logged(alert_id: str, parts: PartsDep, permission: PermissionDep) -> Alert:
    """One message, and what became of it."""
    return parts.store.alert(alert_id, permission.projects())


def _of_channel(channel_id: str, parts: Parts, permission: Permission) -> Projects:
    channels = parts.store.channels(permission.projects())
    return _administered(channel_id, {each.channel_id: each.project for each in channels}, permission, "channel_id")


def _administered(
    wanted: str, seen: Mapping[str, str | None], permission: Permission, field: Literal["channel_id", "rule_id"]
) -> Projects:
    """The projects that the caller administers. ``seen``: channels or rules that the caller sees, with their project.

    Raises:
        NotFoundError: what is wanted is not among them. ForbiddenError: it is of another project.
    """
    if wanted not in seen:
        raise NotFoundError(f"there is no {field.removesuffix('_id')} {wanted!r}", field=field)
    permission.require_in("admin", seen[wanted])
    return permission.projects("admin")


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
