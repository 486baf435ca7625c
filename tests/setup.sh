#!/bin/sh
# Makes sure of what the tests need beside Python and Node: a browser (the installed Chrome or Chromium, else Debian's,
# else Playwright's) and a PostgreSQL (the installed one, one that UNDERFED_TEST_POSTGRESQL names, else Debian's).
set -eu

has_browser() {
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

has_postgresql() {
  test -n "${UNDERFED_TEST_POSTGRESQL:-}" && return 0
  command -v initdb >/dev/null 2>&1 && return 0
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
}

can_install() {
  command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]
}

missing=""
has_browser || missing="$missing chromium"
has_postgresql || missing="$missing postgresql"
if [ -n "$missing" ] && can_install; then
  # shellcheck disable=SC2086
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
has_browser || "$1" -m playwright install --with-deps chromium
has_postgresql || {
  echo "the tests need PostgreSQL: install it, or name a server whose user may make databases in UNDERFED_TEST_POSTGRESQL" >&2
  exit 1
}
