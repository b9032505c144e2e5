#!/bin/sh
# ./quickstart, with a host that is built already: the curl line that it prints
# works as long as it says so, and ends with it otherwise.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
passed=0
failed=0
work=$(mktemp -d) || exit 1
running=
trap '[ -z "$running" ] || kill "$running" 2>/dev/null; wait; rm -rf "$work"' EXIT

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
		cat "$work/out"
	fi
}

says() {
	grep -qe "$1" "$work/out"
}

tree=$work/tree
mkdir -p "$tree/scripts" "$tree/build/quickstart" "$tree/tests"
cp "$srcdir/quickstart" "$tree"
ln -s "$srcdir/examples" "$tree/examples"
ln -s "$srcdir/tests/golden" "$tree/tests/golden"
printf '#!/bin/sh\n' >"$tree/scripts/packages.sh"
cp "$tree/scripts/packages.sh" "$tree/configure"
printf '#!/bin/sh\nexec "%s/serving_host" "$@"\n' "$builddir" >"$tree/build/quickstart/serving_host"
echo 'all:' >"$tree/build/quickstart/Makefile"
chmod +x "$tree/scripts/packages.sh" "$tree/configure" "$tree/build/quickstart/serving_host"

"$tree/quickstart" >"$work/out" 2>&1
check 'quickstart runs to its end' [ $? = 0 ]
check 'it has asked the sample' says '^answer: *{"outputs"'
check 'it has seen an update' says '^ *seen within'
check 'it says that the curl line needs --stay' says 'have ended.*--stay'

"$tree/quickstart" --stay >"$work/out" 2>&1 &
running=$!
tries=0
until says 'until you press' || [ $((tries += 1)) -gt 600 ]; do
	sleep 0.1
done
line=$(sed -n 's/^again: *//p' "$work/out")
check 'with --stay it prints the curl line' [ -n "$line" ]
check 'which gets the same answer' [ "$(eval "$line -sS" | tr -d '\n ')" = "$(sed -n 's/^answer: *//p' "$work/out")" ]
kill "$running"
wait "$running"
running=

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
