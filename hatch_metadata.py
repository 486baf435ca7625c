"""What a package index shows: the README with links that lead somewhere from there, and the project's addresses.

Where the source is published is no constant of the source: ``UNDERFED_REPOSITORY_URL`` says it when a release is built
(``.github/workflows/release.yml``), and an sdist keeps what was said. Without it no address is given, and of a relative
link the text remains.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")


class MetadataHook(MetadataHookInterface):
    """hatchling's custom hook for ``readme`` and ``urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get("UNDERFED_REPOSITORY_URL", "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": from_elsewhere(text, repository)}
        metadata["urls"] = addresses(repository)


def from_elsewhere(text: str, repository: str) -> str:
    """``text`` as it is read outside the repository. ``repository`` empty: images go, links become their text."""

    def link(found: re.Match[str]) -> str:
        mark, words, path = found.groups()
        if not repository:
            return "" if mark else words
        return f"{mark}[{words}]({repository}/{'raw' if mark else 'blob'}/HEAD/{path})"

    return RELATIVE_LINK.sub(link, text)


def addresses(repository: str) -> dict[str, str]:
    """By the labels that PyPI knows."""
    if not repository:
        return {}
    inside = {
        "Documentation": "blob/HEAD/docs/README.md",
        "Changelog": "blob/HEAD/CHANGELOG.md",
        "Issues": "issues",
        "Security": "blob/HEAD/SECURITY.md",
    }
    return {"Source": repository} | {label: f"{repository}/{path}" for label, path in inside.items()}
