"""``underfed demo``: a training job that waits for its data, its verdict, the advised change, and what that gained."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.status import Status

from underfed.exchange.config import data_directory
from underfed.host.calibration import calibrate
from underfed_server import figures
from underfed_server.demo.processes import last_lines, python, running, wait_for_collector
from underfed_server.errors import UnderfedError
from underfed_server.model import Advice, Diagnosis, Setting
from underfed_server.settings import data_dir
from underfed_server.terminal.client import Client, RefusedError, ServiceUnreachableError
from underfed_server.terminal.rendering import render_diagnosis

PROJECT, NAME = "demo", "photographs"
TRAINING_SCRIPT = Path(__file__).with_name("train.py")
START_S = 30.0
SECONDS, SECONDS_TO_TUNE = 25.0, 60.0
"""To train by default. A job that tunes itself is judged first, tries settings, and then shows what that gained."""

SETTLE_S = 20.0
"""The last windows of an ended training job are sent and judged well within this."""
POLL_S = 0.5
INTERRUPTED = 130


class DemoError(UnderfedError):
    """The demo cannot go on; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What each part of the demo uses: its directory, its service, its terminal, and how long it trains."""

    directory: Path
    client: Client
    console: Console
    seconds: float
    tune: bool = False


def demo(argv: Sequence[str]) -> int:
    """Train a job that waits for its data on real photographs, diagnose it, apply the advice, train again."""
    arguments = _parse(argv)
    console = Console(highlight=False)
    with _interruptible():
        try:
            return _run(arguments, console)
        except UnderfedError as error:
            console.print(f"underfed demo: {error}", style="bold", markup=False)
            return 1
        except KeyboardInterrupt:
            console.print("Interrupted: the training job and the service have ended.")
            return INTERRUPTED


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="underfed demo", description=demo.__doc__)
    parser.add_argument("--port", type=int, default=7077, help="of the service and its page (default 7077)")
    parser.add_argument("--seconds", type=float, help="to train each time (default 25; with --tune 60)")
    parser.add_argument("--tune", action="store_true", help="train once, and let the job tune itself meanwhile")
    parser.add_argument("--once", action="store_true", help="end when both jobs are done, with exit code 0")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    arguments = parser.parse_args(argv)
    if arguments.seconds is None:
        arguments.seconds = SECONDS_TO_TUNE if arguments.tune else SECONDS
    if not 1 <= arguments.port <= 65_535:
        parser.error(f"--port must be between 1 and 65535, not {arguments.port}")
    if not 5 <= arguments.seconds <= 3_600:
        parser.error(f"--seconds must be between 5 and 3600, not {arguments.seconds:g}")
    return arguments


def _run(arguments: argparse.Namespace, console: Console) -> int:
    _require_packages()
    _require_free(arguments.port)
    directory = data_dir() / "demo"
    directory.mkdir(parents=True, exist_ok=True)
    client = Client(f"http://127.0.0.1:{arguments.port}", os.environ.get("UNDERFED_TOKEN"))
    setup = Setup(directory, client, console, arguments.seconds, arguments.tune)
    with running(_service_command(setup, arguments.port), {}, directory / "service.log") as service:
        _wait_until_up(setup, service)
        console.print(f"Page      [bold]{client.url}[/bold]")
        if (link := owner_link(directory / "service.log")) is not None:
            console.print(f"Owner     {link}", soft_wrap=True)
            console.print("          The page by this link, once, may also archive, tag and delete runs.")
        if not (arguments.no_browser or arguments.once):
            webbrowser.open(client.url)
        _prepare(setup)
        if arguments.tune:
            _train_tuned(setup)
        else:
            _train_twice(setup)
        if not arguments.once:
            console.print(f"\nThe service keeps running at [bold]{client.url}[/bold]; Ctrl-C ends it.")
            service.wait()
    return 0


def owner_link(log: Path) -> str | None:
    """The link that the service printed last; ``None``: everybody needs a token."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("Underfed ", "Owner "))]
    return lines[-1].split()[1] if lines and lines[-1].startswith("Owner ") else None


def _prepare(setup: Setup) -> None:
    # Pillow may be missing, which is said before this is reached.
    from underfed_server.demo.photographs import photograph_files

    with setup.console.status("Writing the photographs and measuring the cores, once on this machine") as status:
        files = photograph_files(setup.directory)
        calibrate(data_directory(os.environ))
        status.update("")
    setup.console.print(f"Data      {len(files)} JPEG photographs in {setup.directory}\n")


def _train_tuned(setup: Setup) -> None:
    setup.console.rule("One run, which tunes itself: it begins with num_workers=0", align="left")
    found = _train(setup, {"num_workers": 0})
    setup.console.print(render_diagnosis(found))
    tuning = found.tuning
    if tuning is None or tuning.status != "kept":
        why = (tuning.reason if tuning else None) or "it trained for too short a time"
        setup.console.print(f"\n[bold]No other setting was kept.[/bold] {why[0].upper()}{why[1:]}.")
        if tuning is None or tuning.status == "ended":
            setup.console.print(f"Give it more time: underfed demo --tune --seconds {3 * setup.seconds:.0f}")
    else:
        setup.console.print(f"\n[bold]{figures.factor(tuning.speedup)} as fast, measured while it trained.[/bold]")
    setup.console.print(f"  {setup.client.url}/runs/{found.run_id}")


