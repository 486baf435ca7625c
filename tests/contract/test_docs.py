"""Pages lead where they say, and the first one to each: what the site's generator checks, without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "benchmarks" / "README.md"])
LINK = re.compile(r"\[[^\]]*\]\((?![a-z]+:)([^)#\s]*)(?:#([^)]+))?\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Files of this checkout that a page leads to, and the heading there."""
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text())):
        yield (page.parent / path).resolve() if path else page, anchor


@cache
def anchors(page: Path) -> set[str]:
    """As GitHub and the site derive them from headings."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    broken = [
        f"{path.relative_to(ROOT)}#{anchor}"
        for path, anchor in links(page)
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path))
    ]
    assert broken == []


def test_the_first_page_leads_to_every_other() -> None:
    first = DOCS / "README.md"
    assert {path for path, _ in links(first) if path.suffix == ".md"} >= {*DOCS.rglob("*.md")} - {first}
