#!/bin/sh
# Makes sure of what the tests need beside Python and Node: a browser (the installed Chrome or Chromium, else Debian's,
# else Playwright's), a PostgreSQL (the installed one, one that UNDERFED_TEST_POSTGRESQL names, else Debian's), and nginx.
# Without an argument it installs what the system has; with a Python that has Playwright it installs the rest, or fails.
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
has_browser || "$1" -m playwright install --with-deps --only-shell chromium
has_postgresql || {
  echo "the tests need PostgreSQL: install it, or name a server whose user may make databases in UNDERFED_TEST_POSTGRESQL" >&2
  exit 1
}
