#!/bin/sh
# Builds a wheel of kafkaspec:
#   tools/setup/wheel.sh PYTHON DIRECTORY
# On Linux auditwheel puts the libraries into it that the native codec was linked with.
set -eu

python=$1
into=$2
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir "$built" .
"$(dirname "$0")/repair.sh" "$python" "$into" "$built"/*.whl
ls "$into"/*.whl
