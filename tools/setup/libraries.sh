#!/bin/sh
# Installs the libraries in C that decompress, with their headers, by whatever packages the system has.
# The images of cibuildwheel (AlmaLinux, Alpine), Debian, macOS.
set -eu

if command -v apk >/dev/null 2>&1; then
  apk add --no-cache lz4-dev zstd-dev snappy-dev libdeflate-dev
elif command -v dnf >/dev/null 2>&1; then
  dnf -y -q install epel-release dnf-plugins-core
  dnf config-manager --set-enabled powertools 2>/dev/null || dnf config-manager --set-enabled crb
  dnf -y -q install lz4-devel libzstd-devel snappy-devel libdeflate-devel
elif command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq liblz4-dev libzstd-dev libsnappy-dev libdeflate-dev >/dev/null
elif command -v brew >/dev/null 2>&1; then
  brew install --quiet lz4 zstd snappy libdeflate
else
  echo "No package manager that this script knows: install liblz4, libzstd, libsnappy and libdeflate." >&2
  exit 2
fi
