"""Collectors that start at once: each is forked from a process that has imported already what a collector imports.

That is most of what a collector of a short recording costs, and hundreds of tests record. Each is a process like any
other, in a session of its own, with the arguments, environment and log that it was started with. What is started in its
place only waits for it: whoever looks for a collector by its command finds that one. So tests that stop or kill
collectors have them started as in use.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tokenize
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

REQUEST_BYTES = 1 << 18

INTERPRETER = """#!/bin/sh
# Called with: -I -S -c PROGRAM DIRECTORY PLACES
exec {python} -I -S -c '
import _socket, array, marshal, posix, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.connect(sys.argv[1])
log = _socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [2])
server.sendmsg([marshal.dumps((sys.argv[6], dict(posix.environ)))], [log])
server.recv(1)
' {socket} "$@"
"""
"""Ends when its collector does: until then that has the socket open."""


@contextmanager
def ready_collectors(places: Sequence[str]) -> Iterator[str]:
    """The path of what an agent can start as its collectors' Python, until the end of the block.

    ``places``: directories that their packages are imported from.
    """
    with TemporaryDirectory(prefix="underfed-") as directory:
        path, interpreter = Path(directory, "socket"), Path(directory, "python")
        interpreter.write_text(INTERPRETER.format(python=sys.executable, socket=path))
        interpreter.chmod(0o755)
        command = [sys.executable, "-I", "-S", __file__, str(path), *places]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin and server.stdout
        with server, server.stdin:
            server.stdout.readline()
            try:
                yield str(interpreter)
            finally:
                # Workers that a failed test left behind have its standard input open, too.
                server.terminate()


def main(path: str, places: Sequence[str]) -> None:
    """Serve until standard input closes."""
    sys.path += places
    from underfed.collector.__main__ import main as collect

    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # What is shared since the fork is not visited, and so not copied.
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        while sys.stdin not in (ready := select.select([listening, sys.stdin], [], [])[0]):
            assert listening in ready
            started = listening.accept()[0]
            if os.fork() == 0:
                listening.close()
                become(started, collect)
            started.close()


def warm_up() -> None:
    """What each would do once, in a third of its time: import the library of GPUs, compile patterns, and find out what
    facts are made of."""
    with suppress(ImportError):
        import pynvml  # noqa: F401
    from underfed.collector.sampling.host_sampler import host_facts
    from underfed.exchange import facts, parts

    host_facts(os.getpid(), Path("/nowhere"))
    for kind in vars(facts).values():
        if isinstance(kind, type) and is_dataclass(kind):
            parts._inner(kind)
    list(tokenize.generate_tokens(io.StringIO("loader = DataLoader(range(8))\n").readline))


def become(started: socket.socket, collect: Callable[[str], int]) -> None:
    """The process that was to start. Does not return."""
    code = 1
    try:
        request, (log,), _, _ = socket.recv_fds(started, REQUEST_BYTES, 1)
        directory, environment = marshal.loads(request)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setsid()
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for file, number in ((nothing, 0), (nothing, 1), (log, 2)):
            os.dup2(file, number)
        os.environb.clear()
        os.environb.update(environment)
        code = collect(directory)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
