"""Records the sources of ``torch.utils.data`` of PyTorch releases, for the tests to draw on: out of their wheels.

``python -m tests.torch_versions.record VERSION …`` writes ``recorded/VERSION.zip``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tests.torch_versions.wheels import download

RECORDED = Path(__file__).parent / "recorded"
PART = "torch/utils/data/"


def recorded_releases() -> list[str]:
    """Oldest first."""
    return sorted((file.stem for file in RECORDED.glob("*.zip")), key=lambda name: [int(n) for n in name.split(".")])


def record(version: str, archive: Path) -> None:
    """The same bytes, whenever it is done."""
    with (
        TemporaryDirectory() as scratch,
        ZipFile(download(version, Path(scratch))) as wheel,
        ZipFile(archive, "w") as kept,
    ):
        members = [name for name in sorted(wheel.namelist()) if name.startswith(PART) and name.endswith(".py")]
        assert f"{PART}dataloader.py" in members
        for name in members:
            kept.writestr(ZipInfo(name), wheel.read(name), ZIP_DEFLATED, 9)


if __name__ == "__main__":
    for version in sys.argv[1:]:
        record(version, RECORDED / f"{version}.zip")
