#!/bin/sh
# Makes the virtual environment and installs the project with the given extras:
#   tools/setup/venv.sh DIRECTORY EXTRA[,EXTRA...]
# Works on any machine with Python 3.11 or newer, and says plainly what is missing.
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
stamp="$venv/.installed-$(echo "$extras" | tr ',' '-')"
newer=$(find pyproject.toml setup.py generated/native kafkaspec/codecs/native \
  -name '*.[ch]' -newer "$stamp" -o -name '*.toml' -newer "$stamp" \
  -o -name setup.py -newer "$stamp" 2>/dev/null || true)
# An installation also links generated/ for type checkers.
if [ ! -e "$stamp" ] || [ ! -e build/types/kafkaspec/_generated ] || [ -n "$newer" ]; then
  echo "Installing kafkaspec[$extras] into $venv ..."
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
  touch "$stamp"
fi
