#!/bin/sh
# Makes sure that there is a Chromium, which the tests of the explorer's page drive; without one they
# are skipped. No browser is downloaded from elsewhere.
set -eu

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    exit 0
  fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Chromium for the tests of the explorer ..."
  if apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; then
    exit 0
  fi
fi
echo "There is no Chromium: the tests of the explorer's page are skipped." >&2
echo "On Debian: apt-get install chromium" >&2
