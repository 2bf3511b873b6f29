#!/bin/sh
# Makes the virtual environment and installs the project with the given extras:
#   tools/setup/venv.sh DIRECTORY EXTRA[,EXTRA...]
# Works on any machine with Python 3.11 or newer, and says plainly what is missing. It installs what
# requirements/ locks; with NEWEST=1 the newest versions that pyproject.toml allows.
set -eu

venv=$1
extras=$2
python=""
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
  if command -v "$candidate" >/dev/null 2>&1 &&
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ ! -x "$venv/bin/python" ]; then
  if [ -z "$python" ]; then
    found=$(python3 --version 2>/dev/null || echo "no python3 at all")
    echo "kafkaspec needs Python 3.11 or newer; found $found." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3.11" >&2
    exit 2
  fi
  if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "$python has no venv module; on Debian or Ubuntu: apt-get install python3-venv" >&2
    exit 2
  fi
  "$python" -m venv "$venv"
fi

# Nothing to do when the same extras were installed and nothing that is built has changed.
name=$(echo "$extras" | tr ',' '-')
stamp="$venv/.installed-$name"
newer_than() {
  find pyproject.toml setup.py requirements generated/native kafkaspec/codecs/native \
    -name '*.[ch]' -newer "$1" -o -name '*.toml' -newer "$1" -o -name '*.txt' -newer "$1" \
    -o -name setup.py -newer "$1" 2>/dev/null || true
}
newer=$(newer_than "$stamp")
current=""
for other in "$venv"/.installed-*; do
  if [ -e "$other" ] && [ -e build/types/kafkaspec/_generated ] && [ -z "$(newer_than "$other")" ]; then
    current=$other
  fi
done

DIST_EXTRA_CONFIG=$PWD/tools/setup/wheels.cfg
export DIST_EXTRA_CONFIG
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

locked() {
  # Without dependencies, since all of them are listed; without isolation, since pip does not check
  # the hashes of what it builds with. PySpark, which takes as long as all others, goes beside them.
  parts=$(mktemp -d)
  awk -v parts="$parts" '/^[^ ]/ { part = /^pyspark==/ ? "spark" : "others" } { print > (parts "/" part) }' \
    "requirements/$name.txt"
  failed=""
  if pip --no-deps --require-hashes --requirement requirements/build.txt; then
    spark=""
    if [ -e "$parts/spark" ]; then
      pip --no-deps --no-build-isolation --require-hashes --requirement "$parts/spark" &
      spark=$!
    fi
    pip --no-deps --no-build-isolation --require-hashes --requirement "$parts/others" || failed=yes
    [ -z "$spark" ] || wait "$spark" || failed=yes
  else
    failed=yes
  fi
  rm -r "$parts"
  if [ -n "$failed" ]; then
    echo "The versions in requirements/ could not be installed; pip says above what is missing." >&2
    echo "If the package index lacks them, take the newest that it has: make NEWEST=1 ..." >&2
    exit 2
  fi
  # Whatever the extras, the project itself is installed in the same way.
  [ -n "$current" ] || pip --no-deps --no-build-isolation --editable .
}

# An installation also links generated/ for type checkers.
if [ ! -e "$stamp" ] || [ ! -e build/types/kafkaspec/_generated ] || [ -n "$newer" ]; then
  echo "Installing kafkaspec[$extras] into $venv ..."
  if [ -n "${NEWEST:-}" ]; then
    pip --upgrade --upgrade-strategy eager --editable ".[$extras]"
  else
    locked
  fi
  touch "$stamp"
fi
