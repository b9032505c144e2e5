#!/bin/sh
# What docs/runbooks.md says shows a fault does: each is played on a real host.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=${builddir:-.}
# Memory is another, and what the host does is in other tests.
[ "${SANITIZED:-}" != yes ] || exit 77
for program in python3 curl; do
	if ! command -v $program >/dev/null; then
		echo "$program is not installed"
		exit 77
	fi
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# A small disk to fill takes a mount, which only this test and its hosts see.
mkdir "$work/disk"
with_disk="mount -t tmpfs -o size=32m none '$work/disk' && exec \"\$@\""
set -- env PYTHONDONTWRITEBYTECODE=1 python3 "$srcdir/tests/system/runbooks.py" "$srcdir/docs/runbooks.md" "$builddir/serving_host" \
	"$builddir/serving_tool" "$srcdir/tests/golden/ev-ctr-timeline" "$work"
if unshare -rm sh -c "$with_disk" sh true 2>/dev/null; then
	set -- unshare -rm sh -c "$with_disk" sh "$@"
fi
"$@" && "$srcdir/tests/support/no_secret.sh" "$work" || {
	tail -n 50 "$work"/*/host.log
	echo "[  FAILED  ] 1 test(s)."
	exit 1
}
echo "[  PASSED  ] 1 test(s)."
