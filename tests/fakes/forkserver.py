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
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from multiprocessing import spawn
from pathlib import Path
from typing import TextIO

from tests.fakes import ready_python
from tests.fakes.huge_pages import lay_in_huge_pages

at_exit = atexit.register
"""As it is: tests put another into its module for a while."""

ROOT = Path(__file__).parents[2]
REQUEST_BYTES = 1 << 18
TRAINING = "tests.fakes.imported_training"
"""Of all trainings."""


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


def python(imported: str = TRAINING) -> str:
    """The path of a ready Python, see ``ready_python``, with this module imported."""
    return str(_open_forkserver(imported).directory / "python")


@contextmanager
def ready_spawn() -> Iterator[None]:
    """What multiprocessing spawns here is a ready Python, where how torch is imported does not matter."""
    before = spawn.get_executable()
    spawn.set_executable(python())
    try:
        yield
    finally:
        spawn.set_executable(before)


def _control(imported: str) -> socket.socket:
    return _open_forkserver(imported).control


@dataclass(frozen=True, slots=True)
class ForkServer:
    """Ends with this process."""

    control: socket.socket
    process: subprocess.Popen[bytes]
    directory: Path
    """Of its ready Python."""

    def close(self) -> None:
        self.control.close()
        # It would end by itself, a second later.
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory)


@cache
def _open_forkserver(imported: str) -> ForkServer:
    directory = Path(tempfile.mkdtemp(prefix="ready-"))
    path, interpreter = directory / "socket", directory / "python"
    interpreter.write_text(ready_python.INTERPRETER.format(python=sys.executable, socket=path))
    interpreter.chmod(0o755)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, listening:
        listening.bind(str(path))
        listening.listen(64)
        files = theirs.fileno(), listening.fileno()
        command = [sys.executable, "-u", "-m", __name__, *map(str, files), imported]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=files, stdin=subprocess.DEVNULL)
    server = ForkServer(ours, process, directory)
    at_exit(server.close)
    return server


def serve(control: socket.socket, listening: socket.socket) -> Callable[[], None] | None:
    """Returns in each job, with what that does; in the fork server when there are no more jobs: ``None``."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asked = select.select([control, listening], [], [])[0]
        if listening in asked:
            asking = listening.accept()[0]
            if os.fork() == 0:
                control.close()
                listening.close()
                files, program = ready_python.take_over(asking)
                return _begin(asking.detach(), files, program)
            asking.close()
        if control in asked:
            request, given, _, _ = socket.recv_fds(control, REQUEST_BYTES, 3)
            if not request:
                return None
            if os.fork() == 0:
                control.close()
                listening.close()
                module, arguments, environment = json.loads(request)
                status, output, errors = given
                return _begin(status, {1: output, 2: errors}, partial(_run_module, module, arguments, environment))
            for file in given:
                os.close(file)


def _begin(status: int, files: Mapping[int, int], program: Callable[[], None]) -> Callable[[], None]:
    """Returns in the job, which has each of these files at its number; its parent waits for it, reports how it ended,
    and ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = os.fork()
    if job != 0:
        for file in files.values():
            os.close(file)
        with suppress(BrokenPipeError):  # who asked is gone
            os.write(status, b"%d" % job)
            os.write(status, b"%d" % os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
        os._exit(0)
    os.close(status)
    for number, file in files.items():
        os.dup2(file, number)
        os.close(file)
    return program


def _run_module(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    ready_python.buffer_output()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def main() -> None:
    gc.disable()  # a fifth of the time that importing torch takes
    import_module(sys.argv[3])
    # The interpreter of a job that ends with an error visits all objects, which copies memory shared since the fork.
    gc.freeze()
    gc.enable()
    lay_in_huge_pages()
    control, listening = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    run = serve(control, listening)
    if run is not None:
        wait_for_threads = threading._shutdown  # type: ignore[attr-defined]
        try:
            run()
        except BaseException as error:
            # The interpreter says what it ends by, and then calls this, before all else.
            threading._shutdown = partial(_end, wait_for_threads, status_of(error))  # type: ignore[attr-defined]
            raise
        _end(wait_for_threads, 0)


def status_of(error: BaseException) -> int:
    """Of a program that ends by it; negative: by that signal."""
    if isinstance(error, KeyboardInterrupt):
        return -signal.SIGINT
    if not isinstance(error, SystemExit):
        return 1
    return error.code if isinstance(error.code, int) else int(error.code is not None)


def _end(wait_for_threads: Callable[[], None], status: int) -> None:
    """As the interpreter ends, without the quarter of a second that destroying torch's modules takes."""
    wait_for_threads()
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        if not file.closed:
            file.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
