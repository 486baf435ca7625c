"""The agent and its peers, each as something that can be switched on and off around one live iterator."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from benchmarks.overhead.pairs import Draw
from tests.fakes.service import wait_until


class Switch:
    """When off, torch's code is restored; sessions are kept."""

    def __init__(self) -> None:
        from underfed.trainer import control
        from underfed.trainer.splice import Spliced

        hooks = control._state.hooks
        assert hooks is not None
        self.spliced = [change for change in hooks._changes if isinstance(change, Spliced)]

    def on(self) -> None:
        for each in self.spliced:
            each.function.__code__ = each.code

    def off(self) -> None:
        for each in self.spliced:
            each.undo()


class Agent:
    """Watched while its blocks run."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        import underfed
        from underfed.trainer.hooks.session import KEY

        self.iterator: Any = iter(underfed.watch(loader, name="train"))
        self.session = getattr(self.iterator, KEY)
        self.switch = Switch()
        self.end()

    def begin(self) -> Draw:
        self.switch.on()
        # What arrived meanwhile was not recorded.
        self.session.received_ns = 0
        if self.session.qsize is not None:
            early = sum(len(task) == 2 for task in self.iterator._task_info.values())
            self.session.arrived = self.iterator._num_yielded + early
        iterator = self.iterator
        return lambda: next(iterator)

    def end(self) -> None:
        self.switch.off()


class Tqdm:
    """A bar around the loader that writes to a null device."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        from tqdm import tqdm

        self.iterator: Any = iter(loader)
        self.bar: Iterator[Any] = iter(tqdm(self.iterator, file=Path(os.devnull).open("w")))  # noqa: SIM115

    def begin(self) -> Draw:
        bar = self.bar
        return lambda: next(bar)

    def end(self) -> None:
        pass


class TorchProfiler:
    """CPU activity, every step of a block active; writing the trace at its end is not counted."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.iterator: Any = iter(loader)
        self.profiler: torch.profiler.profile | None = None

    def begin(self) -> Draw:
        from torch.profiler import ProfilerActivity, profile, schedule

        self.profiler = profiler = profile(
            activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=0, active=1 << 30)
        )
        profiler.start()
        iterator = self.iterator

        def draw() -> None:
            next(iterator)
            profiler.step()

        return draw

    def end(self) -> None:
        if self.profiler is not None:
            self.profiler.stop()


class TraceML:
    """``wrap_dataloader_fetch`` and ``trace_step`` with its aggregator running: its cheapest use, since the automatic
    mode also patches modules, ``backward``, ``Tensor.to`` and optimizers.

    Its queue holds 2,048 steps: it is drained often enough to lose none, outside the measurement.
    """

    INTERVAL_S = 0.1

    def __init__(self, loader: DataLoader[Any]) -> None:
        import traceml_ai as traceml

        self.iterator: Any = iter(loader)
        port, logs = _free_port(), tempfile.mkdtemp()
        _serve(port, logs)
        traceml.init(
            mode="manual",
            interval=self.INTERVAL_S,
            logs_dir=logs,
            session_id="bench",
            aggregator_port=port,
            on_missing_aggregator="raise",
        )
        self.trace_step = traceml.trace_step
        self.wrapped = traceml.wrap_dataloader_fetch(self.iterator)
        self.model = torch.nn.Linear(2, 2)

    def begin(self) -> Draw:
        wrapped, trace_step, model = self.wrapped, self.trace_step, self.model

        def draw() -> None:
            next(wrapped)
            with trace_step(model):
                pass

        return draw

    def end(self) -> None:
        pass


VARIANTS: dict[str, Callable[[DataLoader[Any]], Any]] = {
    "underfed": Agent,
    "tqdm": Tqdm,
    "torch.profiler": TorchProfiler,
    "TraceML": TraceML,
}

_MODULES = {"tqdm": "tqdm", "TraceML": "traceml_ai"}
"""Of peers that may not be there."""


def is_installed(variant: str) -> bool:
    return variant not in _MODULES or find_spec(_MODULES[variant]) is not None


def _serve(port: int, logs: str) -> None:
    """TraceML's aggregator, until this process ends."""
    command = [sys.executable, "-m", "traceml_ai.launcher.cli", "serve", "--mode", "summary"]
    options = ["--logs-dir", logs, "--run-name", "bench", "--aggregator-port", str(port)]
    server = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(server.kill)
    wait_until(lambda: _answers(port), "TraceML's aggregator answers")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
    except OSError:
        time.sleep(0.1)
        return False
    return True


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
