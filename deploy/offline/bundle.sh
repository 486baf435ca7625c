#!/usr/bin/env bash
# All that a machine without a network needs: deploy/offline/bundle.sh WHEEL DIRECTORY [OPTION OF pip download …]
#
# Into DIRECTORY come the wheels of Underfed and of all that its service installs, the recipe of an image that is made of
# them, a unit for systemd, install.sh and SHA256SUMS; beside it DIRECTORY.tar, with the same. Run it on a machine like the
# one it is for, or name that one: --python-version 3.12 --platform manylinux_2_28_x86_64.
set -euo pipefail
wheel=$(realpath "${1:?which wheel?}")
mkdir -p "${2:?into which directory?}/wheels"
out=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

cp constraints.txt deploy/offline/install.sh deploy/systemd/underfed.service "$out"
"$python" -m pip --disable-pip-version-check download --quiet --only-binary=:all: --constraint constraints.txt \
  --dest "$out/wheels" "$@" "$wheel[parquet,postgresql]"
# The last stage is that of the image which is built with a network.
{ cat deploy/offline/Dockerfile; tac Dockerfile | sed '/^FROM /q' | tac; } > "$out/Dockerfile"

cd "$out"
find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum > SHA256SUMS
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go-w \
  --create --file "$out.tar" --directory "$(dirname "$out")" "$(basename "$out")"
