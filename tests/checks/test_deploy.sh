#!/bin/sh
# deploy/ is true of the tree, and right by the tools of those who read it: Prometheus and systemd.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
passed=0
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# A package of the system is not seen by another Python before it in the path.
python=
for candidate in python3 /usr/bin/python3; do
	if [ -z "$python" ] && "$candidate" -c 'import yaml' 2>/dev/null; then
		python=$candidate
	fi
done
if [ -z "$python" ] || ! command -v promtool >/dev/null || ! command -v systemd-analyze >/dev/null; then
	echo "python3-yaml, prometheus or systemd is not installed"
	exit 77
fi

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
		cat "$work/out"
	fi
}

check 'deploy/ names what is there' env PYTHONDONTWRITEBYTECODE=1 "$python" "$srcdir/tests/checks/deploy.py" "$srcdir"

cd "$srcdir/deploy/prometheus" || exit 1
check 'the configuration of Prometheus, with its rules' promtool check config prometheus.yml
check 'each alert fires' promtool test rules ./*.test.yml

# The program is not installed where the tests run.
cp "$srcdir/deploy/systemd/serving-host.socket" "$work"
sed 's|^ExecStart=/usr/bin/serving_host|ExecStart=/bin/true|; s|^Documentation=man:[^ ]*|Documentation=|' \
	"$srcdir/deploy/systemd/serving-host.service" >"$work/serving-host.service"
verify() { # verify UNIT...: systemd has nothing to say, not even of a line that it passes over
	said=$(systemd-analyze verify --recursive-errors=no "$@" 2>&1)
	echo "$said"
	[ -z "$said" ]
}
check 'the units' verify "$work/serving-host.service" "$work/serving-host.socket"
check 'the service is shut off' systemd-analyze security --offline=true --threshold=15 --no-pager "$work/serving-host.service"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
