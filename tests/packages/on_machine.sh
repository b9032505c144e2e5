#!/bin/sh
# Runs on the machine of test_packages.sh, as root, under its systemd.
set -u
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
passed=0
failed=0
url=http://127.0.0.1:8501

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@" >/tmp/out 2>&1; then
		passed=$((passed + 1))
		echo "ok: $name"
	else
		failed=$((failed + 1))
		echo "failed: $name"
		cat /tmp/out
		journalctl -q -n 20 -u serving-host --no-pager -o cat
	fi
}

soon() { # soon COMMAND...: it succeeds within ten seconds
	tries=0
	until "$@" 2>/dev/null; do
		[ $((tries += 1)) -lt 100 ] || return 1
		sleep 0.1
	done
}

# What packages leave; dpkg's own notes and logs are not theirs.
files() {
	find / -xdev \( -path /packages -o -path /tmp -o -path /var/tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \
		-o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /etc/ld.so.cache -o -path /var/backups \) -prune -o -print | sort
}

install() {
	apt-get install -y -qq --no-install-recommends "$@"
}

sample() {
	curl -sS -m 10 -d @/usr/share/serving-host/sample_request.json $url/v1/models/sample:predict | grep -q '"outputs"'
}

main_pid() {
	systemctl show -P MainPID serving-host
}

has_status() { # has_status LINE: of the process, as /proc tells
	grep -E "^$1\$" "/proc/$(main_pid)/status" || {
		cat "/proc/$(main_pid)/status"
		return 1
	}
}

inside() { # inside COMMAND...: in the folders that the service sees
	nsenter -t "$(main_pid)" -m "$@"
}

not() {
	! "$@"
}

same_pid() {
	[ "$(main_pid)" = "$1" ]
}

files >/packages/before

# ------------------------------------------------------------------ install

