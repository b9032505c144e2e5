#!/bin/sh
# The Debian packages on a fresh Debian 12 that is booted in a container, with its own systemd: installed, served,
# restarted, upgraded, removed (on_machine.sh).  As root; .ci/run packages makes the packages before.
#
#   tests/packages/test_packages.sh            those of build/packages
#   tests/packages/test_packages.sh FOLDER
#
# The last line is "N passed, N failed".
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
case ${1:-} in
-h | --help | help)
	sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$top/tests/packages/test_packages.sh"
	exit 0
	;;
-*)
	echo "test_packages.sh: unknown option $1 (try --help)" >&2
	exit 2
	;;
esac
packages=$(cd "${1:-build/packages}" && pwd)
scripts/packages.sh --ensure machine
work=$top/build/machine
root=$work/root
mkdir -p "$work"

# A fresh Debian; it is kept for the next time.
if [ ! -f "$work/debian.tar" ]; then
	echo "fetching Debian 12 ..."
	rm -rf "$root"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl bookworm "$root" >"$work/debootstrap.log" || {
		tail -n 20 "$work/debootstrap.log"
		exit 1
	}
	tar -cf "$work/debian.tar" -C "$root" .
fi
rm -rf "$root"
mkdir "$root"
tar -xf "$work/debian.tar" -C "$root"

# The packages, and the same files as a newer version, to which they are upgraded.
here=$root/packages
mkdir -p "$here/old" "$here/new" "$work/unpacked"
cp "$packages"/*.deb "$here/old"
rm -f "$here/old"/*-dbgsym_*
for package in "$here/old"/*.deb; do
	version=$(dpkg-deb -f "$package" Version)
	rm -rf "$work/unpacked"
	dpkg-deb -R "$package" "$work/unpacked"
	sed -i "s/^Version: .*/&+1/; s/(= $version)/(= $version+1)/" "$work/unpacked/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$work/unpacked" "$here/new" >/dev/null
done
cp tests/packages/on_machine.sh "$here"
cp -r tests/golden/ev-ctr-timeline "$here/updated"

# What they depend on is fetched before: the machine has no network.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
chroot "$root" apt-get -qq update
chroot "$root" sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --download-only /packages/old/*.deb' >/dev/null

cat >"$root/etc/systemd/system/check.service" <<END
[Unit]
Description=checks of the packages
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
StandardOutput=file:/packages/result
StandardError=inherit
ExecStart=/bin/sh /packages/on_machine.sh
TimeoutStartSec=300

[Install]
WantedBy=default.target
END
chroot "$root" systemctl -q enable check.service
echo "booting it ..."
timeout 400 systemd-nspawn --quiet --boot --private-network --register=no --keep-unit -D "$root" >"$work/console.log" 2>&1 </dev/null || true
[ -f "$here/result" ] || {
	tail -n 40 "$work/console.log"
	echo "0 passed, 1 failed"
	exit 1
}
cat "$here/result"
tail -n 1 "$here/result" | grep -q ', 0 failed$'
