#!/bin/sh
# docs/metrics.md says what api/host/metrics.inc does.
set -u
srcdir=${srcdir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
	fi
}

"$srcdir/scripts/metrics.sh" >"$work/metrics.md"
check 'docs/metrics.md is current (scripts/metrics.sh >docs/metrics.md)' \
	diff "$srcdir/docs/metrics.md" "$work/metrics.md"
listed=$(grep -c '^SP_METRIC(' "$srcdir/api/host/metrics.inc")
check 'every metric has its line' \
	[ "$(grep -c -E '^\| `[a-z:_]+` \| (counter|gauge|histogram) \| .* \| .*\. \|$' "$work/metrics.md")" = "$listed" ]

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
