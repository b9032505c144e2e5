#!/bin/sh
# Golden models with EmbeddingVariables, all tables on the SSD tier.
set -u
srcdir=${srcdir:-.}
others=${SP_GOLDEN_DIR:-$srcdir/../shared/golden}
work=$(mktemp -d) || exit 1
# Dozens of small tables, each made durable: on a busy disk that takes long.
memory=$(mktemp -d /dev/shm/sp-test-XXXXXX 2>/dev/null) || memory=$work
trap 'rm -rf "$work" "$memory"' EXIT
passed=0
failed=0

count() { # count WHAT COMMAND...
	what=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $what"
		tail -20 "$work/out"
	fi
}

play() { # play MODEL POLICY FOLDER
	[ -d "$srcdir/tests/golden/$1" ] || [ -d "$others/$1" ] || return
	SP_GOLDEN_CONFIG="{\"ev_storage_type\": 12, \"ev_storage_path\": \"$3/ssd\",
		\"ev_storage_size\": [1, 1], \"ev_cache_policy\": \"$2\"}"
	export SP_GOLDEN_CONFIG
	count "$1 with $2" tests/system/test_golden_abi "$1"
}

play ev-ctr lfu "$work"
play ev-ctr lru "$work"
play ev-frequency lfu "$work"
count 'tables lie on the SSD' ls -d "$work"/ssd/sp-ssd-*
for model in ev-ctr-checkpoint ev-nested ev-groups ev-parts ev-minimal ev-wdl ev-partitioned \
	ev-filter-counter ev-int32-keys ev-incremental; do
	play "$model" lfu "$memory"
done
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
