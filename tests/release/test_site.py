"""The site that is built from the docs: no link leads nowhere, and nothing of it is loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes.chromium import chromium
from tests.release.conftest import run
from tests.soak.trying import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src="([^"]+)"|<link[^>]+rel="(?!canonical)[^>]*href="([^"]+)"""
)


@pytest.fixture(scope="module")
def site(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as docs.yml does."""
    place = tmp_path_factory.mktemp("site")
    workflow = (ROOT / ".github" / "workflows" / "docs.yml").read_text()
    command = re.search(r"run: python -m (sphinx .*) docs site$", workflow, re.MULTILINE)
    assert command is not None
    run(tools / "python", "-m", *command[1].split(), "--doctree-dir", place / "trees", "docs", place / "html")
    return place / "html"


def test_it_begins_with_the_first_page_and_has_all_others(site: Path) -> None:
    first = (site / "index.html").read_text()
    assert "It calls nowhere" in first
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert [page for page in pages if not (site / page).is_file()] == []
    assert [page for page in pages if page.name != "README.html" and f'href="{page.as_posix()}"' not in first] == []


CUT = """[...document.querySelectorAll('.table-wrapper')].filter(it =>
  it.scrollWidth > it.clientWidth && it.querySelector('tr').children.length <= 5).length"""
"""Tables that are read line by line; those of more columns are of figures, and scroll."""


@pytest.mark.parametrize(("width", "wrong"), [(1440, CUT), (390, "document.documentElement.scrollWidth > innerWidth")])
def test_no_table_is_cut_off_on_a_desktop_and_no_page_is_wider_than_a_phone(site: Path, width: int, wrong: str) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        found = []
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            if page.evaluate(wrong):
                found.append(path.relative_to(site).as_posix())
    assert found == []


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    loaded = {next(filter(None, found)) for page in pages for found in LOADED.findall(page.read_text())}
    assert loaded
    assert [each for each in loaded if re.match(r"(https?:)?//", each)] == []
    styles = [*site.rglob("*.css")]
    assert [style for style in styles if re.search(r"(@import|url\()[\"' ]*(https?:)?//", style.read_text())] == []
