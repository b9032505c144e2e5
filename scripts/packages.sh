#!/bin/sh
# The Debian 12 packages that the project needs.
#
#   packages.sh LIST            prints it: to build; to test, too; ci, for all that .ci/run does;
#                               packages, to make packages; machine, to try them on a fresh system
#   packages.sh --ensure LIST   installs what is missing, as root with apt; otherwise says
#                               what to install, and fails
set -eu

build_packages="gcc g++ make autoconf automake pkg-config \
protobuf-c-compiler libprotobuf-c-dev libcjson-dev libsnappy-dev zlib1g-dev librocksdb-dev librdkafka-dev liburing-dev libre2-dev libevent-dev libnghttp2-dev libssl-dev libcurl4-openssl-dev libexpat1-dev curl"
test_packages="$build_packages libcmocka-dev strace binutils python3 python3-prometheus-client"
ci_packages="$test_packages python3-grpcio python3-protobuf python3-numpy clang libclang-rt-14-dev clang-format mold xz-utils"
ci_packages="$ci_packages redis-server" # that tests start
ci_packages="$ci_packages python3-yaml prometheus systemd" # what the files of deploy/ are checked with
packages_packages="$build_packages build-essential debhelper lintian python3 xz-utils"
machine_packages="debootstrap systemd-container dpkg-dev"

list() {
	case $1 in
	build) echo "$build_packages" ;;
	test) echo "$test_packages" ;;
	ci) echo "$ci_packages" ;;
	packages) echo "$packages_packages" ;;
	machine) echo "$machine_packages" ;;
	*)
		echo "packages.sh: build, test, ci, packages or machine? (try --help)" >&2
		exit 2
		;;
	esac
}

is_installed() {
	dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
	exit
	;;
--ensure) ;;
*)
	list "${1:-}"
	exit
	;;
esac

packages=$(list "${2:-}")
missing=
for package in $packages; do
	is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "These packages are missing; install them as root and try again:" >&2
	echo "  apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
echo "installing$missing"
apt-get update -qq || true
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
	echo "packages.sh: cannot install$missing" >&2
	exit 1
}
