#!/bin/sh
# The hosts of examples/, built and run by the commands of their READMEs as if the library were installed: they compile
# without a warning, print what examples/README.md says, and their scores are TensorFlow's.
#
# One whose tools are not there is skipped, by name.  Under a sanitizer the hosts would need its runtime: skipped, too.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
[ "${SANITIZED:-}" != yes ] || exit 77
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# What `make install` gives a host.
prefix=$work/prefix
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/share/serving-processor" "$work/bin"
ln -s "$srcdir/api/serving_processor.h" "$prefix/include"
ln -s "$srcdir/api/predict.proto" "$prefix/share/serving-processor"
ln -s "$builddir/.libs/libserving_processor.so" "$prefix/lib"
sed -e "s,^prefix=.*,prefix=$prefix," -e 's,^libdir=.*,libdir=${prefix}/lib,' -e 's,^includedir=.*,includedir=${prefix}/include,' \
	"$builddir/api/serving_processor.pc" >"$prefix/lib/pkgconfig/serving_processor.pc"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PATH="$work/bin:$PATH:/usr/local/go/bin" GOPROXY=off GOTOOLCHAIN=local HOME="${HOME:-$work}"
cp -r "$srcdir/examples" "$work" && chmod -R u+w "$work/examples"

commands() { # commands README: the indented lines
	sed -n 's/^    //p' "$1"
}

# Scores are compared by themselves: the host in C has one more.
wanted_scores=$(sed 's/[^0-9., ]//g; s/,/ /g' "$srcdir/examples/sample_response.json" | xargs printf 'score %.4f %.4f\n')
commands "$srcdir/examples/README.md" | grep -v '^score ' >"$work/wanted"

is_right() { # is_right NAME: what it said
	grep -v '^score ' "$work/$1.out" | diff "$work/wanted" - &&
		[ "$(grep '^score ' "$work/$1.out" | sort -u)" = "$wanted_scores" ] &&
		[ "$(grep -c '^score ' "$work/$1.out")" -ge 2 ] && [ ! -s "$work/$1.err" ]
}

play() { # play NAME TOOL...
	name=$1
	shift
	for tool in "$@"; do
		command -v "$tool" >/dev/null || {
			echo "skipped: examples/$name: there is no $tool"
			return
		}
	done
	commands "$srcdir/examples/$name/README.md" >"$work/$name.sh"
	(cd "$work/examples/$name" && sh -eu "$work/$name.sh") >"$work/$name.out" 2>"$work/$name.err"
	if [ $? = 0 ] && is_right "$name"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: examples/$name"
		cat "$work/$name.out" "$work/$name.err"
	fi
}

play c gcc pkg-config protoc-c
play cpp g++ pkg-config
play go go gcc pkg-config
play java javac java gcc pkg-config
# A package of the system is not seen by another Python before it in the path.
numpy=python3-numpy
for python in python3 /usr/bin/python3; do
	if [ "$numpy" = python3-numpy ] && "$python" -c 'import numpy' 2>/dev/null; then
		numpy=$(command -v "$python")
	fi
done
[ "$numpy" = python3-numpy ] || ln -s "$numpy" "$work/bin/python3"
play python "$numpy" pkg-config

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
