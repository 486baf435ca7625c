#!/usr/bin/env bash
# Builds what a release consists of: deploy/release/build.sh DIRECTORY
#
# Wheel, sdist, bills of material of both sides, and sums. Needs git, Node.js, npm, and a Python with
# deploy/release/requirements.txt. UNDERFED_REPOSITORY_URL: where the source is published (hatch_metadata.py).
set -euo pipefail
mkdir -p "${1:?which directory?}"
out=$(realpath "$1")
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' agent/underfed/__init__.py)

# Whoever builds this commit with these versions gets the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# Relative: pip takes spaces for several files.
export PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1
umask 022

# The sdist from this tree, the wheel from the sdist: so the sdist is complete.
"$python" -m build --outdir "$out" .
wheel=$out/underfed-$version-py3-none-any.whl
"$python" -m twine check --strict "$wheel" "$out/underfed-$version.tar.gz"

# What the service installs beside itself, at the versions that were tested.
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv --without-pip "$environment"
# By its name: of a file the bill would say where it lay.
"$python" -m pip --python "$environment/bin/python" install --quiet --only-binary=:all: --find-links "$out" \
  "underfed[parquet,postgresql]==$version"
"$python" -m cyclonedx_py environment --output-reproducible --output-file "$out/underfed-$version-python.cdx.json" \
  "$environment/bin/python"

# What the page is built from and with.
npm exec --yes --package @cyclonedx/cyclonedx-npm@6.0.1 -- cyclonedx-npm --package-lock-only --omit dev \
  --output-reproducible --output-file "$out/underfed-$version-page.cdx.json" frontend/package.json

cd "$out"
sha256sum "underfed-$version"* > SHA256SUMS
