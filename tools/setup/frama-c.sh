#!/bin/sh
# Makes sure that there are Frama-C and the provers that `make proof` asks.
set -eu

missing=
for command in frama-c why3 z3 cvc4; do
  command -v "$command" >/dev/null 2>&1 || missing="$missing $command"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Frama-C and its provers ..."
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    frama-c-base why3 z3 cvc4 >/dev/null
else
  echo "Missing for the proof:$missing. On Debian: apt-get install frama-c-base why3 z3 cvc4" >&2
  exit 2
fi
