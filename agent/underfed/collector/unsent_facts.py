"""The facts of a rank's run and loaders, read from its files, and which of them the service does not have yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from underfed.collector.reading.constructor_call import ConstructorCall, read_call
from underfed.collector.wire import HostPart, RunPart
from underfed.exchange import run_files, switch, tuning
from underfed.exchange.facts import LoaderFacts, RunFacts, SourceLine, TrackerRun, read_facts
from underfed.exchange.parts import read_part
from underfed.exchange.switch import Switch
from underfed.exchange.tuning import TuningFacts
from underfed.host.files import Changes

Complete = Callable[[int, LoaderFacts], LoaderFacts]
"""Adds to a loader's facts what its records showed."""


class UnsentFacts:
    """Files are replaced as a whole when they change."""

    def __init__(self, directory: Path, is_run_sent: bool = False) -> None:
        """``is_run_sent``: an earlier collector sent the run's facts while it ran, when more was known of its host."""
        self._directory = directory
        self._is_run_sent = is_run_sent
        self._changes = Changes(directory)
        self._files: dict[Path, Changes] = {}
        self._run: RunFacts | None = None
        self.loaders: dict[int, LoaderFacts] = {}
        """As last read."""
        self._sent_run: RunPart | None = None
        self._sent_loaders: dict[int, LoaderFacts] = {}
        self._tuning: TuningFacts | None = None
        self._sent_tuning: TuningFacts | None = None
        self.switch: Switch | None = None
        """As last read: what this host reports to the run's others."""
        self._calls: dict[SourceLine, ConstructorCall] = {}

    def name(self, index: int) -> str:
        """As the training process named the loader; one without facts yet is named by its number."""
        facts = self.loaders.get(index)
        return facts.loader if facts is not None else f"loader-{index + 1}"

    def read(self) -> None:
        """Read what changed."""
        if not self._changes.has_changed():
            return
        if self._has_changed(self._directory / run_files.RUN):
            self._run = read_facts(self._directory / run_files.RUN, RunFacts)
        if self._has_changed(self._directory / tuning.FILE):
            self._tuning = read_part(self._directory / tuning.FILE, TuningFacts)
        if self._has_changed(self._directory / switch.FILE):
            self.switch = read_part(self._directory / switch.FILE, Switch)
        for path in self._directory.glob("loader-*.json"):
            found = re.fullmatch(r"loader-(\d+)\.json", path.name)
            if found and self._has_changed(path):
                self.loaders[int(found[1])] = read_facts(path, LoaderFacts)

    def send_again(self) -> None:
        """The service asked for everything."""
        self._is_run_sent = False
        self._sent_run = self._sent_tuning = None
        self._sent_loaders.clear()

    @property
    def has_new_tuning(self) -> bool:
        return self._tuning != self._sent_tuning

    def take_tuning(self) -> list[TuningFacts]:
        """What is new of it. While it waits it is always sent: so the service is asked for candidates."""
        newest = self._tuning
        if newest is None or (newest == self._sent_tuning and newest.status != tuning.WAITING):
            return []
        self._sent_tuning = newest
        return [newest]

    def take(
        self, host: HostPart, complete: Complete, trackers: Sequence[TrackerRun] = ()
    ) -> tuple[RunPart | None, list[LoaderFacts]]:
        """What is new or changed since the last call. The paths that a data set names stay on this host,
        and of the program's source all but the call that constructed the loader."""
        run = RunPart(replace(self._run, trackers=list(trackers) or None), host) if self._run is not None else None
        unsent = run if run != self._sent_run and not self._is_run_sent else None
        self._sent_run = run
        complete_loaders = {
            index: replace(self._with_call(complete(index, facts)), paths=None, source=None)
            for index, facts in sorted(self.loaders.items())
        }
        loaders = [facts for index, facts in complete_loaders.items() if self._sent_loaders.get(index) != facts]
        self._sent_loaders = complete_loaders
        return unsent, loaders

    def _with_call(self, facts: LoaderFacts) -> LoaderFacts:
        """Its source is read once."""
        if facts.source is None:
            return facts
        if facts.source not in self._calls:
            self._calls[facts.source] = read_call(facts.source)
        call = self._calls[facts.source]
        known = replace(facts, constructed_at=call.constructed_at, constructor_call=call.text)
        if call.why_not is None:
            return known
        return replace(known, not_measured={**known.not_measured, "constructor_call": call.why_not})

    def _has_changed(self, path: Path) -> bool:
        """False where the file was removed: what was read remains valid."""
        return self._files.setdefault(path, Changes(path)).has_changed()
