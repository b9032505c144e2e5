#!/bin/sh
# What a newcomer runs first: what is missing is named, and ./run-tests tells how
# far it is.  Programs that stand for the system's are in front of the path.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
passed=0
failed=0
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
		[ ! -e "$work/out" ] || cat "$work/out"
	fi
}

run() { # run COMMAND...: what it says is in $work/out, its exit status in $status
	"$@" >"$work/out" 2>&1 </dev/null && status=0 || status=$?
}

says() {
	grep -qe "$1" "$work/out"
}

program() { # program NAME: its script is on the input
	mkdir -p "$work/bin"
	{
		echo '#!/bin/sh'
		cat
	} >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# ---------------------------------------------------------------- packages.sh

program dpkg-query <<'END'
case $* in
*libcmocka-dev | *strace) exit 1 ;;
esac
echo 'install ok installed'
END
program id <<'END'
echo 1000
END
packages=$srcdir/scripts/packages.sh
run env PATH="$work/bin:$PATH" "$packages" --ensure test
check 'who is not root is told what is missing' [ "$status" = 1 ]
check 'all of it' says 'libcmocka-dev strace$'
run env PATH="$work/bin:$PATH" "$packages" --ensure build
check 'nothing is missing' [ "$status" = 0 ]
run env PATH="$work/bin:$PATH" "$packages" --ensure nonsense
check 'an unknown list is refused' [ "$status" = 2 ]
program id <<'END'
echo 0
END
program apt-get <<'END'
echo 'cannot resolve deb.debian.org' >&2
exit 100
END
run env PATH="$work/bin:$PATH" "$packages" --ensure test
check 'without a network it fails' [ "$status" = 1 ]
check 'and names what it could not install' says 'cannot install.* libcmocka-dev'

# ----------------------------------------------------------------- autogen.sh

mkdir "$work/a path"
cp "$srcdir/autogen.sh" "$work/a path"
run "$work/a path/autogen.sh"
check 'a path with a space in it is refused' [ "$status" = 1 ]
check 'and said to have one' says 'space'
mkdir "$work/few" "$work/checkout"
cp "$srcdir/autogen.sh" "$work/checkout"
for program in sh dirname; do
	ln -s "$(command -v $program)" "$work/few/$program"
done
run env PATH="$work/few" sh "$work/checkout/autogen.sh"
check 'a build tool that is missing stops it' [ "$status" = 1 ]
check 'and is named' says 'autoreconf not found'

# ------------------------------------------------------------------ run-tests

tree=$work/tree
mkdir -p "$tree/scripts"
cp "$srcdir/run-tests" "$tree"
cp "$srcdir/scripts/sum-tests.sh" "$tree/scripts"
printf '#!/bin/sh\n' >"$tree/scripts/packages.sh"
cat >"$tree/configure" <<'END'
#!/bin/sh
mkdir tests
cp "$(dirname "$0")/makefile" Makefile
END
# One file and two tests; each waits until its line has been seen.
cat >"$tree/makefile" <<'END'
seen = for i in $$(seq 600); do if grep -q "$(1)" "$$SEEN"; then exit; fi; sleep 0.1; done; exit 1
check: file
	@[ -z "$(TESTS)" ] || { echo "PASS: tests/one"; touch tests/one.log; echo ':test-result: PASS' >tests/one.trs; $(call seen,^tests: 1 of 2), 0 failed; }
	@[ -z "$(TESTS)" ] || { echo "FAIL: tests/two"; echo 'why it failed' >tests/two.log; echo ':test-result: FAIL' >tests/two.trs; exit 1; }
TESTS = tests/one tests/two
file:
	@echo "  CC  " file; $(call seen,^building: 1 of 1 files)
	@touch file
list-tests:
	@echo $(TESTS)
tests/one.log:
	@echo 'PASS: tests/one'; touch $@; echo ':test-result: PASS' >tests/one.trs
END
chmod +x "$tree/configure" "$tree/scripts/packages.sh"
SEEN=$work/out
export SEEN
run "$tree/run-tests"
check 'a failing test fails the run' [ "$status" = 1 ]
check 'the build tells how far it is' says '^building: 1 of 1 files, [0-9]*:[0-9][0-9]$'
check 'the tests tell how far they are' says '^tests: 1 of 2, 0 failed, [0-9]*:[0-9][0-9]$'
check 'what the failing test said is told' says '^why it failed$'
check 'the last line is the sum' [ "$(tail -n 1 "$work/out")" = '1 passed, 1 failed' ]
run "$tree/run-tests" tests/one
check 'one test runs alone' [ "$status:$(tail -n 1 "$work/out")" = '0:1 passed, 0 failed' ]
echo 'password s3cr3t' >"$tree/build/tests/tests/three.log"
run "$tree/run-tests" tests/one
check 'a secret in a log fails the run' [ "$status:$(tail -n 1 "$work/out")" = '1:1 passed, 1 failed' ]
check 'and the log is named' says 'tests/three.log shows a secret'
run "$tree/run-tests" tests/three
check 'a test that does not exist is an error' [ "$status" = 2 ]
check 'and named' says 'tests/three'

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
