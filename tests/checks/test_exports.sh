#!/bin/sh
# What the library shows to its host: DeepRec's four functions and our own
# prefix, nothing of what is linked into it; and that it can be taken as it is.
set -u
library=${builddir:-.}/.libs/libserving_processor.so
passed=0
failed=0

check() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'failed: %s\n  got:    %s\n  wanted: %s\n' "$1" "$2" "$3"
	fi
}

names() {
	nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort
}

check 'the four names of DeepRec, and no other' \
	"$(names | grep -v '^serving_processor_' | tr '\n' ' ')" \
	'batch_process get_serving_model_info initialize process '
check 'every function of the header, and no other' \
	"$(names | tr '\n' ' ')" \
	"$(tr '\n' ' ' <"${srcdir:-.}/api/serving_processor.h" |
		sed 's/SERVING_PROCESSOR_API/\n&/g' |
		sed -n 's/^SERVING_PROCESSOR_API [^(]*[ *]\([a-z_]*\)(.*/\1/p' | LC_ALL=C sort | tr '\n' ' ')"
check 'nothing of ours is missing in it' \
	"$(nm -D --undefined-only "$library" | grep -c ' sp_')" 0
check 'the name it is found by' \
	"$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" \
	libserving_processor.so
check 'calls bound to itself' \
	"$(readelf -d "$library" | grep -c '(SYMBOLIC)')" 1

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
