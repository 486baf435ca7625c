"""A training job that sees another host: other mounts, processes, user, clock; for it and its children only.

``python -m tests.fakes.confined --shm size=1m --user 65534 -- --workers 2`` runs ``tests.fakes.training``, or another
program. Mounts and users need root.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import runpy
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWPID = 0x0002_0000, 0x2000_0000
MS_RDONLY, MS_REC, MS_PRIVATE = 0x1, 0x4000, 0x4_0000
PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 4, 8, 47, 2
CAPABILITY_VERSION, CAP_DAC_READ_SEARCH = 0x2008_0522, 2
SHARED_MEMORY = "/dev/shm"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shm", help="options of the tmpfs to be /dev/shm")
    parser.add_argument("--occupied-by", choices=("directory", "link"), help="what another user created in it before")
    parser.add_argument("--user", type=int, default=0)
    parser.add_argument("--wall-clock-s", type=float, default=0, help="offset of the wall clock")
    parser.add_argument("--python", default=sys.executable, help="interpreter that this process believes to run in")
    parser.add_argument("--try", action="store_true", dest="is_trial", help="only set up the host, without the job")
    parser.add_argument("--first", action="store_true", help="be process 1, as in a container; all ends with it")
    parser.add_argument("--program", default="tests.fakes.training", help="module")
    parser.add_argument("job", nargs="*")
    options = parser.parse_args()
    forget_agent()
    if options.first:
        become_first()
    if options.shm is not None:
        unshare_mounts()
        mount_shared_memory(options.shm)
    if options.occupied_by is not None:
        occupy(options.occupied_by, options.user)
    if options.user:
        become(options.user)
    set_wall_clock(options.wall_clock_s)
    sys.executable = options.python
    if options.is_trial:
        return
    sys.argv = ["training", *options.job]
    runpy.run_module(options.program, run_name="__main__", alter_sys=True)


def forget_agent() -> None:
    """The fork server has imported it: a job does that finds another user, host or system."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "underfed"]:
        del sys.modules[name]


def become_first() -> None:
    """Returns in process 1; this one ends as that does."""
    check(libc.unshare(CLONE_NEWPID))
    first = os.fork()
    if first != 0:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
    unshare_mounts()
    check(libc.mount(b"proc", b"/proc", b"proc", 0, None))


def become(user: int) -> None:
    """Run as this user, who may also read what only root can: this checkout and its Python may be there."""
    os.setgroups([])
    os.setgid(user)
    check(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setuid(user)
    one = 1 << CAP_DAC_READ_SEARCH
    check(libc.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)(one, one, one, 0, 0, 0)))
    check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0))
    check(libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))


def unshare_mounts() -> None:
    check(libc.unshare(CLONE_NEWNS))
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))


def mount_shared_memory(options: str) -> None:
    flags = MS_RDONLY if options == "ro" else 0
    data = b"" if options == "ro" else options.encode()
    check(libc.mount(b"tmpfs", SHARED_MEMORY.encode(), b"tmpfs", flags, data))


def check(result: int) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def occupy(kind: str, user: int) -> None:
    """Create what another user may put in the place of this user's rings: open to all, and not the user's."""
    place = Path(SHARED_MEMORY, f"underfed-{user}")
    trap = Path(SHARED_MEMORY, "trap") if kind == "link" else place
    trap.mkdir()
    trap.chmod(0o777)
    if kind == "link":
        place.symlink_to(trap)


def set_wall_clock(off_s: float) -> None:
    """For this process: collectors do not read it."""
    from underfed.host import clock

    right_ms = clock.wall_clock_ms
    off = timedelta(seconds=off_s)
    if off:
        clock.wall_clock_ms = lambda: right_ms() + int(off_s * 1000)
        clock.wall_clock = lambda: f"{datetime.now(timezone.utc) + off:%Y-%m-%dT%H:%M:%S.%fZ}"


if __name__ == "__main__":
    main()
