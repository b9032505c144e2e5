#!/bin/sh
# Every header compiles alone; the public one also as C++ and as strict C99.  One that its own source includes first
# has been compiled alone by the build.
set -u
srcdir=${srcdir:-.}
CC=${CC:-cc}
CXX=${CXX:-c++}
passed=0
failed=0

# Included rather than compiled: an inline function in it need not be used.
compiles() { # compiles HEADER COMPILER ARGUMENTS...
	header=$1
	shift
	if echo "#include \"$header\"" | "$@" -Wall -Wextra -Werror -I"$srcdir" -fsyntax-only -; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $header with $*"
	fi
}

is_first() { # is_first HEADER: in the source of its name
	[ "$(sed -n '/^#include/{p;q;}' "$srcdir/${1%.h}.c" 2>/dev/null)" = "#include \"$1\"" ]
}

for header in $(cd "$srcdir" && find base storage engine model_loader incremental row_stream session_group processor api tools \
	-name '*.h' | sort); do
	case $header in
	model_loader/proto/proto_internal.h | model_loader/saved_model/signature_def.h) continue ;; # includes what the build generates
	esac
	if is_first "$header"; then
		passed=$((passed + 1))
		continue
	fi
	compiles "$header" $CC -std=gnu11 -D_GNU_SOURCE -x c
done
compiles api/serving_processor.h $CC -std=c99 -pedantic -x c
compiles api/serving_processor.h $CXX -std=c++11 -pedantic -x c++

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
