#!/bin/sh
# Makes sure of the headers of the libraries in C that decompress: the extension is then linked with
# them. Without headers it loads what libraries there are, and kafkaspec --version names the others.
set -eu

missing=""
for header in lz4hc.h zstd.h snappy-c.h libdeflate.h; do
  [ -e "/usr/include/$header" ] || missing="$missing $header"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing the headers of libraries that decompress ..."
  if "$(dirname "$0")/libraries.sh"; then
    exit 0
  fi
fi
echo "There are no headers of libraries that decompress:$missing; as root: sh tools/setup/libraries.sh" >&2
