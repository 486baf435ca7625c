"""Python that starts at once: each is forked from a fork server, which has imported torch already.

It is started as any ``python`` is, by whatever command, so also by ``underfed run`` and by ``torchrun``, and is its
``sys.executable`` too. What is started only waits for the process that runs the program, and ends as that ends: it is
not for tests of processes that know each other by their pids, nor of how torch is imported.
"""

from __future__ import annotations

import fcntl
import io
import itertools
import marshal
import os
import runpy
import site
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType

REQUEST_BYTES, MOST_FILES = 1 << 18, 250
FLAGS = ("-u", "-B")
"""Python is started with by ``torchrun`` and by multiprocessing."""

FREE = 500
"""No program has files at this number and above it."""

INTERPRETER = """#!/bin/sh
exec {python} -I -S -c '
import _signal, _socket, array, marshal, posix, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.connect(sys.argv[1])
numbers = [int(name) for name in posix.listdir("/proc/self/fd")]
files = [file for file in numbers if posix.access("/proc/self/fd/%d" % file, posix.F_OK) and file != server.fileno()]
request = marshal.dumps((sys.argv[2:], dict(posix.environ), posix.getcwd(), files))
server.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", files))])
server.recv(64)
status = int(server.recv(64))
if status < 0:
    if -status not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(-status, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -status)
posix._exit(status)
' {socket} "$0" "$@"
"""
"""Hands all of its files over: multiprocessing gives a child the numbers that they have."""


def take_over(asking: socket.socket) -> tuple[dict[int, int], Callable[[], None]]:
    """What somebody wants to have run: its files, by the number that each must have, and what is called with these."""
    request, received, _, _ = socket.recv_fds(asking, REQUEST_BYTES, MOST_FILES)
    (interpreter, *words), environment, directory, numbers = marshal.loads(request)
    files = {}
    for number, file in zip(numbers, received, strict=True):
        files[number] = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, FREE)
        os.close(file)
    return files, partial(run_as_python, interpreter, words, environment, directory)


def run_as_python(interpreter: str, words: Sequence[str], environment: Mapping[bytes, bytes], directory: str) -> None:
    """As ``interpreter words``, in this environment and directory, up to the end of the program."""
    os.chdir(directory)
    os.environb.clear()
    os.environb.update(environment)
    sys.executable = interpreter
    spawn.set_executable(interpreter)
    flags = set(itertools.takewhile(FLAGS.__contains__, words))
    how, *rest = words[len(flags) :]
    if "-u" not in flags:
        buffer_output()
    main = sys.modules["__main__"] = ModuleType("__main__")
    places = os.environ.get("PYTHONPATH", "")
    sys.path[:] = [*(places.split(os.pathsep) if places else []), *INSTALLED]
    sys.modules.pop("sitecustomize", None)  # Debian's, which the fork server has
    site.execsitecustomize()
    if how == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = ["-m", *rest[1:]]
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    if how == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *rest[1:]]
        code = compile(rest[0], "<string>", "exec")
    else:
        script = Path(how)
        sys.path.insert(0, str(script.resolve().parent))
        sys.argv = [how, *rest]
        vars(main)["__file__"] = how
        code = compile(script.read_bytes(), how, "exec")
    exec(code, vars(main))


def buffer_output() -> None:
    """As Python does unless it is configured otherwise: the fork server is."""
    if "PYTHONUNBUFFERED" not in os.environ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(write_through=False)


INSTALLED = [place for place in sys.path if place != str(Path.cwd())]
"""In the fork server, whose directory is the only other place that is on its path."""
