"""An open service: whoever is on the machine reads and sends windows, and only its owner changes anything."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.described import PATHS
from tests.app.listening import free_port
from tests.app.made_windows import made_window, posted
from tests.app.operations.asking import JSON, ask
from tests.app.serving import AS_OWNER, OWNER, Service, application_in, poll, settings_for, start_service
from underfed_server.api.admission import owner_token
from underfed_server.errors import StartError
from underfed_server.main import Application, create_app
from underfed_server.terminal.client import owner_token_for
from underfed_server.terminal.tokens import token

LOCAL = "http://127.0.0.1:7077"
CHANGES = [
    (path, method)
    for path, methods in PATHS.items()
    for method in methods
    if method not in ("get", "head") and path not in ("/api/v1/ingest", "/api/v1/session")
] + [("/api/v1/tokens", "get")]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    application = application_in(tmp_path_factory.mktemp("open"))
    yield application
    application.close()


@pytest.fixture
def anybody(opened: Application) -> TestClient:
    return TestClient(opened, base_url=LOCAL)


def test_anybody_on_the_machine_reads_and_sends_windows(anybody: TestClient) -> None:
    assert anybody.post("/api/v1/ingest", json=made_window(0)).status_code == 200
    assert anybody.get("/api/v1/runs/run-1").status_code == 200
    assert anybody.get("/api/v1/service").json()["scopes"] == ["ingest", "view"]


@pytest.mark.parametrize(("path", "method"), CHANGES)
def test_every_change_takes_the_owners_token(anybody: TestClient, path: str, method: str) -> None:
    """All that the API's description names, so that what is added later is among them."""
    address = path.replace("{", "").replace("}", "")
    bodies: list[dict[str, Any]] = [{}, {"content": b"{}", "headers": JSON}]
    for body in bodies:
        refused = anybody.request(method, address, **body)
        assert refused.status_code == 403, refused.text
        assert "the owner of this service" in refused.json()["error"]["message"]
    allowed = anybody.request(method, address, content=b"{}", headers={**JSON, **AS_OWNER})
    assert allowed.status_code not in (401, 403), allowed.text


@pytest.mark.parametrize("wrong", ["guess", OWNER[:-1], OWNER + "x"])
def test_a_token_that_is_not_the_owners_neither_helps_nor_harms(opened: Application, wrong: str) -> None:
    client = TestClient(opened, base_url=LOCAL, headers={"Authorization": f"Bearer {wrong}"}, client=(wrong, 1))
    assert client.get("/api/v1/runs").status_code == 200
    assert client.post("/api/v1/ingest", json=made_window(0, run_id="another")).status_code == 200
    assert client.delete("/api/v1/runs/another").status_code == 403


FORWARDED = (
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Server", "X-Real-IP", "Via",
    "CF-Connecting-IP", "True-Client-IP",
)  # fmt: skip


@pytest.mark.parametrize("header", FORWARDED)
@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/api/v1/service", "/metrics", "/api/v1/ingest"])
def test_what_a_proxy_passes_on_is_refused_with_the_reason(anybody: TestClient, header: str, path: str) -> None:
    refused = anybody.get(path, headers={header: "203.0.113.7", **AS_OWNER})
    assert refused.status_code == 403
    assert "--proxy-address" in refused.json()["error"]["message"]
    assert refused.json()["error"]["field"] == header.lower()


def test_the_token_is_made_at_the_first_start_kept_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "owner-token"
    made = owner_token.read_or_make(path)
    assert len(made) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert owner_token.read_or_make(path) == owner_token.read(path) == made
    assert [each.name for each in path.parent.iterdir()] == ["owner-token"]


