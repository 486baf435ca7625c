"""``--apply RUN``: asks the service for the advice for a run, and takes what ``--set`` can apply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

from underfed.errors import ConfigError
from underfed.exchange.config import Value
from underfed.trainer.settings.tunable import NAMES, check_settings

TIMEOUT_S = 10.0
MOST_RUNS = 1000
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Advised:
    """``speedup`` is the one predicted; ``None``: it could not be."""

    run_id: str
    settings: dict[str, Value]
    speedup: float | None


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
    """The first advice of this run that can be carried out from outside. ``latest`` is of this project and name.

    Raises:
        ConfigError: the service is away, knows no such run or several, or has no such advice.
    """
    run_id = latest(service, project, name) if wanted == LATEST else wanted
    diagnosis = service.get(f"/runs/{quote(run_id, safe='')}/diagnosis")
    if diagnosis is None:
        run_id = find_by_prefix(service, wanted)
        diagnosis = service.get(f"/runs/{quote(run_id, safe='')}/diagnosis") or {}
    for advice in (each for each in diagnosis.get("advice", []) if is_for_training(each, diagnosis)):
        settings = {key: value for key, value in advice.get("settings", {}).items() if value is not None}
        if settings and settings.keys() <= set(NAMES):
            check_settings(settings)
            return Advised(run_id, settings, advice.get("predicted_speedup"))
    raise ConfigError(f"--apply {wanted}: {why_nothing_to_apply(run_id, diagnosis)}")


def is_for_training(advice: Mapping[str, Any], diagnosis: Mapping[str, Any]) -> bool:
    """Settings from outside are the training loaders': advice for a validation is not for them."""
    roles = {line.get("loader"): line.get("role") for line in diagnosis.get("loaders", [])}
    return str(roles.get(advice.get("loader"), "train")) == "train"


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
    advised = diagnosis.get("advice", [])
    others = [str(advice.get("change")) for advice in advised if is_for_training(advice, diagnosis)]
    if advised and not others:
        return f"the advice for {run_id} is for {advised[0].get('loader')}, which is no training loader"
    if others:
        return f"the advice for {run_id} cannot be set from outside: {', '.join(others)}"
    return f"nothing is advised for {run_id}"
