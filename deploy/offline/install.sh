#!/usr/bin/env bash
# Installs the service from this folder, without a network: ./install.sh DIRECTORY (/opt/underfed)
#
# The agent alone, into the environment that trains: pip install --no-index --find-links wheels underfed
set -euo pipefail
target=$(realpath --canonicalize-missing "${1:-/opt/underfed}")
cd "$(dirname "$0")"
sha256sum --check --quiet SHA256SUMS
"${PYTHON:-python3}" -m venv "$target"
"$target/bin/python" -m pip --disable-pip-version-check install --quiet --no-index --find-links wheels \
  --constraint constraints.txt "underfed[parquet,postgresql]"
echo "installed: $target/bin/underfed serve"