def _train_twice(setup: Setup) -> None:
    setup.console.rule("First run: the loader as it often is, num_workers=0", align="left")
    before = _train(setup, {"num_workers": 0})
    setup.console.print(render_diagnosis(before))
    advice = next((one for one in before.advice if one.change == "num_workers"), None)
    if before.bound == "unknown":
        longer = f"underfed demo --seconds {3 * setup.seconds:.0f}"
        setup.console.print(f"\nWithout a verdict there is nothing to try. Give it more time: {longer}")
        return
    if advice is None:
        setup.console.print("\nNo change of the loader would help on this machine, so there is nothing to try.")
        return
    setup.console.print()
    setup.console.rule(f"Second run: the same job with the advised {_settings(advice)}", align="left")
    after = _train(setup, advice.settings)
    setup.console.print(render_diagnosis(after))
    _print_outcome(setup, before, after)


def _train(setup: Setup, settings: Mapping[str, Setting]) -> Diagnosis:
    run_id = f"{NAME}-{uuid4().hex[:8]}"
    environment = {
        "UNDERFED_URL": setup.client.url,
        "UNDERFED_DIR": str(data_dir()),
        "UNDERFED_PROJECT": PROJECT,
        "UNDERFED_NAME": NAME,
        "UNDERFED_RUN_ID": run_id,
    }
    log = setup.directory / f"{run_id}.log"
    with running(_training_command(setup, settings), environment, log) as job:
        _follow(setup, job, run_id)
    wait_for_collector(run_id)
    if job.returncode:
        raise DemoError(f"the training job ended with exit code {job.returncode}:\n{last_lines(log)}")
    log.unlink()
    return _final_diagnosis(setup, run_id)


def _follow(setup: Setup, job: subprocess.Popen[bytes], run_id: str) -> None:
    """Show the verdict so far while the job trains."""
    with setup.console.status("Training: starting") as status:
        while job.poll() is None:
            _show_progress(setup, status, run_id)
            time.sleep(POLL_S)


def _show_progress(setup: Setup, status: Status, run_id: str) -> None:
    try:
        seen = setup.client.diagnosis(run_id)
    except RefusedError:
        return
    verdict = seen.sentence if seen.bound != "unknown" else f"measuring, {seen.reason}"
    tuning = f" Tuning: {seen.tuning.status_label}." if seen.tuning else ""
    status.update(f"Training: step {seen.steps}. {verdict}{tuning}")


def _final_diagnosis(setup: Setup, run_id: str) -> Diagnosis:
    """The verdict on the whole run, once its end was seen and judged."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        seen = setup.client.diagnosis(run_id)
        if seen.judged_at and seen.status != "running":
            return seen
        time.sleep(POLL_S)
    raise DemoError(f"run {run_id} was not judged within {SETTLE_S:.0f} s; see {setup.directory / 'service.log'}")


def _print_outcome(setup: Setup, before: Diagnosis, after: Diagnosis) -> None:
    entry = next((one for one in after.ledger if one.advice_of == before.run_id), None)
    if entry is None or entry.observed_speedup is None:
        why = entry.why_not if entry and entry.why_not else "it does not carry the advice"
        raise DemoError(f"the second run could not be compared with the first: {why}")
    predicted, observed = figures.factor(entry.predicted_speedup), figures.factor(entry.observed_speedup)
    outside = " That is outside the predicted interval." if entry.inside_interval is False else ""
    setup.console.print(f"\n[bold]Predicted {predicted}, observed {observed}.{outside}[/bold]")
    for word, diagnosis in (("before", before), ("after", after)):
        setup.console.print(f"  {word:<7} {setup.client.url}/runs/{diagnosis.run_id}")


def _settings(advice: Advice) -> str:
    return ", ".join(f"{name}={value}" for name, value in advice.settings.items())


def _service_command(setup: Setup, port: int) -> list[str]:
    database = setup.directory / "underfed.db"
    return python("underfed_server", "--port", str(port), "--db", f"sqlite:///{database}")


def _training_command(setup: Setup, settings: Mapping[str, Setting]) -> list[str]:
    command = python(str(TRAINING_SCRIPT), "--data", str(setup.directory), "--seconds", str(setup.seconds))
    command += ["--num-workers", str(settings["num_workers"])]
    if settings["num_workers"] and settings.get("prefetch_factor"):
        command += ["--prefetch-factor", str(settings["prefetch_factor"])]
    return [*command, "--tune"] if setup.tune else command


def _wait_until_up(setup: Setup, service: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if service.poll() is not None:
            raise DemoError(f"the service did not start:\n{last_lines(setup.directory / 'service.log')}")
        try:
            setup.client.runs()
        except ServiceUnreachableError:
            time.sleep(0.1)
        else:
            return
    raise DemoError(f"the service did not answer within {START_S:.0f} s; see {setup.directory / 'service.log'}")


def _require_packages() -> None:
    """Raises:
    DemoError: what only the demo needs is not installed.
    """
    missing = [name for module, name in (("torch", "PyTorch"), ("PIL", "Pillow")) if find_spec(module) is None]
    if missing:
        raise DemoError(f"{' and '.join(missing)} missing here; `pip install 'underfed[demo]'` brings what it needs")


def _require_free(port: int) -> None:
    """Raises:
    DemoError: something listens there already.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise DemoError(f"port {port} is in use ({error.strerror}); choose another with --port") from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM and a closed terminal end the demo as Ctrl-C does: in order, with nothing left running."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    signals = [signal.SIGTERM] + ([signal.SIGHUP] if sys.platform != "win32" else [])
    previous = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
