#!/bin/sh
# What READMEs and docs name in the tree is there, and commands name it as it is
# seen from where they are run: the checkout, or its build/plain for bench/README.md.
set -uf # words are expanded in there() only
srcdir=${srcdir:-.}
builddir=${builddir:-.}
passed=0
failed=0

words() { # words SED-SCRIPT FILE: those that may be paths in the tree
	sed -n "$1" "$2" | tr -c 'A-Za-z0-9_./*{\n-' '\n' | grep / | grep -v -e '\.\.\.$' -e '{' | sort -u
}

is_ours() { # is_ours PATH: it begins with a name at the root of the tree
	first=${1#../../}
	first=${first#./}
	first=${first%%/*}
	[ "$first" = .libs ] || case $1 in
	/* | build/tests* | build/quickstart*) false ;;
	build/plain/*) true ;;
	*) [ -n "$first" ] && [ -d "$srcdir/$first" ] && [ "$first" != build ] && [ "$first" != .. ] && [ "$first" != . ] ;;
	esac
}

there() { # there PATH...: one of them is, or is built of a source
	set +f
	for path in "$@"; do
		# shellcheck disable=SC2086
		if ls -d $path >/dev/null 2>&1 || [ -e "$path.c" ]; then
			set -f
			return
		fi
	done
	set -f
	false
}

check() { # check DOCUMENT WORD PATH...
	document=$1 word=$2
	shift 2
	if there "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $document names $word, which is not there"
	fi
}

for document in $(set +f; cd "$srcdir" && ls ./*.md docs/*.md ./*/README.md ./*/*/README.md); do
	folder=$srcdir/$(dirname "$document")
	for word in $(words 's/`[^`]*$//; s/[^`]*`\([^`]*\)`/\1 /gp' "$srcdir/$document"); do
		! is_ours "$word" || check "$document" "$word" "$srcdir/${word#../../}" "$folder/$word"
	done
	for word in $(words 's/^    //p' "$srcdir/$document"); do
		is_ours "$word" || continue
		case $document:$word in
		*bench/README.md:../../*) check "$document" "$word" "$srcdir/${word#../../}" ;;
		*bench/README.md:bench/*/bench_*) check "$document" "$word" "$builddir/$word" "$srcdir/$word" ;;
		*bench/README.md:*) check "$document" "$word" "$builddir/$word" ;;
		*:build/plain/*) check "$document" "$word" "$builddir/${word#build/plain/}" ;;
		*) check "$document" "$word" "$srcdir/$word" ;;
		esac
	done
done

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ] && [ "$passed" -gt 50 ]
