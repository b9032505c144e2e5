#!/bin/sh
# The sampled log of predictions (logging_config): what serving_host writes, and that warm-up and replay take it.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
if ! command -v python3 >/dev/null || ! command -v curl >/dev/null; then
	echo "python3 or curl is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
golden=$(cd "$srcdir/tests/golden" && pwd)
for model in tf2-signatures tf1-examples; do
	mkdir -p "$work/$model"
	ln -s "$golden/$model/model" "$work/$model/123"
done
python3 "$srcdir/tests/system/host_samples.py" "$builddir/serving_host" "$work" || {
	tail -n 50 "$work"/*.log
	echo "[  FAILED  ] 1 test(s)."
	exit 1
}
echo "[  PASSED  ] 1 test(s)."
