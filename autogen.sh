#!/bin/sh
# Makes ./configure from configure.ac; needed once after a checkout.
set -e
cd "$(dirname "$0")"
mkdir -p m4
autoreconf --install --force
