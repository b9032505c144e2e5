#!/bin/sh
# The manual pages describe the flags that --help lists, and no others, with the
# same defaults.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

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

# A line for each flag that has an entry of its own: its name, then its text.
described() {
	sed 's/\\-/-/g' "$1" | awk '
		/^\.(TP|S[HS])/ { if (name != "") print name, text; name = text = ""; first = /^\.TP/; next }
		first { first = 0; if (match($0, /--[a-z_]+/)) name = substr($0, RSTART + 2, RLENGTH - 2) }
		{ text = text " " $0 }
		END { if (name != "") print name, text }'
}

for page in serving_host.8 serving_tool.1; do
	"$builddir/${page%.*}" --help >"$work/help"
	described "$srcdir/docs/$page" >"$work/described"
	grep -oE '(^ |,) +--[a-z_]+' "$work/help" | tr -d ' ,-' | sort >"$work/flags"
	awk '{ print $1 }' "$work/described" | sort >"$work/names"
	check "docs/$page has the flags of --help" diff "$work/flags" "$work/names"
	# "  --name=VALUE", then a line that ends with its default
	awk '/^  --/ { sub(/^ +--/, ""); sub(/[=,].*/, ""); name = $0 }
		/ \(default [^)]*\)$/ { sub(/.*\(default /, ""); sub(/\)$/, ""); print name, $0 }' \
		"$work/help" >"$work/defaults"
	while read -r name default; do
		check "docs/$page: the default of --$name is $default" \
			grep -q -- "^$name .*[^0-9a-z]$default\([^0-9a-z]\|$\)" "$work/described"
	done <"$work/defaults"
done

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