def test_a_token_that_others_can_read_is_refused_at_the_start(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    assert settings.owner_token_path is not None
    settings.owner_token_path.chmod(0o644)
    with pytest.raises(StartError, match="others may know the token"):
        create_app(settings)
    assert owner_token.read(settings.owner_token_path) is None, "commands do not use it either"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("chosen-by-somebody-else")
    (tmp_path / "elsewhere").chmod(0o600)
    (tmp_path / "owner-token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError):
        owner_token.read_or_make(tmp_path / "owner-token")


def test_what_is_no_file_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "owner-token", 0o600)
    with pytest.raises(StartError, match="is no file"):
        owner_token.read_or_make(tmp_path / "owner-token")


def test_a_file_that_somebody_put_where_it_is_made_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory that others may write: theirs takes the name of ours while it is made."""
    (tmp_path / "theirs").write_text("known to somebody else")
    (tmp_path / "theirs").chmod(0o666)
    linked = os.link
    monkeypatch.setattr(os, "link", lambda _unfinished, path: linked(tmp_path / "theirs", path))
    with pytest.raises(StartError, match="others may know the token"):
        owner_token.read_or_make(tmp_path / "owner-token")
    assert (tmp_path / "theirs").read_text() == "known to somebody else"


def test_the_printed_link_signs_in_once(opened: Application) -> None:
    secret = opened.parts.access.new_link()
    browser, other = (TestClient(opened, base_url=LOCAL) for _ in range(2))
    assert browser.post("/api/v1/session", json={"token": secret}).status_code == 204
    assert browser.get("/api/v1/service").json()["scopes"] == ["admin", "edit", "ingest", "view"]
    assert browser.delete("/api/v1/runs/nobody").status_code == 404
    assert other.post("/api/v1/session", json={"token": secret}).status_code == 401
    assert browser.delete("/api/v1/session").status_code == 204
    assert browser.delete("/api/v1/runs/nobody").status_code == 403


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    started = start_service(tmp_path_factory.mktemp("owned") / "underfed.db")
    yield started
    started.kill()


def data_of(service: Service) -> Path:
    return Path(service.said.splitlines()[-1].split()[1]).parent


def test_commands_of_the_same_user_find_the_token(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNDERFED_URL", service.address)
    monkeypatch.delenv("UNDERFED_TOKEN", raising=False)
    monkeypatch.setenv("UNDERFED_DIR", str(data_of(service)))
    assert token(["create", "--name", "cluster", "--scope", "ingest"]) == 0
    monkeypatch.setenv("UNDERFED_DIR", str(data_of(service) / "elsewhere"))
    assert token(["list"]) == 1
    assert "owner-token" in capsys.readouterr().err


def test_the_token_goes_to_nobody_else(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_DIR", str(data_of(service)))
    assert owner_token_for(service.address) is not None
    port = service.address.rpartition(":")[2]
    for url in (f"http://192.0.2.1:{port}", f"http://underfed.example:{port}", f"http://127.0.0.1:{free_port()}"):
        assert owner_token_for(url) is None
    monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert owner_token_for(service.address) is None, "what listens there is another user's"


def test_what_it_prints_names_the_link_and_what_a_proxy_needs(service: Service) -> None:
    assert service.owner_link.startswith(f"{service.address}/#owner=")
    assert "--proxy-address" in service.said
    assert (data_of(service) / "owner-token").read_text().strip() not in service.said


NGINX = """
daemon off; pid {place}/pid; error_log {place}/errors;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {address}; {more} }} }}
}}
"""


@contextmanager
def nginx(place: Path, address: str, more: str = "") -> Iterator[str]:
    """Debian's, in front of ``address``; its own address."""
    port = free_port()
    configuration = place / "nginx.conf"
    configuration.write_text(NGINX.format(place=place, port=port, address=address, more=more))
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program is not None
    process = subprocess.Popen([program, "-c", str(configuration), "-e", str(place / "errors")])
    proxied = f"http://127.0.0.1:{port}"
    try:
        poll(lambda: _answers(proxied))
        yield proxied
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        return ask(address, "/healthz").status > 0
    except OSError:
        return False


needs_nginx = pytest.mark.skipif(not Path("/usr/sbin/nginx").exists(), reason="nginx is not installed")


@needs_nginx
def test_through_a_bare_proxy_pass_nobody_becomes_an_administrator(service: Service, tmp_path: Path) -> None:
    """nginx by default names the service as the host and says not whom it speaks for: the two are indistinguishable."""
    with nginx(tmp_path, service.address) as proxied:
        assert ask(proxied, "/api/v1/runs").status == 200
        for path in ("/api/v1/tokens", "/api/v1/projects/x/retention", "/api/v1/runs/x/restore"):
            refused = ask(proxied, path, posted({"name": "mine", "scopes": ["admin"]}))
            assert refused.status in (403, 405), path
            assert b'"token"' not in refused.body
        assert ask(proxied, "/api/v1/tokens").status == 403


@needs_nginx
@pytest.mark.parametrize(
    "more",
    ["proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", "proxy_set_header X-Real-IP $remote_addr;"],
)
def test_a_proxy_that_says_whom_it_speaks_for_is_refused(service: Service, tmp_path: Path, more: str) -> None:
    with nginx(tmp_path, service.address, more) as proxied:
        refused = ask(proxied, "/api/v1/runs")
        assert (refused.status, refused.code) == (403, "forbidden")


@needs_nginx
def test_with_proxy_address_everybody_behind_it_needs_a_token(tmp_path: Path) -> None:
    root = "the-token-that-the-service-was-started-with"
    groups = tmp_path / "groups.json"
    groups.write_text('{"vision": {"vision": "edit"}, "operators": {"*": "admin"}}')
    flags = ("--proxy-address", "127.0.0.1", "--proxy-user-header", "X-Forwarded-User", "--proxy-groups", str(groups))
    guarded = start_service(tmp_path / "underfed.db", *flags, UNDERFED_TOKEN=root)
    try:
        said = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
        with nginx(tmp_path, guarded.address, said) as proxied:
            assert ask(proxied, "/api/v1/runs").status == 401
            assert ask(proxied, "/api/v1/tokens", None, {"Authorization": f"Bearer {root}"}).status == 200
        named = "proxy_set_header X-Forwarded-User $arg_user; proxy_set_header X-Forwarded-Groups $arg_groups;"
        forged = {"X-Forwarded-User": "eve", "X-Forwarded-Groups": "operators", "X_Forwarded_Groups": "operators"}
        with nginx(tmp_path, guarded.address, said + named) as signed_in:
            info = json.loads(ask(signed_in, "/api/v1/service?user=ada&groups=vision", None, forged).body)
            assert (info["user"], info["scopes_in_all"], info["scopes_in"]) == ("ada", [], {"vision": ["edit"]})
            for path, status in (("runs", 200), ("tokens", 403), ("projects/speech/retention", 404)):
                assert ask(signed_in, f"/api/v1/{path}?user=ada&groups=vision", None, forged).status == status
            assert ask(signed_in, "/api/v1/runs", None, forged).status == 401
        with nginx(tmp_path, guarded.address, said + "proxy_set_header X-Forwarded-User ada;") as careless:
            reached = ask(careless, "/api/v1/tokens", None, forged).status
            assert reached == 200, "what a proxy passes on unchanged is believed, as the docs say"
    finally:
        guarded.kill()
