#!/bin/sh
# Makes ./configure from configure.ac; needed once after a checkout.
#
#   ./autogen.sh
set -e
cd "$(dirname "$0")"

fail() {
	echo "autogen.sh: $1" >&2
	exit 1
}

case ${1:-} in
'') ;;
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "${0##*/}"
	exit 0
	;;
*)
	echo "autogen.sh: unknown option $1 (try --help)" >&2
	exit 2
	;;
esac
case $PWD in
*[[:space:]]*) fail "$PWD: make cannot build in a path with a space in it; move the checkout" ;;
esac
for program in autoreconf aclocal pkg-config; do
	command -v "$program" >/dev/null || fail "$program not found; scripts/packages.sh --ensure build installs it"
done
mkdir -p m4
autoreconf --install --force
