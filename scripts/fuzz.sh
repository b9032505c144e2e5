#!/bin/sh
# Fuzzes what reads foreign bytes, with clang's libFuzzer under the address
# sanitizer, in build/fuzz:
#
#   fuzz.sh                      each target: its corpus, then 20 seconds
#   fuzz.sh --seconds=600 http   the targets named, for longer
#
# Three targets at once for each processor.  What a target found lies in
# build/fuzz/found/, to be given to it again: build/fuzz/tests/fuzz/fuzz_http FILE.
# A target passes that found nothing; the last line is "N passed, N failed".
set -eu
cd "$(dirname "$0")/.."
top=$PWD
seconds=20
wanted=

for argument in "$@"; do
	case $argument in
	--seconds=*) seconds=${argument#*=} ;;
	-h | --help | help)
		sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "scripts/${0##*/}"
		exit 0
		;;
	-*)
		echo "fuzz.sh: unknown option $argument (try --help)" >&2
		exit 2
		;;
	*) wanted="$wanted fuzz_${argument#fuzz_}" ;;
	esac
done

scripts/packages.sh --ensure ci

[ -x configure ] || ./autogen.sh >/dev/null
mkdir -p build/fuzz
cd build/fuzz
[ -f Makefile ] || CC=clang CXX=clang++ "$top/configure" --enable-fuzzing --enable-sanitize=address >configure.log || {
	tail -20 configure.log
	exit 1
}
make -s Makefile >configure.log # where it is older than its sources it is made again, and says so
targets=$(make -s list-fuzz-targets)
for target in $wanted; do
	case " $targets " in
	*" tests/fuzz/$target "*) ;;
	*)
		echo "fuzz.sh: no target is called $target; there are: $targets" >&2
		exit 2
		;;
	esac
done
[ -z "$wanted" ] || targets=$(printf 'tests/fuzz/%s ' $wanted)

echo "building the fuzz targets ..."
# shellcheck disable=SC2086
make -s -j"$(nproc)" $targets >build.log 2>&1 || {
	tail -40 build.log
	echo "0 passed, 1 failed"
	exit 1
}

rm -rf found seeds
mkdir found seeds
cat >one.sh <<'END'
#!/bin/sh
# one.sh TOP SECONDS TARGET: what it finds interesting goes to seeds/, the corpus of the tree stays as it is
name=${3##*/fuzz_}
mkdir "seeds/$name"
if "$3" -max_total_time="$2" -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
	-artifact_prefix="found/$name-" "seeds/$name" "$1/tests/fuzz/corpus/$name" >"found/$name.log" 2>&1; then
	echo "PASS: $name, $(sed -n 's/^stat::number_of_executed_units: *//p' "found/$name.log") inputs"
else
	tail -n 60 "found/$name.log"
	echo "FAIL: $name"
fi
END
chmod +x one.sh
# shellcheck disable=SC2086
printf '%s\n' $targets | srcdir=$top xargs -P "$((3 * $(nproc)))" -n 1 ./one.sh "$top" "$seconds" | tee results
failed=$(grep -c '^FAIL: ' results || true)
passed=$(grep -c '^PASS: ' results || true)
[ $((passed + failed)) -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
