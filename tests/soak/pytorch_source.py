"""PyTorch's own tests of the DataLoader on Debian's PyTorch: from the source package that it was built from.

apt checks what it fetches against the sums that the release was signed with. The package is 30 to 45 MB; one file of it
is used, and none of it is kept.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.soak.trying import INSTALL, Outcome, last_line, not_had, run

FILE = "test_dataloader.py"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
FOLDER = "opt/pytorch"
"""In the tree of a release, below its root."""


def try_its_tests(python: Sequence[str], tree: Path, release: str, mirror: str) -> Outcome:
    """``python``: the command that runs the release's, which has the agent, within ``tree``."""
    folder = tree / FOLDER
    folder.mkdir(parents=True)
    if why_not := fetch_tests(folder, release, mirror):
        return Outcome(f"its own tests not had: {why_not}")
    if (done := run([*python, *INSTALL, "expecttest"])).returncode != 0:
        return not_had(done)
    place = f"/{FOLDER}/{FILE}"
    done = run([*python, "-m", "tests.pytorch_suite", place, "--reports", f"/{FOLDER}/reports"])
    print(done.stdout, done.stderr[-4_000:], flush=True)
    counts = [line for line in done.stdout.splitlines() if line.startswith(("without:", "with:", "different:"))]
    return Outcome(f"its own tests {'; '.join(counts) or last_line(done.stderr)}", is_red=done.returncode != 0)


def fetch_tests(folder: Path, release: str, mirror: str) -> str | None:
    """The file, put into ``folder``; else why it is not to be had."""
    if shutil.which("apt-get") is None or not Path(KEYRING).exists():
        return "needs Debian's apt"
    # apt fetches as a user of its own, who must come so far.
    with TemporaryDirectory(prefix="underfed-source-", dir="/var/tmp") as directory:
        place = Path(directory)
        place.chmod(0o755)
        for each in ("lists/partial", "archives/partial"):
            (place / each).mkdir(parents=True)
        (place / "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {mirror} {release} main\n")
        options = {
            "Dir::Etc::sourcelist": place / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": place / "lists", "Dir::Cache": place, "Acquire::Check-Valid-Until": "false",
        }  # fmt: skip
        apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
        download = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", directory, *apt]
        for step in ([*apt, "update"], [*download, "source", "--download-only", "pytorch"]):
            if (done := run(step)).returncode != 0:
                return last_line(done.stderr or done.stdout)
        archive = next(place.glob("pytorch_*.orig.tar.*"))
        unpack = ["tar", "-xf", str(archive), "-C", str(folder), "--strip-components=2", "--wildcards"]
        done = run([*unpack, f"*/test/{FILE}"])
    return None if (folder / FILE).exists() else last_line(done.stderr)
