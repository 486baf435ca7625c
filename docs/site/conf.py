"""The docs as a site: ``python -m sphinx --conf-dir docs/site --fail-on-warning --keep-going docs site``.

docs/README.md is its first page, and the lists there are its navigation. A link that leads nowhere fails the build.
Links out of docs/ go to ``UNDERFED_REPOSITORY_URL``; without it their text remains. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
REPOSITORY = os.environ.get("UNDERFED_REPOSITORY_URL", "").rstrip("/")

project = "Underfed"
copyright = "The Underfed contributors, Apache-2.0"
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = ["site"]
nitpicky = True
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Underfed"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False

SECTION = re.compile(r"^\*\*(.+)\*\*\n\n((?:.+\n)+)", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?![a-z]+:|#)([^)#]+)(#[^)]*)?\)")


def read(_app: Any, page: str, source: list[str]) -> None:
    """Sphinx' event: ``source`` holds the page's text, and takes another."""
    text = source[0] + (navigation(source[0]) if page == root_doc else "")
    source[0] = LINK.sub(lambda found: link(found, DOCS.joinpath(page).parent), text)


def navigation(text: str) -> str:
    """A table of contents for each list of the first page."""
    trees = []
    for caption, pages in SECTION.findall(text):
        inside = [(title, path) for title, path, _ in LINK.findall(pages) if not path.startswith("..")]
        entries = "\n".join(f"{title[0].upper()}{title[1:]} <{path.removesuffix('.md')}>" for title, path in inside)
        trees.append(f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{entries}\n```\n")
    return "".join(trees)


def link(found: re.Match[str], folder: Path) -> str:
    """As it is, or to the repository where it leads out of the docs."""
    words, path, anchor = found.groups()
    target = Path(os.path.normpath(folder / path))
    if target.is_relative_to(DOCS):
        return found[0]
    inside = target.relative_to(DOCS.parent).as_posix()
    return f"[{words}]({REPOSITORY}/blob/HEAD/{inside}{anchor or ''})" if REPOSITORY else words


def finish(app: Any, error: Exception | None) -> None:
    """Sphinx' event: servers look for index.html."""
    if error is None:
        shutil.copyfile(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


def setup(app: Any) -> None:
    app.connect("source-read", read)
    app.connect("build-finished", finish)
