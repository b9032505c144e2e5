#!/bin/sh
# The operators stand in alphabetical order, each once; every source file of
# the rooms stands in a fragment, once, and so does every benchmark.
set -u
srcdir=${srcdir:-.}
rooms='base storage engine model_loader incremental row_stream session_group processor api tools'
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

same() { # same NAME WANTED GOT
	if diff "$2" "$3"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $1"
	fi
}

for list in engine/ops/ops.inc engine/stablehlo/ops.inc; do
	sed -n 's/^SP_OP(\(.*\))$/\1/p' "$srcdir/$list" >"$work/ops"
	sort -u "$work/ops" >"$work/ops.sorted"
	[ -s "$work/ops" ] || echo 'no operators' >"$work/ops.sorted"
	same "$list in order, each operator once" "$work/ops.sorted" "$work/ops"
done

for room in $rooms; do
	(cd "$srcdir" && find "$room" \( -name '*.[ch]' -o -name '*.cpp' \) ! -name '*.pb-c.[ch]' ! -name '*-html.c' | sort) >"$work/files"
	for fragment in $(cd "$srcdir" && find "$room" -name room.am); do
		grep -o '%D%/[a-z0-9_/]*\.\(cpp\|[ch]\)\>' "$srcdir/$fragment" |
			sed "s|%D%|${fragment%/room.am}|"
	done | sort >"$work/listed"
	same "the files of $room in its fragments, each once" "$work/files" "$work/listed"
done

(cd "$srcdir" && find bench -name 'bench_*.c' | sed 's/\.c$//' | sort) >"$work/files"
for fragment in $(cd "$srcdir" && find bench -name room.am); do
	sed -n "s|^bench_programs += %D%|${fragment%/room.am}|p" "$srcdir/$fragment"
done | sort >"$work/listed"
same 'the programs of bench in its fragments, each once' "$work/files" "$work/listed"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
