"""The page's files: those that never change under their name, and one HTML file for every address."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from underfed_server.api import failures, page


@pytest.fixture
def built(tmp_path: Path) -> Path:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>Underfed</title>")
    (static / "favicon.svg").write_text("<svg/>")
    (static / "assets" / "index-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    return static


def client_of(static: Path) -> TestClient:
    app = FastAPI()
    failures.install(app)
    page.install(app, static)
    return TestClient(app)


@pytest.mark.parametrize("path", ["/", "/runs/run-1", "/compare?run=a", "/index.html"])
def test_every_address_of_the_page_is_the_one_file_and_never_stale(built: Path, path: str) -> None:
    response = client_of(built).get(path)
    assert response.status_code == 200
    assert "<title>Underfed" in response.text
    assert response.headers["cache-control"] == "no-cache"
    assert client_of(built).head(path).status_code == 200


def test_assets_are_kept_for_good(built: Path) -> None:
    response = client_of(built).get("/assets/index-1a2b.js")
    assert (response.status_code, response.text) == (200, "1")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_scripts_and_styles_are_packed_as_well_as_gzip_can(built: Path) -> None:
    script, style = "export const word = 'starved'\n" * 200, ".verdict { color: var(--wait) }\n" * 200
    (built / "assets" / "more-3c4d.js").write_text(script)
    (built / "assets" / "more-5e6f.css").write_text(style)
    for name, kind, text in (("more-3c4d.js", "javascript", script), ("more-5e6f.css", "css", style)):
        with client_of(built).stream("GET", f"/assets/{name}", headers={"Accept-Encoding": "br, gzip"}) as response:
            sent = b"".join(response.iter_raw())
        assert (response.headers["content-encoding"], response.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert kind in response.headers["content-type"]
        assert gzip.decompress(sent).decode() == text
        assert len(sent) <= len(gzip.compress(text.encode(), 9))
        plain = client_of(built).get(f"/assets/{name}", headers={"Accept-Encoding": "identity"})
        assert plain.text == text
        assert "content-encoding" not in plain.headers


def test_files_beside_the_page_are_themselves(built: Path) -> None:
    assert client_of(built).get("/favicon.svg").text == "<svg/>"


@pytest.mark.parametrize("path", ["/assets/old.js", "/api/v1/nothing", "/api"])
def test_what_is_neither_page_nor_file_is_not_found(built: Path, path: str) -> None:
    response = client_of(built).get(path)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


OUTSIDE = ("/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt")


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_is_served(built: Path, path: str) -> None:
    assert "secret" not in client_of(built).get(path).text


def test_a_page_that_was_not_built_says_what_to_do(tmp_path: Path) -> None:
    response = client_of(tmp_path / "static").get("/")
    assert response.status_code == 503
    assert "pip install ." in response.text
