"""Debian's Python with Debian's PyTorch, which is built for the CPU, of several releases: each in a tree of its own.
Our tests of the agent run there, and PyTorch's own of the DataLoader, without and with the agent.

Needs root on a Linux with apt, and installs mmdebstrap there. A release is 0.4 GB to fetch and 1.2 GB on disk.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.pytorch_source import try_its_tests
from tests.soak.trying import FIND_THE_AGENT, INSTALL, NEEDED, ROOT, Outcome, not_had, run, try_with

MIRROR = os.environ.get("UNDERFED_DEBIAN_MIRROR", "http://deb.debian.org/debian")
RELEASES = ("trixie", "forky")
"""Debian 13 (Python 3.13, torch 2.6) and what will be 14 (2026-11: Python 3.14, torch 2.14)."""

INTO = """
set -e
cd "$1"
mkdir -p etc/ssl src
cp -L /etc/resolv.conf etc/resolv.conf
mount --rbind /proc proc; mount --rbind /sys sys; mount --rbind /dev dev; mount --rbind /etc/ssl etc/ssl
mount --bind "$2" src
shift 2
export HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec chroot . /usr/bin/env -u PYTHONPATH sh -c 'cd /src && exec "$@"' sh "$@"
"""
"""Its mounts are seen by nothing else, and end with it."""


def why_not_here() -> str | None:
    """``None``: it can be done here; mmdebstrap is installed for it where it is missing."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "needs root on Linux"
    if shutil.which("mmdebstrap") is None and shutil.which("apt-get") is not None:
        run(["apt-get", "update", "-qq"])
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "mmdebstrap"])
    return None if shutil.which("mmdebstrap") else "mmdebstrap is not installed"


def try_on(release: str) -> Outcome:
    if why_not := why_not_here():
        return Outcome(f"not had: {why_not}")
    with TemporaryDirectory(prefix="underfed-soak-") as directory:
        tree = str(Path(directory) / release)
        # A mirror may be weeks behind: what it holds is signed all the same.
        options = ['--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Check-Valid-Until "false"']
        packages = "--include=python3-torch,python3-venv"
        # What it mounts in the tree while it unpacks ends with it, however it ends, before the tree is removed.
        unpack = ["unshare", "--mount", "mmdebstrap", "--variant=essential"]
        made = run([*unpack, packages, *options, release, tree, MIRROR])
        if made.returncode != 0:
            return not_had(made)
        inside = ["unshare", "--mount", "sh", "-c", INTO, "sh", tree, str(ROOT)]
        python = [*inside, "/opt/tests/bin/python"]
        steps = (
            [*inside, "python3", "-m", "venv", "--system-site-packages", "/opt/tests"],
            [*python, *INSTALL, "--upgrade", *NEEDED],
            [*python, "-c", FIND_THE_AGENT, "/src/agent"],
        )
        ours = try_with(python, steps)
        if not ours.is_tried:
            return ours
        its_own = try_its_tests(python, Path(tree), release, MIRROR)
        return Outcome(f"{ours.said}; {its_own.said}", is_red=ours.is_red or its_own.is_red)
