#!/bin/sh
# Orders that load and unload models and versions, and move labels; what a reload makes of them.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
if ! command -v python3 >/dev/null; then
	echo "python3 is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$srcdir/tests/system/host_orders.py" "$builddir/serving_host" "$work" "$srcdir/tests/golden/keras2-half/model" &&
	"$srcdir/tests/support/no_secret.sh" "$work" || {
	tail -n 50 "$work"/*.log
	echo "[  FAILED  ] 1 test(s)."
	exit 1
}
echo "[  PASSED  ] 1 test(s)."
