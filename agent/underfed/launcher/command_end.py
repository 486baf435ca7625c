"""What only the launcher knows when a command has ended: that no loader was used, or none that ``--set`` applies to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from underfed.exchange import launch, run_files
from underfed.exchange.config import Config
from underfed.exchange.facts import End, write_facts
from underfed.exchange.guard import Guard
from underfed.host import procfs
from underfed.launcher.command import StartedCommand
from underfed.trainer.recording import Recording, make_place, say
from underfed.trainer.settings.overrides import NOT_YET, OF_ALL
from underfed.trainer.settings.tunable import format_settings
from underfed.trainer.settings.wanted import NOT_FOUND, decode, labelled


def report_end(
    config: Config, command: StartedCommand, status: int, reports: Mapping[str, list[str]], settings: str | None
) -> None:
    """``settings``: what ``--set`` and ``--apply`` want, encoded. The run is also reported to an outer launcher. Raises
    nothing."""
    try:
        begun = reports.get(launch.RECORDING)
        if begun is None:
            begun = [record_without_loader(config, command, status, launch.why_no_loader(reports))]
        for line in unsettled(settings, reports) if launch.RECORDING in reports else ():
            launch.first_rank_only(os.environ, say)(line)
        # A file without content, as on a full disk, still shows that a recording began.
        launch.report(os.environ, launch.RECORDING, *begun[:1])
    except Exception as error:
        Guard().failed("end of the command", error)


def unsettled(settings: str | None, reports: Mapping[str, list[str]]) -> Iterator[str]:
    """Of each loader that settings are for and that was not found: that nothing was set."""
    of_all, wanted = decode(settings) if settings else ({}, ())
    settled = reports.get(launch.SETTLED, [])
    if of_all and OF_ALL not in settled:
        yield f"--set {format_settings(of_all)}: {NOT_YET}, so nothing was set"
    for each in wanted:
        if each.loader not in settled:
            yield f"--set {format_settings(labelled(each.loader, each.settings))}: {NOT_FOUND}, so nothing was set"


def record_without_loader(config: Config, command: StartedCommand, status: int, reason: str) -> str:
    """Record a run with its command, its end and why nothing was measured, through a collector as any other; print one
    line. Returns its id.

    Raises:
        OSError: there is no place to record it.
    """
    recording = Recording(config, make_place(config), "run")
    recording.origin = replace(recording.origin, started_at=command.started_at, origin_ns=command.origin_ns)
    recording.facts = replace(recording.facts, command=command.words, script=None, not_measured={"loader": reason})
    write_facts(recording.directory / run_files.RUN, recording.origin, recording.facts)
    launch.first_rank_only(os.environ, say)(f"run {config.name} at {config.url}/runs/{recording.run_id}: {reason}")
    recording.begin()
    recording.end(end_of(status))
    return recording.run_id


def end_of(status: int) -> End:
    """From an exit status as in ``subprocess``."""
    if status == 0:
        return End("finished", None, 0)
    return End("crashed", procfs.describe_exit(status), status)
