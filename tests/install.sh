#!/bin/sh
# Installs with uv, in a quarter of pip's time, what follows the Python of an environment. uv reads nothing of what pip was
# told, so where packages lie and what is accepted of them is handed on. Where uv cannot, or pip was told more, pip does.
set -eu
python=$1
shift

told=$("$python" -m pip config list | grep -E '^(:env:|install|global)\.' || true)
handed_on='index-url|extra-index-url|find-links|cert|constraint'
of_no_matter='cache-dir|default-timeout|disable-pip-version-check|no-cache-dir|no-color|no-input|progress-bar|quiet|retries|timeout'

# Of pip's own precedence: its environment, what is said of installing, and the rest. Several values: by blanks.
of_pip() {
  for whose in :env: install global; do
    value=$(printf '%s\n' "$told" | sed -n "s/^$whose\.$1='\(.*\)'\$/\1/p" | sed 's/\\n/ /g; s/^ *//')
    if test -n "$value"; then
      echo "$value"
      return
    fi
  done
}

hand_on() {
  value=$(of_pip "$1" | sed "s/  */$3/g")
  test -z "$value" || export "$2=$value"
}

with_uv() {
  if printf '%s\n' "$told" | grep -vE "^[a-z:]+\.(($handed_on)='[^']*'\$|($of_no_matter)=)" | grep -q .; then
    return 1
  fi
  hand_on index-url UV_DEFAULT_INDEX ' '
  hand_on extra-index-url UV_INDEX ' '
  hand_on find-links UV_FIND_LINKS ,
  hand_on cert SSL_CERT_FILE ' '
  for constraints in $(of_pip constraint); do
    set -- --constraint "$constraints" "$@"
  done
  # As pip does: the newest that is accepted, wherever it lies.
  "$(dirname "$python")/uv" pip install --quiet --python "$python" --index-strategy unsafe-best-match \
    --reinstall-package underfed "$@"
}

(with_uv "$@") || "$python" -m pip --disable-pip-version-check --quiet install --no-compile "$@"
