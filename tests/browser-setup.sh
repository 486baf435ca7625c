#!/bin/sh
# Makes sure there is a browser for the end-to-end tests: the installed Chrome or Chromium, else Debian's, else Playwright's.
set -eu
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && exit 0
fi
exec "$1" -m playwright install --with-deps chromium
