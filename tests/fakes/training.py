"""A training job: a plain loop over a watched loader that ends in one of several ways and prints what it saw.

``python -m tests.fakes.training --workers 2 --end raise``; with ``UNDERFED_DISABLED=1`` the same job bare.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from torch import Tensor
from torch.utils.data import DataLoader, get_worker_info

import underfed
from tests.fakes.datasets import Failing, Numbers
from tests.fakes.service import PATIENCE_S
from underfed.trainer import recording

LENGTH = 40


class Dying(Numbers):
    """Its worker is killed while it loads one sample, as the kernel does when memory runs out: once a file is there."""

    def __init__(self, length: int, after: Path | None) -> None:
        super().__init__(length)
        self.after = after

    def __getitem__(self, index: int) -> Tensor:
        if index == 17 and get_worker_info() is not None:
            wait_for(self.after)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--work-ms", type=float, default=1.0)
    parser.add_argument("--sample-ms", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--length", type=int, default=LENGTH)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--end", default="normally")
    parser.add_argument("--at", type=int, default=3, help="the batch of the first epoch after which it ends")
    parser.add_argument(
        "--wait-for", type=Path, help="after that batch, and before it ends so: until this file is there"
    )
    parser.add_argument("--wait-from", type=int, default=0, help="in this epoch and later ones")
    parser.add_argument("--child", default="none")
    parser.add_argument("--patient", action="store_true", help="waits for its collector however long that takes")
    options = parser.parse_args()
    if options.patient:
        recording.DRAIN_S = PATIENCE_S
    loader = underfed.watch(make_loader(options), name="train")
    for epoch in range(options.epochs):
        for number, batch in enumerate(loader):
            print(epoch, number, batch[:, 0].tolist(), flush=True)
            time.sleep(options.work_ms / 1000)
            if number == options.at:
                CHILDREN[options.child]()
                if epoch >= options.wait_from:
                    wait_for(options.wait_for)
                if options.end == "break":
                    break
                ENDS.get(options.end, go_on)()


def make_loader(options: argparse.Namespace) -> DataLoader[Tensor]:
    if options.end == "loader raises":
        return DataLoader(Failing(options.length, bad=17), batch_size=options.batch, num_workers=options.workers)
    dataset = (
        Dying(options.length, options.wait_for)
        if options.end == "worker dies"
        else Numbers(options.length, options.sample_ms / 1000)
    )
    return DataLoader(dataset, batch_size=options.batch, num_workers=options.workers)


def wait_for(file: Path | None) -> None:
    while file is not None and not file.exists():
        time.sleep(0.01)


def go_on() -> None:
    pass


def fail() -> None:
    raise ValueError("the loss is not a number")


def signal_me(which: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), which)


def touch_nothing() -> None:
    ctypes.string_at(0)


def exit_after_a_traceback() -> None:
    """As Hydra does: it catches what the program raises, prints it, and exits."""
    try:
        fail()
    except ValueError:
        traceback.print_exc()
        sys.exit(1)


def exit_well_after_an_error() -> None:
    """What is printed by the excepthook need not be what the program ends by."""
    sys.last_exc = sys.last_value = ValueError("earlier")  # type: ignore[attr-defined]
    sys.exit(0)


def at_exit(then: Callable[[], object]) -> Callable[[], None]:
    """Registered before us, it runs after us."""

    def end() -> None:
        LAST.append(then)
        sys.exit(0)

    return end


LAST: list[Callable[[], object]] = []


@atexit.register
def _last() -> None:
    for then in LAST:
        then()


def leave_a_thread() -> None:
    thread = threading.Thread(target=sys.exit, args=(4,))
    thread.start()
    thread.join()


ENDS: dict[str, Callable[[], object]] = {
    "raise": fail,
    "exit 3": lambda: sys.exit(3),
    "exit after a traceback": exit_after_a_traceback,
    "exit with words": lambda: sys.exit("out of patience"),
    "exit 0 after an error": exit_well_after_an_error,
    "fail at exit": at_exit(fail),
    "leave at exit": at_exit(lambda: os._exit(6)),
    "die at exit": at_exit(signal_me(signal.SIGKILL)),
    "leave": lambda: os._exit(5),
    "leave well": lambda: os._exit(0),
    "thread leaves": leave_a_thread,
    "interrupt": signal_me(signal.SIGINT),
    "kill": signal_me(signal.SIGKILL),
    "terminate": signal_me(signal.SIGTERM),
    "fault": touch_nothing,
}


def fork_one() -> None:
    """End as a program does, with all of its exit handlers."""
    child = os.fork()
    if child == 0:
        list(DataLoader(Numbers(8)))
        sys.exit(0)
    os.waitpid(child, 0)


def fork_many() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(abs, range(8))


def start_program() -> None:
    subprocess.run([sys.executable, "-c", "print('a program')"], check=True, stdout=subprocess.DEVNULL)


CHILDREN: dict[str, Callable[[], None]] = {
    "none": go_on,
    "fork": fork_one,
    "pool": fork_many,
    "program": start_program,
}


if __name__ == "__main__":
    main()
