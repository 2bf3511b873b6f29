#!/bin/sh
# Makes sure that there is a Java 17 or newer, which Spark needs; without one its tests are skipped.
set -eu

if [ -x "${JAVA_HOME:-/none}/bin/java" ] || command -v java >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing a Java runtime for Spark ..."
  if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless >/dev/null; then
    exit 0
  fi
fi
echo "There is no Java: the tests of Spark are skipped. It needs 17 or newer;" >&2
echo "on Debian or Ubuntu: apt-get install default-jre-headless" >&2
