#!/bin/sh
# Locks what tools/setup/venv.sh installs: the newest versions that pyproject.toml allows, with the
# hashes of their files, for all platforms and for Python 3.11 and newer. Needs uv.
set -eu

if ! command -v uv >/dev/null 2>&1; then
  echo "make lock needs uv: https://docs.astral.sh/uv/" >&2
  exit 2
fi

lock() {  # lock NAME ARGUMENT...: write requirements/NAME.txt
  file=requirements/$1.txt
  shift
  uv pip compile "$@" --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file "$file.new" >/dev/null
  { echo "# Made by make lock from pyproject.toml; do not edit."; cat "$file.new"; } >"$file"
  rm "$file.new"
}

mkdir -p requirements
lock construct-test pyproject.toml --extra construct --extra test
lock construct pyproject.toml --extra construct --constraints requirements/construct-test.txt
lock binary pyproject.toml --extra binary --constraints requirements/construct-test.txt
lock docs pyproject.toml --extra docs --constraints requirements/construct-test.txt
lock release pyproject.toml --extra release --constraints requirements/construct-test.txt
echo setuptools | lock build - --constraints requirements/construct-test.txt
