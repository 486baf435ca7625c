#!/bin/sh
# Installs with uv, in a quarter of pip's time, what follows the Python of an environment. uv reads nothing of what pip was
# told, so where packages are looked for and what is accepted of them is handed on. Where uv cannot, pip does.
set -eu
python=$1
shift

told=$("$python" -m pip config list)

# Of pip's own precedence: its environment, what is said of installing, and the rest.
of_pip() {
  for whose in :env: install global; do
    value=$(printf '%s\n' "$told" | sed -n "s/^$whose\.$1='\(.*\)'\$/\1/p" | sed 's/\\n/ /g')
    if test -n "$value"; then
      echo "$value"
      return
    fi
  done
}

hand_on() {
  value=$(of_pip "$1")
  test -z "$value" || export "$2=$value"
}

with_uv() {
  hand_on index-url UV_DEFAULT_INDEX
  hand_on extra-index-url UV_INDEX
  hand_on find-links UV_FIND_LINKS
  hand_on cert SSL_CERT_FILE
  for constraints in $(of_pip constraint); do
    set -- --constraint "$constraints" "$@"
  done
  # As pip does: the newest that is accepted, wherever it lies.
  "$(dirname "$python")/uv" pip install --quiet --python "$python" --index-strategy unsafe-best-match \
    --reinstall-package underfed "$@"
}

(with_uv "$@") || "$python" -m pip --disable-pip-version-check --quiet install --no-compile "$@"
