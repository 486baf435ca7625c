"""The image of the service, built without a daemon by Debian's buildah, and started as its user.

No registry of images is asked: what the Dockerfile begins from are Debian's releases with the same Python, and with a
Node.js that Vite accepts, under the names that it gives them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.app.listening import free_port
from tests.release.conftest import copied, run, unpack
from tests.release.serving import assert_it_is_ready
from tests.soak.debian import MIRROR

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3_600)]

NEEDED = ("buildah", "mmdebstrap")
BASES = {
    "docker.io/library/node:22-slim": ("trixie", "nodejs,npm,ca-certificates"),
    "docker.io/library/python:3.11-slim": ("bookworm", "python3-venv,python-is-python3,ca-certificates,passwd"),
}
CERTIFICATES = "/etc/ssl/certs"
"""This machine's, so that indexes are reached from within as from here."""


class Builder:
    """buildah, with a storage of its own."""

    def __init__(self, place: Path) -> None:
        self.command = ["buildah", "--root", f"{place}/root", "--runroot", f"{place}/run", "--storage-driver", "vfs"]

    def __call__(self, *words: str | Path, cwd: Path = Path("/"), within: tuple[str, ...] = ()) -> str:
        """``within``: a command that it is started by."""
        return run(*within, *self.command, *words, cwd=cwd, BUILDAH_ISOLATION="chroot").strip()


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        pytest.skip("needs root and apt")
    if any(shutil.which(tool) is None for tool in NEEDED):
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *NEEDED)
    with TemporaryDirectory(prefix="underfed-image-") as place:
        yield Builder(Path(place))


@pytest.fixture(scope="module")
def bases(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name, (release, packages) in BASES.items():
        archive = tmp_path_factory.mktemp("base") / f"{release}.tar"
        options = ['--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Check-Valid-Until "false"']
        unpack = ["unshare", "--mount", "mmdebstrap", "--variant=minbase", f"--include={packages}"]
        run(*unpack, *options, release, archive, MIRROR)
        container = builder("from", "scratch")
        builder("add", container, archive, "/")
        builder("commit", "--rm", container, name)
        archive.unlink()


@pytest.fixture(scope="module")
def image(builder: Builder, bases: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    tree = copied(tmp_path_factory.mktemp("image") / "tree")
    settings = ["--format=docker", "--pull-never", f"--volume={CERTIFICATES}:{CERTIFICATES}:ro"]
    builder("build", *settings, "--tag=underfed", ".", cwd=tree)
    return "underfed"


def test_the_image_runs_the_service_as_its_own_user(builder: Builder, image: str) -> None:
    assert_it_runs(builder, image)


def test_the_bundle_becomes_the_same_image_where_there_is_no_network(
    builder: Builder, bases: None, bundle: Path, tmp_path: Path
) -> None:
    unpack(bundle, tmp_path)
    settings = ["--format=docker", "--pull-never", "--tag=underfed-offline"]
    builder("build", *settings, ".", cwd=tmp_path / "underfed-offline", within=("unshare", "--net"))
    assert_it_runs(builder, "underfed-offline")


def assert_it_runs(builder: Builder, image: str) -> None:
    described = json.loads(builder("inspect", "--type=image", image))["Docker"]["config"]
    assert described["User"] == "10001:10001"
    assert described["Entrypoint"] == ["underfed", "serve"]
    assert described["Healthcheck"]["Test"][0] == "CMD"
    container = builder("from", "--pull-never", image)
    port = str(free_port())
    command = [*described["Entrypoint"], "--host", "127.0.0.1", "--port", port]
    within = [*builder.command, "run", "--isolation=chroot", container, "--", *command]
    served = subprocess.Popen(within, start_new_session=True)
    try:
        assert_it_is_ready(int(port), served)
        assert builder("run", "--isolation=chroot", container, "--", "id", "-u") == "10001"
    finally:
        os.killpg(served.pid, signal.SIGTERM)
        served.wait(60)
