#!/bin/sh
# Adds up what the test programs of a build folder said:
#
#   sum-tests.sh BUILD     prints the failing ones' output, then "N passed, N failed"
#
# A program counts its own cases ("[  PASSED  ] N test(s)."); one that does not
# is one case.  One that failed without saying how often failed once.  What a
# test left out ("skipped: NAME: REASON") is told as well.  A log that shows a
# secret of the tests, all of which have "s3cr3t" in them, is a failure, too.
set -u
case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit 0
	;;
'' | -*)
	echo "sum-tests.sh: which build folder? (try --help)" >&2
	exit 2
	;;
esac
cd "$1" || exit 1
passed=0
failed=0
for result in $(find tests -name '*.trs' | sort); do
	log=${result%.trs}.log
	good=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
	bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test(s).*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
	sed -n 's/^skipped: /SKIP: /p' "$log"
	case $(sed -n 's/^:test-result: //p' "$result") in
	PASS*) [ "$good" -gt 0 ] || good=1 ;;
	SKIP*) ;;
	*)
		[ "$bad" -gt 0 ] || bad=1
		echo "---- ${result%.trs}"
		tail -60 "$log"
		;;
	esac
	passed=$((passed + good))
	failed=$((failed + bad))
done
for log in $(grep -rl --include='*.log' s3cr3t tests); do
	echo "---- $log shows a secret"
	grep -m 5 s3cr3t "$log"
	failed=$((failed + 1))
done
[ $((passed + failed)) -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
