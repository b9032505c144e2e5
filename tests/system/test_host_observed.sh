#!/bin/sh
# What serving_host writes and sends about its requests: the access log, the log of slow ones, traces.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
if ! command -v python3 >/dev/null || ! command -v curl >/dev/null; then
	echo "python3 or curl is not installed"
	exit 77
fi
# A package of the system is not seen by another Python before it in the path.
python=python3
if /usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
	python=/usr/bin/python3
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/model" && ln -s "$(cd "$srcdir/tests/golden/keras2-half" && pwd)/model" "$work/model/7"
"$python" "$srcdir/tests/system/host_observed.py" "$builddir/serving_host" "$work" || {
	tail -n 50 "$work"/*.log
	echo "[  FAILED  ] 1 test(s)."
	exit 1
}
echo "[  PASSED  ] 1 test(s)."
