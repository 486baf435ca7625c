"""What an alert says: the sentence, the first fix with its gain, and the page about it. The same to every channel."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from underfed_server import figures
from underfed_server.alerts.conditions import CONDITIONS, Reading, Seen
from underfed_server.model import Advice, AlertFix, AlertKind, AlertMessage, AlertRule, Diagnosis, Evidence

MOST_EVIDENCE = 3
MOST_CHARACTERS = 2_000
"""Of a sentence: names in it may be long, and a chat shows no more."""


def message_of(
    rule: AlertRule, kind: AlertKind, headline: str, reading: Reading, seen: Seen, url: str, now: datetime
) -> AlertMessage:
    """``url``: of the service's page."""
    run, diagnosis = seen.run, seen.diagnosis
    name = run.name or run.run_id
    sentence = reading.sentence or (diagnosis.sentence if diagnosis else "")
    cause = diagnosis.causes[0] if diagnosis and diagnosis.causes else None
    is_advised = kind == "raised" and CONDITIONS[rule.condition].advises
    return AlertMessage(
        kind=kind,
        condition=rule.condition,
        title=_short(f"{'Recovered: ' if kind == 'recovered' else ''}{name} {headline}"),
        sentence=_short(sentence),
        why=_short(diagnosis.why) if diagnosis and diagnosis.why and is_advised else None,
        run_id=run.run_id,
        run_name=run.name,
        project=run.project,
        user=run.user,
        status=run.status,
        bound=diagnosis.bound if diagnosis else None,
        cause=cause.cause if cause else None,
        data_stall_fraction=diagnosis.stated_stall_fraction if diagnosis else None,
        hours_lost=diagnosis.hours_lost if diagnosis else None,
        fix=_fix(diagnosis) if is_advised else None,
        url=f"{url}/runs/{run.run_id}",
        at=now,
    )


def test_message(channel: str, url: str, now: datetime) -> AlertMessage:
    return AlertMessage(
        kind="test",
        condition=None,
        title=f"Underfed can reach the channel {channel}",
        sentence="Somebody tried this channel. Alerts about runs that lose time come the same way.",
        url=f"{url}/alerts",
        at=now,
    )


def _fix(diagnosis: Diagnosis | None) -> AlertFix | None:
    advice = diagnosis.best_advice if diagnosis else None
    if diagnosis is not None and diagnosis.to_write is not None:
        return _beside(diagnosis, diagnosis.to_write.title, diagnosis.to_write.gain)
    if diagnosis is not None and diagnosis.beside_loader is not None and diagnosis.is_beside_first:
        title = diagnosis.beside[0].title if diagnosis.beside else diagnosis.beside_loader
        return _beside(diagnosis, title, figures.gain_at_most(diagnosis.beside_speedup))
    if diagnosis is None or advice is None:
        return None
    gain, low, high = advice.gain_of_run
    proof = advice.evidence or (diagnosis.causes[0].evidence if diagnosis.causes else [])
    return AlertFix(
        title=_short(advice.title),
        gain=_gain(advice),
        predicted_speedup=gain,
        low=low,
        high=high,
        evidence=_proof(proof),
    )


def _beside(diagnosis: Diagnosis, what: str, gain: str) -> AlertFix:
    """No change of what is in use: written down for the next run, or outside this one."""
    return AlertFix(
        title=_short(what.removesuffix(".")),
        gain=gain,
        predicted_speedup=None,
        low=None,
        high=None,
        evidence=_proof(diagnosis.causes[0].evidence if diagnosis.causes else []),
    )


def _proof(rows: Sequence[Evidence]) -> list[str]:
    known = [each for each in rows if each.value is not None]
    return [_short(f"{each.what}: {figures.evidence(each)}") for each in known[:MOST_EVIDENCE]]


def _gain(advice: Advice) -> str:
    if not advice.is_promised:
        return "no gain is predicted"
    return f"{figures.gain_of_run(advice)} of its speed, predicted"


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
