"""Programs that start at once: each is forked from a process that has imported already what such a program imports.

Importing torch takes seconds of CPU time, most of what a test with a real job would cost, and importing a service one.
A job is a process like any other: it has its own arguments, environment, files and exit code, and a parent that
collects it as soon as it ends.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TextIO

from tests.fakes.huge_pages import lay_in_huge_pages

at_exit = atexit.register
"""As it is: tests put another into its module for a while."""

ROOT = Path(__file__).parents[2]
REQUEST_BYTES = 1 << 18
TRAINING = "torch.utils.data"
"""What all trainings import."""


class Job:
    """As ``subprocess.Popen`` with its output in pipes."""

    def __init__(self, status: socket.socket, stdout: TextIO, stderr: TextIO) -> None:
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None
        self._status = status
        self.pid = int(status.recv(64))
        _running.append(self)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._status.recv(64))
            self._status.close()
            _running.remove(self)
        return self.returncode

    def wait(self, timeout: float = 300) -> int:
        """Raises AssertionError: it had to be killed."""
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            self.kill()
            raise AssertionError(f"the job still runs after {timeout:.0f} s")
        self.poll()
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """All of its output that was not read yet, once it has ended."""
        with ThreadPoolExecutor(2) as pool:
            output, errors = pool.submit(self.stdout.read), pool.submit(self.stderr.read)
            self.wait(timeout)
            taken = output.result(timeout), errors.result(timeout)
        self.stdout.close()
        self.stderr.close()
        return taken

    def send_signal(self, number: int) -> None:
        """Nothing happens to one that has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def abandon(self) -> None:
        """End it, whatever it still says."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


_running: list[Job] = []
"""Jobs of this process that nobody saw end."""


@contextmanager
def none_left_by_failures() -> Iterator[None]:
    """What was started within a block that fails ends with it: its pipes would fail the next test, when they are found
    to be open."""
    before = list(_running)
    try:
        yield
    except BaseException:
        for job in [job for job in _running if job not in before]:
            job.abandon()
        raise


def start(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    imported: str = TRAINING,
    errors: TextIO | int = subprocess.PIPE,
) -> Job:
    """``python -m module arguments`` with this environment; the caller waits for it.

    ``imported``: this module is imported already, with all that it imports. ``errors``: a file or its number, or as of
    ``subprocess``: ``PIPE``, or ``STDOUT``, with its output.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = json.dumps([module, list(arguments), dict(environment)]).encode()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe() if errors == subprocess.PIPE else (None, out_write)
    if errors not in (subprocess.PIPE, subprocess.STDOUT):
        err_write = errors if isinstance(errors, int) else errors.fileno()
    socket.send_fds(_control(imported), [request], [theirs.fileno(), out_write, err_write])
    theirs.close()
    os.close(out_write)
    if err_read is None:
        return Job(ours, os.fdopen(out_read), io.StringIO())
    os.close(err_write)
    return Job(ours, os.fdopen(out_read), os.fdopen(err_read))


def _control(imported: str) -> socket.socket:
    """The socket to the fork server, which ends with this process."""
    return _open_forkserver(imported)[0]


@cache
def _open_forkserver(imported: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-u", "-m", __name__, str(theirs.fileno()), imported]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with theirs:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
    at_exit(_close, ours, process)
    return ours, process


def _close(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    # It would end by itself, a second later.
    process.kill()
    process.wait()


def serve(control: socket.socket) -> tuple[str, list[str]] | None:
    """Returns in each job, with its module and arguments; in the fork server when there are no more jobs: ``None``."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, files, _, _ = socket.recv_fds(control, REQUEST_BYTES, 3)
        if not request:
            return None
        if os.fork() == 0:
            control.close()
            return _begin(request, *files)
        for file in files:
            os.close(file)


def _begin(request: bytes, status: int, output: int, errors: int) -> tuple[str, list[str]]:
    """Returns in the job; its parent waits for it, reports how it ended, and ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = os.fork()
    if job != 0:
        os.close(output)
        os.close(errors)
        os.write(status, b"%d" % job)
        os.write(status, b"%d" % os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
        os._exit(0)
    os.close(status)
    for file, place in ((output, 1), (errors, 2)):
        os.dup2(file, place)
        os.close(file)
    module, arguments, environment = json.loads(request)
    os.environ.clear()
    os.environ.update(environment)
    if "PYTHONUNBUFFERED" not in environment and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(write_through=False)
    return module, arguments


def main() -> None:
    gc.disable()  # a fifth of the time that importing torch takes
    import_module(sys.argv[2])
    # The interpreter of a job that ends with an error visits all objects, which copies memory shared since the fork.
    gc.freeze()
    gc.enable()
    lay_in_huge_pages()
    job = serve(socket.socket(fileno=int(sys.argv[1])))
    if job is not None:
        module, arguments = job
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        _end()


def _end() -> None:
    """As the interpreter ends, without the second that destroying torch's modules takes."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
