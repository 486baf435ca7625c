"""What is published: built twice the same, accepted by an index's check, installed in each way that the docs name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release.conftest import release, run, unpack
from tests.release.serving import assert_it_serves
from tests.soak.trying import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]


def test_built_again_elsewhere_by_somebody_else_it_has_the_same_bytes(built: Path, tools: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        again = release(tmp_path / "of somebody else", tools, {"TZ": "Asia/Tokyo", "LC_ALL": "C"})
    finally:
        os.umask(before)
    sums = (built / "SHA256SUMS").read_text()
    assert (again / "SHA256SUMS").read_text() == sums
    assert len(sums.splitlines()) == 4


def test_the_bills_name_what_the_service_installs_and_what_the_page_is_of(built: Path) -> None:
    parts = {}
    for side in ("python", "page"):
        bill = json.loads(next(built.glob(f"*-{side}.cdx.json")).read_text())
        assert bill["bomFormat"] == "CycloneDX"
        parts[side] = {part["name"].lower(): part for part in bill["components"]}
    assert {"underfed", "fastapi", "psutil", "nvidia-ml-py", "pyarrow", "psycopg"} <= parts["python"].keys()
    assert {"preact", "vite"} <= parts["page"].keys()
    pinned = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().split())
    assert parts["python"]["fastapi"]["version"] == pinned["fastapi"]


@pytest.mark.parametrize("way", ["uvx --from", "pipx run --spec"])
def test_the_service_runs_without_being_installed(way: str, wheel: Path, tools: Path, tmp_path: Path) -> None:
    program, *options = way.split()
    places = {"UV_CACHE_DIR": str(tmp_path / "uv"), "PIPX_HOME": str(tmp_path / "pipx")}
    places |= {"PIPX_DEFAULT_PYTHON": sys.executable, "UV_PYTHON": sys.executable}
    assert_it_serves([str(tools / program), *options, f"{wheel}[server]", "underfed"], tmp_path, places)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be without a network")
def test_the_service_is_installed_and_runs_where_there_is_no_network(bundle: Path, tmp_path: Path) -> None:
    unpack(bundle, tmp_path)
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
    run(*alone, tmp_path / "underfed-offline" / "install.sh", tmp_path / "opt", PYTHON=sys.executable)
    inside = (
        f"{tmp_path}/opt/bin/underfed serve --port 7077 & served=$!; "
        "for _ in $(seq 300); do "
        f"{sys.executable} -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:7077/readyz\").read())' "
        "2>/dev/null && break; sleep 1; done; kill $served; wait $served"
    )
    assert "ok" in run(*alone, "sh", "-c", inside, UNDERFED_DIR=str(tmp_path / "data"))


def test_a_bundle_that_was_changed_on_its_way_is_not_installed(bundle: Path, tmp_path: Path) -> None:
    unpack(bundle, tmp_path)
    with next(tmp_path.glob("underfed-offline/wheels/psutil-*.whl")).open("ab") as changed:
        changed.write(b"more")
    installer = [tmp_path / "underfed-offline" / "install.sh", tmp_path / "opt"]
    done = subprocess.run(installer, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "psutil" in done.stdout + done.stderr
    assert not (tmp_path / "opt").exists()
