"""``underfed alerts``: who receives a message, by which channel, when a run loses time."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from underfed_server import figures
from underfed_server.errors import SettingsError, UnderfedError
from underfed_server.model import Alert, AlertRule, Alerts, Channel, ChannelKind, ChannelMade, Condition, Model
from underfed_server.names import LABELS
from underfed_server.terminal.client import Client, client_from_environment
from underfed_server.terminal.console import Answer, print_answer

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
TEST_S = 30.0
"""So long a test is waited for: an attempt takes ten seconds at most, and another one may be on its way."""

POLL_S = 0.2

ObjectAndText = tuple[BaseModel | None, RenderableType]
"""The API's object, and the text for a person."""


class Added(Model):
    """What ``add`` made."""

    channel: ChannelMade | Channel
    rules: list[AlertRule]


def alerts(argv: Sequence[str]) -> int:
    """Say who is told, by which channel, when a run loses time: a signed webhook, a Slack-compatible one, or e-mail."""
    arguments = _parser().parse_args(argv)
    does = {"list": _list, "add": _add, "remove": _remove, "test": _test}

    def find() -> Answer:
        model, shown = does[arguments.does](arguments, client_from_environment())
        return model, lambda: shown

    return print_answer(find, as_json=arguments.json, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="underfed alerts", description=alerts.__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print the API's object")
    does = parser.add_subparsers(dest="does", metavar="list|add|remove|test", required=True)
    does.add_parser("list", parents=[shared], help="channels and rules")
    _add_arguments(does.add_parser("add", parents=[shared], help="a channel, rules that tell it, or both"))
    remove = does.add_parser("remove", parents=[shared], help="a rule, or a channel with its rules")
    remove.add_argument("id", metavar="ID", help="as `underfed alerts list` shows it, or the name of a channel")
    test = does.add_parser("test", parents=[shared], help="send a message that says only that it came")
    test.add_argument("channel", metavar="CHANNEL", help="its name or id")
    return parser


def _add_arguments(add: argparse.ArgumentParser) -> None:
    where = add.add_mutually_exclusive_group(required=True)
    where.add_argument("--webhook", metavar="URL", help="signed as Standard Webhooks say; - reads it from stdin")
    where.add_argument("--slack", metavar="URL", help="Slack, Mattermost, Rocket.Chat …; - reads it from stdin")
    where.add_argument("--email", metavar="ADDRESSES", help="one, or several with commas")
    where.add_argument("--channel", metavar="CHANNEL", help="the name or id of one that there is")
    add.add_argument("--name", help="of a new channel (default: its host, or the first recipient)")
    add.add_argument(
        "--when",
        metavar="CONDITION",
        action="append",
        choices=get_args(Condition),
        default=[],
        help=f"{', '.join(get_args(Condition))}; several times for several; none: only add the channel",
    )
    add.add_argument(
        "--threshold",
        metavar="N",
        type=float,
        help="data_bound: from this share of step time (0.2); hours_lost: from so many hours (8); "
        "memory: so many hours ahead (24)",
    )
    add.add_argument("--for", dest="lasts", metavar="TIME", help="so long it must hold, as in 90s, 10m or 2h")
    add.add_argument("--cool-down", metavar="TIME", help="so long no further message about the same is sent (4h)")
    add.add_argument("--no-recovery", action="store_true", help="do not tell when it is over")
    add.add_argument("--project", help="only of runs of this project")
    add.add_argument("--user", help="only of this user's runs")


def _list(_: argparse.Namespace, client: Client) -> ObjectAndText:
    found = client.alerts()
    if not found.channels:
        return found, Text("Nobody is told: add a channel with underfed alerts add.")
    return found, Group(_channels(found.channels), Text(), _rules(found))


def _add(arguments: argparse.Namespace, client: Client) -> ObjectAndText:
    if arguments.threshold is not None and len(arguments.when) != 1:
        raise SettingsError("--threshold goes with one --when")
    if arguments.channel is not None and not arguments.when:
        raise SettingsError("--channel goes with --when: what are its messages to be about?")
    asked = {
        "threshold": arguments.threshold,
        "for_us": _us("--for", arguments.lasts),
        "cool_down_us": _us("--cool-down", arguments.cool_down),
        "tells_recovery": not arguments.no_recovery,
        "project": arguments.project,
        "user": arguments.user,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    channel = _channel(arguments, client)
    rules = [
        client.make_alert_rule({"condition": condition, "channel_id": channel.channel_id, **given})
        for condition in dict.fromkeys(arguments.when)
    ]
    return Added(channel=channel, rules=rules), _added(channel, rules)


def _channel(arguments: argparse.Namespace, client: Client) -> ChannelMade | Channel:
    """The one that there is, or a new one."""
    if arguments.channel is not None:
        return _named(client.alerts().channels, arguments.channel)
    kinds: tuple[ChannelKind, ...] = get_args(ChannelKind)
    kind, where = next((kind, said) for kind in kinds if (said := getattr(arguments, kind)) is not None)
    if kind == "email":
        to = [part for each in where.split(",") if (part := each.strip())]
        name = arguments.name or (to or [""])[0]
        asked: dict[str, Any] = {"to": to}
    else:
        url = sys.stdin.readline().strip() if where == "-" else where
        host = re.match(r"https?://([^/:@?#]+)", url)
        name, asked = arguments.name or (host[1] if host else kind), {"url": url}
    return client.make_channel({"name": name[:100], "kind": kind, "project": arguments.project, **asked})


def _added(channel: ChannelMade | Channel, rules: Sequence[AlertRule]) -> RenderableType:
    lines = [f"Channel {channel.name} ({channel.channel_id}): {channel.kind} to {channel.target}"]
    lines += [f"Rule {rule.rule_id}: {_in_words(rule)}" for rule in rules]
    if isinstance(channel, ChannelMade) and channel.secret is not None:
        lines += [channel.secret, "Its messages are signed with this secret, which is shown this once."]
    lines.append(f"To try it: underfed alerts test {channel.channel_id}")
    return Text("\n".join(lines))


def _remove(arguments: argparse.Namespace, client: Client) -> ObjectAndText:
    found = client.alerts()
    if any(rule.rule_id == arguments.id for rule in found.rules):
        client.delete_alert_rule(arguments.id)
        return None, Text(f"Rule {arguments.id} is removed.")
    channel = _named(found.channels, arguments.id)
    rules = sum(rule.channel_id == channel.channel_id for rule in found.rules)
    client.delete_channel(channel.channel_id)
    return None, Text(f"Channel {channel.name} is removed, and {rules} rule{'' if rules == 1 else 's'} with it.")


def _test(arguments: argparse.Namespace, client: Client) -> ObjectAndText:
    """Raises:
    UnderfedError: it did not arrive.
    """
    channel = _named(client.alerts().channels, arguments.channel)
    sent = _settled(client, client.test_channel(channel.channel_id))
    if sent.state != "sent":
        raise UnderfedError(
            f"the test message did not reach {channel.target}: {sent.error or 'it is still on its way'}"
        )
    but = f" ({sent.error})" if sent.error else ""
    return sent, Text(f"{channel.name} received the test message: {channel.kind} to {channel.target}{but}.")


def _settled(client: Client, alert: Alert) -> Alert:
    until = time.monotonic() + TEST_S
    while alert.state == "waiting" and time.monotonic() < until:
        time.sleep(POLL_S)
        alert = client.alert(alert.alert_id)
    return alert


def _named(channels: Iterable[Channel], wanted: str) -> Channel:
    """Raises:
    SettingsError: none has this id or name, or several have the name.
    """
    found = [each for each in channels if wanted in (each.channel_id, each.name)]
    if len(found) != 1:
        what = "several channels have the name" if found else "there is no channel or rule"
        raise SettingsError(f"{what} {wanted!r}: see underfed alerts list")
    return found[0]


def _us(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if found is None:
        raise SettingsError(f"{name} must be a number of seconds, minutes, hours or days such as 90s, 10m or 2h")
    return int(found[1]) * SECONDS[found[2]] * 1_000_000


def _channels(channels: Sequence[Channel]) -> Table:
    table = _made("channel", "id", "kind", "goes to", "project")
    for each in channels:
        cells = (each.name, each.channel_id, each.kind, each.target, _or_any(each.project))
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _rules(found: Alerts) -> RenderableType:
    if not found.rules:
        return Text("No rule yet: underfed alerts add --channel CHANNEL --when data_bound")
    names = {each.channel_id: each.name for each in found.channels}
    table = _made("rule", "when", "of project", "of user", "tells")
    for each in found.rules:
        cells = (each.rule_id, _in_words(each), _or_any(each.project), _or_any(each.user),
                 names.get(each.channel_id, each.channel_id))  # fmt: skip
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _made(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for name in columns:
        table.add_column(name, no_wrap=name in ("id", "rule", "kind"), overflow="fold")
    return table


def _or_any(name: str | None) -> str:
    return "any" if name is None else name


def _in_words(rule: AlertRule) -> str:
    """``waits for data, from 20%, for 10 min``."""
    parts = [LABELS["condition"][rule.condition]]
    if rule.threshold is not None:
        parts.append(_threshold(rule.condition, rule.threshold))
    if rule.for_us:
        parts.append(f"for {figures.duration(rule.for_us)}")
    return ", ".join(parts)


def _threshold(condition: Condition, threshold: float) -> str:
    if condition == "data_bound":
        return f"from {figures.fraction(threshold)}"
    return f"{'within' if condition == 'memory' else 'from'} {figures.amount(threshold)} h"
