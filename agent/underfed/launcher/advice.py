"""``--apply RUN``: asks the service for the advice for a run, and takes what ``--set`` can apply, for the loaders that
it is about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

from underfed.errors import ConfigError
from underfed.trainer.settings.tunable import NAMES, check_settings
from underfed.trainer.settings.wanted import Identity, Wanted

TIMEOUT_S = 10.0
MOST_RUNS = 1000
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Advised:
    run_id: str
    wanted: list[Wanted]
    """Of each loader that the advice is about; then of those that the run was given other settings of already."""
    advice: list[Mapping[str, Any]]
    """As the service sends it: that of the first ones."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where the runs are known."""

    url: str
    token: str | None
    timeout_s: float = TIMEOUT_S

    def get(self, path: str, **query: str) -> Any:
        """The answer; ``None``: not found.

        Raises:
            ConfigError: there is no answer, or an error.
        """
        address = f"{self.url}/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
        request = Request(address, headers={"Authorization": f"Bearer {self.token}"} if self.token else {})
        try:
            # Without a proxy, as the collector connects: a web proxy may not reach the service.
            with build_opener(ProxyHandler({})).open(request, timeout=self.timeout_s) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code == 404:
                return None
            raise ConfigError(f"--apply: {self.url} answered {error.code} {error.reason}") from error
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ConfigError(f"--apply: no service answers at {self.url} ({reason})") from error


def take_advice(service: Service, wanted: str, project: str | None, name: str | None) -> Advised:
    """Of this run's advice for each loader the first that can be carried out from outside. ``latest`` is of this
    project and name.

    Raises:
        ConfigError: the service is away, knows no such run or several, or has no such advice.
    """
    run_id = latest(service, project, name) if wanted == LATEST else wanted
    diagnosis = service.get(f"/runs/{quote(run_id, safe='')}/diagnosis")
    if diagnosis is None:
        run_id = find_by_prefix(service, wanted)
        diagnosis = service.get(f"/runs/{quote(run_id, safe='')}/diagnosis") or {}
    advice = first_of_each_loader(diagnosis.get("advice", []))
    if not advice:
        raise ConfigError(f"--apply {wanted}: {why_nothing_to_apply(run_id, diagnosis)}")
    run = service.get(f"/runs/{quote(run_id, safe='')}") or {}
    settings = {str(each["loader"]): each["settings"] for each in advice}
    # A run that the next one is compared with keeps what it had.
    had = {str(each["loader"]): each.get("overrides") or {} for each in run.get("loaders", [])}
    found = [of_loader(run_id, run, loader, each) for loader, each in {**settings, **had, **settings}.items() if each]
    return Advised(run_id, found, advice)


def first_of_each_loader(advised: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first advice for each loader that consists of settings that can be set from outside."""
    found: dict[str, Mapping[str, Any]] = {}
    for each in advised:
        settings = each.get("settings", {})
        if each.get("loader") and settings and settings.keys() <= set(NAMES):
            found.setdefault(str(each["loader"]), each)
    return list(found.values())


def of_loader(run_id: str, run: Mapping[str, Any], loader: str, settings: Mapping[str, Any]) -> Wanted:
    known: Mapping[str, Any] = next((each for each in run.get("loaders", []) if each.get("loader") == loader), {})
    identity = Identity(**{each.name: known.get(each.name) for each in fields(Identity)})
    given = {name: value for name, value in settings.items() if value is not None}
    check_settings(given)
    return Wanted(loader, given, run_id, identity)


def latest(service: Service, project: str | None, name: str | None) -> str:
    query = {"project": project} if project else {}
    runs = known(service, sort="-started_at", **query)
    found = next((run["run_id"] for run in runs if name in (None, run.get("name"))), None)
    if found is None:
        of = "".join(f" {what} {value!r}" for what, value in (("of project", project), ("called", name)) if value)
        raise ConfigError(f"--apply latest: {service.url} knows no run{of}")
    return str(found)


def find_by_prefix(service: Service, wanted: str) -> str:
    found = [str(run["run_id"]) for run in known(service, q=wanted) if run["run_id"].startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"--apply {wanted}: {service.url} knows no run whose id begins so")
    raise ConfigError(f"--apply {wanted}: {len(found)} run ids begin so: {', '.join(found[:5])}")


def known(service: Service, **query: str) -> list[Mapping[str, Any]]:
    page = service.get("/runs", limit=str(MOST_RUNS), **query) or {}
    return list(page.get("runs", []))


def why_nothing_to_apply(run_id: str, diagnosis: Mapping[str, Any]) -> str:
    others = [str(advice.get("change")) for advice in diagnosis.get("advice", [])]
    if others:
        return f"the advice for {run_id} cannot be set from outside: {', '.join(others)}"
    return f"nothing is advised for {run_id}"
