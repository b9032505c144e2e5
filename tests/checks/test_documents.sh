#!/bin/sh
# Documents that are made of the code say what it does.
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

check_document() { # check_document NAME LISTS START LINE: it is current, with a LINE for each START of the lists
	"$srcdir/scripts/$1.sh" >"$work/$1.md"
	check "docs/$1.md is current (scripts/$1.sh >docs/$1.md)" \
		diff "$srcdir/docs/$1.md" "$work/$1.md"
	check "docs/$1.md has a line for all of $2" \
		[ "$(grep -c -E "$4" "$work/$1.md")" = "$(cd "$srcdir" && cat $2 | grep -c "$3")" ]
}

check_document operators 'engine/ops/ops.inc engine/stablehlo/ops.inc' '^SP_OP(' '^\| .* \| \[engine/.*\.c\]'
check_document metrics api/host/metrics/metrics.inc '^SP_METRIC(' \
	'^\| `[a-z:_]+` \| (counter|gauge|histogram) \| .* \| .*\. \|$'

python3 "$srcdir/scripts/draw_rooms.py" >"$work/rooms.svg"
check "docs/rooms.svg is current (scripts/draw_rooms.py >docs/rooms.svg)" diff "$srcdir/docs/rooms.svg" "$work/rooms.svg"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
