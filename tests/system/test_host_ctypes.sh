#!/bin/sh
# The library in a Python host.  Under a sanitizer the host would need its runtime first: skipped.
set -u
srcdir=${srcdir:-.}
if [ "${SANITIZED:-}" = yes ]; then
	exit 77
fi
if python3 "$srcdir/tests/system/host_ctypes.py" "$PWD/.libs/libserving_processor.so" \
	"$srcdir/tests/golden/ev-ctr/model" "$srcdir/tests/golden/ev-ctr/requests/001.request.pb" \
	"$srcdir/tests/golden/ev-ctr/requests/001.response.pb"; then
	echo "[  PASSED  ] 1 test(s)."
else
	echo "[  FAILED  ] 1 test(s)."
	exit 1
fi
