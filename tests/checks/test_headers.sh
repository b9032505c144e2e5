#!/bin/sh
# Every header compiles alone; the public one also as C++ and as strict C99.
set -u
srcdir=${srcdir:-.}
CC=${CC:-cc}
CXX=${CXX:-c++}
passed=0
failed=0

count() {
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $*"
	fi
}

for header in $(cd "$srcdir" && find base storage engine model_loader incremental session_group processor api \
	-name '*.h' | sort); do
	case $header in
	model_loader/proto_internal.h) continue ;; # includes what the build generates
	esac
	count $CC -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$srcdir" -fsyntax-only -x c "$srcdir/$header"
done
count $CC -std=c99 -pedantic -Wall -Wextra -Werror -I"$srcdir" -fsyntax-only -x c "$srcdir/api/serving_processor.h"
count $CXX -std=c++11 -pedantic -Wall -Wextra -Werror -I"$srcdir" -fsyntax-only -x c++ "$srcdir/api/serving_processor.h"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