check 'the packages are installed' install /packages/old/*.deb
if [ "$failed" -ne 0 ]; then
	echo "$passed passed, $failed failed"
	exit 1
fi
check 'the service is started' systemctl is-active serving-host
check 'and will be at the next boot' systemctl is-enabled serving-host
check 'systemd was told that the model is served' [ "$(systemctl show -P StatusText serving-host)" = serving ]
check 'the sample answers' sample
check 'TensorFlow Serving'"'"'s name is there' sh -c 'tensorflow_model_server --version | grep "^TensorFlow ModelServer: [0-9]"'
check 'the library lies in a folder of its own' sh -c 'ldd /usr/bin/serving_host | grep "/serving-processor/[0-9]*/libserving_processor.so"'
check 'the tool verifies the sample' serving_tool verify /usr/share/serving-host/sample_model/variables/variables
check 'pkg-config'"'"'s file names folders that are there' sh -c '
	for folder in $(sed -n "s/^libdir=//p; s/^includedir=//p" /usr/lib/*/pkgconfig/serving_processor.pc | sed "s|\${prefix}|/usr|"); do ls -d "$folder" || exit 1; done'
check 'manual pages and documents are there' ls /usr/share/man/man8/serving_host.8.gz /usr/share/man/man1/serving_tool.1.gz \
	/usr/share/doc/serving-host/deployment.md.gz /usr/share/serving-host/prometheus/alerts.rules.yml

# ------------------------------------------------------------- restrictions

check 'it is not root' has_status 'Uid:[[:space:]]+6[1-5][0-9]{3}[[:space:]].*'
check 'it has no capability' has_status 'CapEff:[[:space:]]+0+'
check 'and can get none' has_status 'CapBnd:[[:space:]]+0+'
check 'nor new privileges' has_status 'NoNewPrivs:[[:space:]]+1'
check 'its system calls are filtered' has_status 'Seccomp:[[:space:]]+2'
check 'what it sees of the system is read-only' sh -c "not_written() { ! nsenter -t $(main_pid) -m touch \$1; }; not_written /usr/x && not_written /etc/x && not_written /srv/x"
mkdir -p /home/somebody
check 'it sees no home' sh -c "[ -z \"\$(nsenter -t $(main_pid) -m ls /home 2>/dev/null)\" ]"
rmdir /home/somebody
check 'nor devices of the machine' not inside test -e /dev/mem
check 'it may write to its state' inside test -d /var/lib/private/serving-host

# -------------------------------------------------------- operation under them

cp -r /packages/updated/model /srv/model
cp -r /packages/updated/checkpoints /srv/checkpoints
chmod -R a+rX /srv
ask() {
	curl -sS -m 10 -d @/packages/updated/requests/000.request.json $url/v1/models/ssd:predict
}
cat >/etc/serving-host/models.config <<END
{"models": [
  {"name": "sample", "base_path": "/usr/share/serving-host/sample_model"},
  {"name": "ssd", "processor_config": {"savedmodel_dir": "/srv/model", "checkpoint_dir": "/srv/checkpoints",
    "signature_name": "serving_default", "model_store_type": "local", "feature_store_type": "memory", "serialize_protocol": "protobuf",
    "ev_storage_type": 12, "ev_storage_path": "/var/lib/serving-host/ssd", "ev_storage_size": [1, 1]}}]}
END
pid=$(main_pid)
check 'a reload takes up another model, with its rows on an SSD' systemctl reload serving-host
check 'which answers' soon sh -c "curl -sS -m 10 -d @/packages/updated/requests/000.request.json $url/v1/models/ssd:predict | grep '\"outputs\"'"
check 'without a restart' same_pid "$pid"
check 'the rows are below /var/lib' ls /var/lib/private/serving-host/ssd
ask >/tmp/before
deltas=v1/.incremental_checkpoint
mkdir -p /srv/checkpoints/$deltas
cp /packages/updated/timeline/01/checkpoints/$deltas/* /srv/checkpoints/$deltas
chmod -R a+rX /srv
check 'an update that is published is served' soon sh -c "! curl -sS -m 10 -d @/packages/updated/requests/000.request.json $url/v1/models/ssd:predict | cmp -s - /tmp/before"
echo 'nonsense' >>/etc/serving-host/models.config
check 'a reload of a broken configuration does not end it' systemctl reload serving-host
check 'and what was served stays' sample
check 'nothing was refused by the system' sh -c '! journalctl -q -u serving-host -o cat | grep -iE "not permitted|permission denied|read-only file"'
printf 'model_config_list { config { name: "sample" base_path: "/usr/share/serving-host/sample_model" } }\n' >/etc/serving-host/models.config

pid=$(main_pid)
kill -KILL "$pid"
check 'it is started again when it ends by a fault' soon sample
check 'as another process' not same_pid "$pid"
check 'systemd watches it' sh -c '[ "$(systemctl show -P WatchdogUSec serving-host)" = 1min ] && [ -n "$(systemctl show -P WatchdogTimestamp serving-host)" ]'

# ------------------------------------------------------------------- socket

check 'it stops' systemctl stop serving-host
check 'with success' [ "$(systemctl show -P Result serving-host)" = success ]
check 'the socket takes its place' systemctl start serving-host.socket
check 'nothing runs then' not systemctl is-active serving-host
check 'the first request starts the service' curl -sS -m 30 $url/healthz/live
check 'which then serves' soon sample
check 'requests that come while it is restarted wait' sh -c "systemctl restart --no-block serving-host; curl -sS -m 30 $url/healthz/live"
check 'it still answers' soon sample
systemctl stop serving-host.socket serving-host
systemctl start serving-host

# ------------------------------------------------------------------ upgrade

echo '# of the operator' >>/etc/default/serving-host
pid=$(main_pid)
check 'the packages are upgraded' install /packages/new/*.deb
check 'to the new version' sh -c "dpkg-query -W -f '\${Version}\n' serving-host libserving-processor1 | grep -c '+1\$' | grep '^2\$'"
check 'the service runs again' sample
check 'as another process' not same_pid "$pid"
check 'the operator'"'"'s configuration stays' grep -q '# of the operator' /etc/default/serving-host

# ------------------------------------------------------------------ removal

names='serving-host libserving-processor1 libserving-processor-dev serving-processor-tools'
check 'the packages are removed' apt-get remove -y -qq $names
check 'nothing runs' not curl -sS -m 5 $url/healthz/live
check 'the configuration stays' grep -q '# of the operator' /etc/default/serving-host
check 'the program does not' not test -e /usr/bin/serving_host
check 'they are purged, with what only they needed' sh -c "apt-get purge -y -qq serving-host && apt-get autoremove --purge -y -qq"
rm -rf /srv/model /srv/checkpoints
systemctl daemon-reload
files >/packages/after
check 'nothing is left' diff /packages/before /packages/after

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
