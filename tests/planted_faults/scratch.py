"""A copy of the repository in which faults are planted: the tree that somebody works in is never touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.planted_faults.fault import ROOT, Fault

SHARED = ("frontend/node_modules", "app/underfed_server/static")
"""What was installed or built, and no test changes: linked, not copied."""


class Scratch:
    """With an environment of its own, in which ``underfed`` is the copy and all else is what is installed here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = root / ".venv/bin/python"
        self._planted = 0
        for name in _files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
        for shared in SHARED:
            if (ROOT / shared).exists():
                (root / shared).symlink_to(ROOT / shared)
        self._make_environment()

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        path = self.root / fault.file
        sound, before = path.read_text(), path.stat()
        self._planted += 1
        path.write_text(sound.replace(fault.old, fault.new))
        # Python recognises compiled code by seconds and size: two faults in one file must not look alike.
        os.utime(path, (before.st_atime, before.st_mtime + self._planted))
        try:
            yield
        finally:
            path.write_text(sound)
            os.utime(path, (before.st_atime, before.st_mtime))

    def _make_environment(self) -> None:
        home = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        places = [self.root / "agent", self.root / "app", sysconfig.get_path("purelib")]
        (site,) = home.glob("lib/python*/site-packages")
        (site / "scratch.pth").write_text("".join(f"{place}\n" for place in places))
        ours = f"#!{sys.executable}\n"
        for script in Path(sysconfig.get_path("scripts")).iterdir():
            copy = home / "bin" / script.name
            if not copy.exists() and script.read_bytes().startswith(ours.encode()):
                copy.write_text(script.read_text().replace(ours, f"#!{self.python}\n"))
                copy.chmod(0o755)


@contextmanager
def scratch_copy() -> Iterator[Scratch]:
    with tempfile.TemporaryDirectory(prefix="underfed-faults-") as directory:
        yield Scratch(Path(directory))


def _files() -> list[str]:
    """All that is under version control, as it is now, and what is new."""
    words = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
