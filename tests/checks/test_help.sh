#!/bin/sh
# Every program says how it is called when it is asked by -h, --help or help,
# and refuses an option that it does not know.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# says WANTED NAME FILE COMMAND...: the exit status is WANTED, and what is said goes to $work/FILE alone
says() {
	wanted=$1 name=$2 file=$3
	shift 3
	"$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	other=$([ "$file" = out ] && echo err || echo out)
	if [ "$got" = "$wanted" ] && [ -s "$work/$file" ] && [ ! -s "$work/$other" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name: exit status $got, wanted $wanted"
		cat "$work/out" "$work/err"
	fi
}

answers_help() { # answers_help COMMAND...
	for word in -h --help help; do
		says 0 "$* $word" out "$@" "$word"
	done
}

refuses_options() { # refuses_options COMMAND...
	says 2 "$* --no-such-option" err "$@" --no-such-option
	if grep -q -e --help "$work/err"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $* --no-such-option does not point to --help"
	fi
}

for program in "$builddir/serving_host" "$builddir/serving_tool" "$builddir"/bench/*/bench_*; do
	case $program in
	*.o | *'*') continue ;;
	esac
	answers_help "$program"
	refuses_options "$program"
done
for command in inspect get verify image publish; do
	says 0 "serving_tool $command -h" out "$builddir/serving_tool" "$command" -h
	says 0 "serving_tool $command PATH --help" out "$builddir/serving_tool" "$command" PATH --help
done
for script in "$srcdir"/run-tests "$srcdir"/quickstart "$srcdir"/autogen.sh "$srcdir"/.ci/run "$srcdir"/scripts/*.sh \
	"$srcdir"/examples/serve_sample "$srcdir"/scripts/build-packages \
	"$srcdir"/tests/checks/check_*.sh "$srcdir"/tests/packages/test_packages.sh; do
	[ -e "$script" ] || continue # a tarball has no .ci
	answers_help "$script"
	refuses_options "$script"
done
for script in "$srcdir"/scripts/*.py "$srcdir"/bench/*/*.py; do
	answers_help env PYTHONDONTWRITEBYTECODE=1 python3 "$script"
done
# Those of bench/ are not built here.
for source in "$srcdir"/bench/*/bench_*.c; do
	says 0 "$source reads options" out grep 'sp_bench_read_options(argc, argv, usage)' "$source"
done

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
