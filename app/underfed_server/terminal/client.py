"""Reads the service's API for the commands, and turns what can go wrong into one sentence each."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from underfed_server.api.admission.owner_token import is_listened_to_by_this_user, read
from underfed_server.errors import UnderfedError
from underfed_server.model import (
    Alert,
    AlertRule,
    Alerts,
    ChannelMade,
    Comparison,
    Diagnosis,
    HotspotsPage,
    Run,
    RunsPage,
    RunSummary,
    Sampled,
    ServiceInfo,
    TokenList,
    TokenMade,
    WorkersPage,
)
from underfed_server.settings import owner_token_path

DEFAULT_URL = "http://127.0.0.1:7077"
TIMEOUT_S = 10.0
MOST_RUNS = 1_000
_RUN_ID = re.compile("[A-Za-z0-9_-]{1,64}")
_SLURM_JOB = re.compile("[0-9]{1,20}")
OF_SLURM = "slurm:"


class ServiceUnreachableError(UnderfedError):
    """Nothing answers at the service's address."""


class RefusedError(UnderfedError):
    """The service answered with an error."""


class RunNotFoundError(UnderfedError):
    """No run has this id, or several begin with it."""


@dataclass(frozen=True, slots=True)
class Client:
    """One service. Every method raises :class:`ServiceUnreachableError` or :class:`RefusedError`."""

    url: str
    token: str | None = None

    def runs(self, **query: str) -> RunsPage:
        return RunsPage.model_validate(self._get("/runs", {"limit": str(MOST_RUNS), **query}))

    def run(self, run_id: str) -> Run:
        return Run.model_validate(self._get(f"/runs/{quote(run_id, safe='')}", {}))

    def diagnosis(self, run_id: str) -> Diagnosis:
        return Diagnosis.model_validate(self._get(f"/runs/{quote(run_id, safe='')}/diagnosis", {}))

    def hotspots(self, run_id: str, loader: str, of: Sampled) -> HotspotsPage:
        query = {"loader": loader, "of": of}
        return HotspotsPage.model_validate(self._get(f"/runs/{quote(run_id, safe='')}/hotspots", query))

    def workers(self, run_id: str) -> WorkersPage:
        return WorkersPage.model_validate(self._get(f"/runs/{quote(run_id, safe='')}/workers", {}))

    def comparison(self, run_ids: Sequence[str]) -> Comparison:
        """The first is the baseline."""
        return Comparison.model_validate(self._get("/compare", {"run_id": list(run_ids)}))

    def find(self, wanted: str) -> RunSummary:
        """The run that ``wanted`` names: an id, a unique beginning of one, ``latest``, or ``slurm:JOBID``, the newest
        of that job of SLURM: it has one for each try and each step.

        Raises:
            RunNotFoundError: none, or more than one.
        """
        if wanted == "latest":
            return _only(self.runs(limit="1").runs, wanted, "there is no run yet")
        if wanted.startswith(OF_SLURM):
            return self._newest_of_slurm(wanted.removeprefix(OF_SLURM))
        return _only(self._beginning(wanted), wanted, f"no run begins with {wanted!r}")

    def _newest_of_slurm(self, job: str) -> RunSummary:
        if not _SLURM_JOB.fullmatch(job):
            raise RunNotFoundError(f"a job of SLURM is named by its number, as in slurm:4711, not {job!r}")
        found = self.runs(q=f"slurm={job}", archived="any", limit="1").runs
        return _only(found, job, f"no run is of SLURM's job {job}")

    def find_deleted(self, wanted: str) -> RunSummary:
        """The deleted run that ``wanted`` names: an id, or a unique beginning of one.

        Raises:
            RunNotFoundError: none that can be restored, or more than one.
        """
        return _only(self._beginning(wanted, deleted="true"), wanted, f"no deleted run begins with {wanted!r}")

    def _beginning(self, wanted: str, **among: str) -> list[RunSummary]:
        """The run of that id, or those whose ids begin so, archived ones too."""
        if not _RUN_ID.fullmatch(wanted):
            return []
        exact = self.runs(q=f"id={wanted}", archived="any", **among).runs
        return exact or [run for run in self.runs(q=f"id:{wanted}", archived="any", **among).runs
                         if run.run_id.startswith(wanted)]  # fmt: skip

    def delete_run(self, run_id: str) -> None:
        self._ask("DELETE", f"/runs/{quote(run_id, safe='')}")

    def restore_run(self, run_id: str) -> None:
        self._ask("POST", f"/runs/{quote(run_id, safe='')}/restore", {})

    def service(self) -> ServiceInfo:
        return ServiceInfo.model_validate(self._get("/service", {}))

    def tokens(self) -> TokenList:
        return TokenList.model_validate(self._get("/tokens", {}))

    def make_token(self, asked: Mapping[str, Any]) -> TokenMade:
        return TokenMade.model_validate(self._ask("POST", "/tokens", asked))

    def revoke_token(self, token_id: str) -> None:
        self._ask("DELETE", f"/tokens/{quote(token_id, safe='')}")

    def alerts(self) -> Alerts:
        return Alerts.model_validate(self._get("/alerts", {}))

    def make_channel(self, asked: Mapping[str, Any]) -> ChannelMade:
        return ChannelMade.model_validate(self._ask("POST", "/alerts/channels", asked))

    def delete_channel(self, channel_id: str) -> None:
        self._ask("DELETE", f"/alerts/channels/{quote(channel_id, safe='')}")

    def test_channel(self, channel_id: str) -> Alert:
        return Alert.model_validate(self._ask("POST", f"/alerts/channels/{quote(channel_id, safe='')}/test", {}))

    def make_alert_rule(self, asked: Mapping[str, Any]) -> AlertRule:
        return AlertRule.model_validate(self._ask("POST", "/alerts/rules", asked))

    def delete_alert_rule(self, rule_id: str) -> None:
        self._ask("DELETE", f"/alerts/rules/{quote(rule_id, safe='')}")

    def alert(self, alert_id: str) -> Alert:
        return Alert.model_validate(self._get(f"/alerts/log/{quote(alert_id, safe='')}", {}))

    def export(self, run_id: str, export_format: str, file: IO[bytes]) -> None:
        """Write what the service sends into ``file``, whose own errors are the caller's."""
        path = f"/runs/{quote(run_id, safe='')}/export?{urlencode({'format': export_format})}"
        with self._asked("GET", path) as answer:
            shutil.copyfileobj(answer, file)

    def _get(self, path: str, query: Mapping[str, str | list[str]]) -> Any:
        return self._ask("GET", path + (f"?{urlencode(query, doseq=True)}" if query else ""))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with self._asked(method, path, body) as answer:
            said = answer.read()
            try:
                return json.loads(said) if said else None
            except ValueError as error:
                message = f"what answers at {self.url} is no Underfed service: its answer is not JSON"
                raise RefusedError(message) from error

    @contextmanager
    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Iterator[HTTPResponse]:
        request = Request(f"{self.url}/api/v1{path}", method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:
                yield answer
        except HTTPError as error:
            raise RefusedError(_message(error)) from error
        except (URLError, ConnectionError, TimeoutError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ServiceUnreachableError(
                f"no service answers at {self.url} ({reason}); start one with `underfed serve`, or set UNDERFED_URL"
            ) from error


def _only(matching: Sequence[RunSummary], wanted: str, none: str) -> RunSummary:
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise RunNotFoundError(none)
    names = ", ".join(run.run_id for run in matching[:5])
    raise RunNotFoundError(f"{len(matching)} runs begin with {wanted!r}: {names}")


def client_from_environment() -> Client:
    url = os.environ.get("UNDERFED_URL", DEFAULT_URL).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ServiceUnreachableError(f"UNDERFED_URL must begin with http:// or https://, not {url!r}")
    return Client(url, os.environ.get("UNDERFED_TOKEN") or owner_token_for(url))


def owner_token_for(url: str) -> str | None:
    """The token of this user's own open service, where that is what listens at ``url``; ``None``: it is not."""
    parts = urlsplit(url)
    is_here = parts.hostname in ("127.0.0.1", "localhost", "::1")
    return read(owner_token_path()) if is_here and is_listened_to_by_this_user(parts.port or 80) else None


def _message(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered {error.code} {error.reason}"
