#!/bin/sh
# The status page in a browser: what it shows, in a narrow window and in the dark as well.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
# What the host does for it is in other tests.
[ "${SANITIZED:-}" != yes ] || exit 77
for program in python3 chromium; do
	if ! command -v $program >/dev/null; then
		echo "$program is not installed"
		exit 77
	fi
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$srcdir/tests/system/status_page.py" "$builddir/serving_host" "$work" "$srcdir/tests/golden/keras2-half/model" &&
	"$srcdir/tests/support/no_secret.sh" "$work" || {
	tail -n 50 "$work"/*.log
	echo "[  FAILED  ] 1 test(s)."
	exit 1
}
echo "[  PASSED  ] 1 test(s)."
