#!/bin/sh
# Models in object stores: a server of ours that speaks S3, OSS, WebHDFS and HTTP, and fails on demand; web servers of others.
set -u
srcdir=${srcdir:-.}
command -v python3 >/dev/null || {
	echo "python3 is missing: skipped"
	exit 77
}
work=$(mktemp -d) || exit 1
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT
passed=0
failed=0
# No credential of whoever runs the test.
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION \
	AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 http_proxy https_proxy HTTP_PROXY HTTPS_PROXY || true
HOME=$work
export HOME

good() { passed=$((passed + 1)); }
bad() { # bad WHAT [FILE]
	failed=$((failed + 1))
	echo "failed: $1"
	[ $# -lt 2 ] || tail -20 "$2"
}
count() { # count WHAT COMMAND...
	what=$1
	shift
	if "$@" >"$work/out" 2>&1; then good; else bad "$what" "$work/out"; fi
	cat "$work/out" >>"$work/all"
}
wait_for() { # wait_for FILE
	i=0
	while [ ! -s "$1" ] && [ $i -lt 600 ]; do
		i=$((i + 1))
		sleep 0.05
	done
}
ask() { curl -s "http://127.0.0.1:$port$1"; }
fault() { ask "/-/fault?kind=$1&count=$2" >/dev/null; }
requests() { ask /-/log | grep -c "$1"; }

python3 "$srcdir/tests/system/object_server.py" / "$work/port" --key=AKIDTEST:s3cr3t-of-stores >"$work/server.log" 2>&1 &
pids="$pids $!"
wait_for "$work/port"
port=$(cat "$work/port")

# Golden models through each store: the same answers as from the disk, byte for byte, and the same versions as they come.
others=${SP_GOLDEN_DIR:-$srcdir/../shared/golden}
mkdir "$work/answers"
SP_GOLDEN_ANSWERS=$work/answers
export SP_GOLDEN_ANSWERS
golden() { # golden STORE CONFIG MODEL
	SP_GOLDEN_STORE=$1 SP_GOLDEN_CONFIG=$2 tests/system/test_golden_abi "$3"
}
play() { # play STORE CONFIG MODEL
	count "$3 by $1 with $2" golden "$@"
}
keys="\"store_access_id\": \"AKIDTEST\", \"store_access_key\": \"s3cr3t-of-stores\""
s3="{\"model_store_type\": \"s3\", \"store_endpoint\": \"http://127.0.0.1:$port\", $keys}"
oss="{\"model_store_type\": \"oss\", \"oss_endpoint\": \"http://127.0.0.1:$port\", \"oss_access_id\": \"AKIDTEST\",
	\"oss_access_key\": \"s3cr3t-of-stores\"}"
oss4="{\"model_store_type\": \"oss\", \"store_endpoint\": \"http://127.0.0.1:$port\", \"store_region\": \"cn-test\", $keys}"
hdfs='{"model_store_type": "hdfs", "store_user": "AKIDTEST"}'
hdfs_token="{\"model_store_type\": \"hdfs\", \"store_token\": \"s3cr3t-of-stores\", \"store_endpoint\": \"127.0.0.1:$port\"}"
http='{"model_store_type": "http"}'

# Versions as they come take their time, beside all else and at a server without faults.
python3 "$srcdir/tests/system/object_server.py" / "$work/port2" --key=AKIDTEST:s3cr3t-of-stores >>"$work/server.log" 2>&1 &
pids="$pids $!"
wait_for "$work/port2"
port2=$(cat "$work/port2")
timelines=
play_timeline() { # play_timeline MODEL STORE CONFIG [STORE CONFIG ...]
	model=$1
	shift
	[ -d "$srcdir/tests/golden/$model" ] || [ -d "$others/$model" ] || return
	(
		tests/system/test_golden_abi "$model" || exit
		while [ $# -gt 1 ]; do
			golden "$(echo "$1" | sed "s/:$port/:$port2/")" "$(echo "$2" | sed "s/:$port/:$port2/")" "$model" || exit
			shift 2
		done
	) >"$work/timeline_$model" 2>&1 &
	timelines="$timelines $!:$model"
}
web="http://127.0.0.1:$port/-/web"
webhdfs="webhdfs://127.0.0.1:$port"
if [ -n "${SP_TEST_LONG:-}" ]; then
	for model in ev-ctr-timeline ev-frequency ev-incremental ev-partitioned; do
		play_timeline $model s3://files "$s3" oss://files "$oss" "$webhdfs" "$hdfs" "$web" "$http"
	done
else
	play_timeline ev-ctr-timeline s3://files "$s3"
	play_timeline ev-frequency oss://files "$oss"
	play_timeline ev-partitioned "$webhdfs" "$hdfs"
	play_timeline ev-incremental "$web" "$http"
fi

# The others each from one store; with SP_TEST_LONG from all.
turn() { # turn NUMBER MODEL
	case $1 in
	0) play s3://files "$s3" "$2" ;;
	1) play oss://files "$oss" "$2" ;;
	2) play oss://files "$oss4" "$2" ;;
	3) play "$webhdfs" "$hdfs" "$2" ;;
	4) play hdfs://namenode:8020 "$hdfs_token" "$2" ;;
	5) play "$web" "$http" "$2" ;;
	6) play "http://127.0.0.1:$port/-/plain" "$http" "$2" ;;
	esac
}
single='ev-!(ctr-timeline|frequency|incremental|partitioned)'
count 'local models' tests/system/test_golden_abi "$single"
count 'a local model with assets' tests/system/test_golden_abi tf1-asset-reads
kept=$(ls "$work/answers" | grep -c '^ev-ctr[.]')
play s3://files "$s3" tf1-asset-reads
next=0
for model in $(cd "$srcdir/tests/golden" && ls -d ev-*; cd "$others" 2>/dev/null && ls -d ev-*); do
	case $model in
	ev-ctr-timeline | ev-frequency | ev-incremental | ev-partitioned) continue ;;
	esac
	for number in 0 1 2 3 4 5 6; do
		[ -z "${SP_TEST_LONG:-}" ] && [ $number -ne $next ] || turn $number "$model"
	done
	next=$(((next + 1) % 7))
done
if [ "$kept" -ge 8 ] && [ "$(ls "$work/answers" | grep -c '^ev-ctr[.]')" = "$kept" ]; then good; else bad 'answers were not compared'; fi

# One object of some blocks, and what may go wrong with it.
object=$work/object
head -c 20000003 /dev/urandom >"$object"
read_object() { # read_object PATH [KEY=VALUE ...]: by S3 unless the path says otherwise
	path=$1
	shift
	tests/system/read_object "$path" id=AKIDTEST key=s3cr3t-of-stores endpoint="http://127.0.0.1:$port" "$@"
}
wanted=$(tests/system/read_object "$object")
same() { # same WHAT PATH [KEY=VALUE ...]
	what=$1
	shift
	got=$(read_object "$@")
	echo "$got" >>"$work/all"
	if [ "$got" = "$wanted" ]; then good; else bad "$what: $got, not $wanted"; fi
}
refused() { # refused WHAT PATTERN PATH [KEY=VALUE ...]
	what=$1
	pattern=$2
	shift 2
	got=$(read_object "$@") && bad "$what is taken: $got" && return
	echo "$got" >>"$work/all"
	if echo "$got" | grep -q "$pattern"; then good; else bad "$what: $got, not $pattern"; fi
}
same 'S3' "s3://files$object"
same 'a web server' "$web$object"
same 'a web server without ranges' "http://127.0.0.1:$port/-/plain$object"
for kind in 500 503 reset short error200 range; do
	fault $kind 4
	same "S3 with $kind" "s3://files$object"
done
for kind in short range reset; do
	fault $kind 3
	same "a web server with $kind" "$web$object"
done
fault reset 2
same 'no ranges, with reset' "http://127.0.0.1:$port/-/plain$object"
fault drip 1
same 'a slow drip' "s3://files$object"
fault stall 1
same 'a server that stops to send' "s3://files$object" timeout_ms=6000
fault 500 1000
refused 'a server that fails for ever' 'io: s3://files/.*given up after 1500 ms: .*HTTP 500, InternalError' \
	"s3://files$object" timeout_ms=1500
fault redirect 9
refused 'a redirect to elsewhere' 'redirects to another place' "s3://files$object"
fault etag 9
refused 'another tag' 'changed while it was read' "s3://files$object"
fault none 0
refused 'a wrong key' 'HTTP 403, SignatureDoesNotMatch' "s3://files$object" key=wrong
refused 'what is not there' 'not_found: s3://files/none' s3://files/none/x
refused 'a user in a URL' 'has a user or a query' "http://user:s3cr3t-of-stores@127.0.0.1:$port/x"
refused 'nobody at the address' 'io: .*refused\|io: .*onnect' http://127.0.0.1:1/x timeout_ms=1500

# It changes between the opening and the reading.
cp "$object" "$work/changing"
mkfifo "$work/go"
read_object "s3://files$work/changing" opened="$work/opened" <"$work/go" >"$work/changed" &
changing=$!
exec 3>"$work/go"
wait_for "$work/opened"
printf x >>"$work/changing"
exec 3>&-
wait $changing
if grep -q 'changed while it was read' "$work/changed"; then good; else bad 'a change meanwhile' "$work/changed"; fi

# What is kept in files and by the machine: a profile, and the metadata service.
mkdir "$work/.aws"
printf '[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = s3cr3t-of-stores\n' >"$work/.aws/credentials"
got=$(AWS_ENDPOINT_URL="http://127.0.0.1:$port" tests/system/read_object "s3://files$object")
if [ "$got" = "$wanted" ]; then good; else bad "a profile: $got"; fi
rm -r "$work/.aws"
got=$(AWS_ENDPOINT_URL="http://127.0.0.1:$port" AWS_EC2_METADATA_SERVICE_ENDPOINT="http://127.0.0.1:$port/-/metadata" \
	tests/system/read_object "s3://files$object")
if [ "$got" = "$wanted" ]; then good; else bad "the metadata service: $got"; fi
got=$(AWS_ENDPOINT_URL="http://127.0.0.1:$port" AWS_EC2_METADATA_DISABLED=true tests/system/read_object "s3://files$object")
if echo "$got" | grep -q "credentials for 'files'"; then good; else bad "no credentials: $got"; fi

# TLS: only with a certificate that is trusted.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 2 -subj /CN=localhost \
	-addext 'subjectAltName=DNS:localhost' >/dev/null 2>&1
python3 "$srcdir/tests/system/object_server.py" / "$work/tls_port" --tls="$work/cert.pem:$work/key.pem" >>"$work/server.log" 2>&1 &
pids="$pids $!"
wait_for "$work/tls_port"
tls="https://localhost:$(cat "$work/tls_port")/-/web$object"
got=$(tests/system/read_object "$tls" ca_file="$work/cert.pem")
if [ "$got" = "$wanted" ]; then good; else bad "TLS: $got"; fi
got=$(tests/system/read_object "$tls")
if echo "$got" | grep -q certificate; then good; else bad "a certificate that nobody knows: $got"; fi

# Web servers of others, as they come.
python3 -u -m http.server --bind 127.0.0.1 --directory / 0 >"$work/python.log" 2>/dev/null &
pids="$pids $!"
wait_for "$work/python.log"
other=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/python.log" | head -1)
same "Python's server" "http://127.0.0.1:$other$object"
play "http://127.0.0.1:$other" "$http" ev-ctr-checkpoint

if command -v nginx >/dev/null; then
	mkdir "$work/nginx"
	i=0
	while [ $i -lt 20 ] && [ ! -s "$work/nginx/pid" ]; do # its port may be taken
		i=$((i + 1))
		other=$((20000 + ($$ * 20 + i) % 10000))
		cat >"$work/nginx/conf" <<-END
			user root; error_log $work/nginx/log; pid $work/nginx/pid; worker_processes 1;
			events { worker_connections 64; }
			http {
				access_log off; client_body_temp_path $work/nginx/1; proxy_temp_path $work/nginx/2;
				fastcgi_temp_path $work/nginx/3; uwsgi_temp_path $work/nginx/4; scgi_temp_path $work/nginx/5;
				server { listen 127.0.0.1:$other; root /; autoindex on; }
			}
		END
		nginx -c "$work/nginx/conf" >/dev/null 2>&1
		sleep 0.1
	done
	pids="$pids $(cat "$work/nginx/pid")"
	same nginx "http://127.0.0.1:$other$object"
	play "http://127.0.0.1:$other" "$http" ev-ctr-checkpoint
fi

# Amazon's client against our server, and ours against moto's: with a Python that has them.
if [ -n "${SP_OBJECT_PYTHON:-}" ]; then
	count 'boto3 and moto' "$SP_OBJECT_PYTHON" "$srcdir/tests/system/object_clients.py" \
		"$srcdir/tests/system/object_server.py" tests/system/read_object "$work/clients"
fi

# The host: finds versions, follows them, goes on while the store is down, and says so.
mkdir -p "$work/models/m"
cp -r "$srcdir/tests/golden/keras2-mlp/model" "$work/models/m/1"
AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=s3cr3t-of-stores AWS_ENDPOINT_URL="http://127.0.0.1:$port" \
	./serving_host --rest_api_port=0 --port_file="$work/host_port" --model_name=m --model_base_path="s3://files$work/models/m" \
	--admin_routes --file_system_poll_wait_seconds=1 >"$work/host.log" 2>&1 &
pids="$pids $!"
until_says() { # until_says WHAT PATTERN COMMAND...: tries for half a minute
	what=$1
	pattern=$2
	shift 2
	i=0
	while ! "$@" 2>/dev/null | grep -q "$pattern"; do
		i=$((i + 1))
		if [ $i -gt 600 ]; then
			bad "$what" "$work/host.log"
			return
		fi
		sleep 0.05
	done
	good
}
wait_for "$work/host_port"
host=http://127.0.0.1:$(cat "$work/host_port")
until_says 'version 1' '"version": *"1"' curl -s "$host/v1/models/m"
cp -r "$work/models/m/1" "$work/models/m/next"
mv "$work/models/m/next" "$work/models/m/2"
until_says 'version 2 is served' 'SavedModel 2 is live\|version 2 is live' cat "$work/host.log"
begun=$(date +%s)
before=$(requests list-type)
sleep 2
lists=$(($(requests list-type) - before))
seconds=$(($(date +%s) - begun + 1))
if [ $lists -le $((4 * seconds)) ]; then good; else bad "$lists lists in $seconds seconds"; fi
if [ "$(requests "models/m/2/saved_model.pb bytes")" -le 4 ]; then good; else bad 'the graph is read too often'; fi
fault down 1
until_says 'the log says that the store is down' 'no newer version can be found, the old one stays live: .*HTTP 503' cat "$work/host.log"
until_says 'the versions say so' '"unreadable":{.*HTTP 503' curl -s "$host/v1/models/m/versions"
until_says 'the host serves meanwhile' '200' curl -s -o /dev/null -w '%{http_code}' "$host/v1/models/m/metadata"
fault none 0
until_says 'the log says that it is back' 'newer versions can be looked for again' cat "$work/host.log"
curl -s "$host/v1/models/m/versions" >>"$work/all"
curl -s "$host/monitoring/prometheus/metrics" >>"$work/all"
curl -s "$host/status.json" >>"$work/all"

# A folder of a web server that has not changed is not sent again, and one that has changed twice in a second is.
cat >"$work/models.config" <<END
{"models": [{"name": "tagged", "base_path": "http://127.0.0.1:$port/-/tagged$work/models/m"},
  {"name": "dated", "base_path": "http://127.0.0.1:$port/-/dated$work/models/m"}]}
END
./serving_host --rest_api_port=0 --port_file="$work/other_port" --model_config_file="$work/models.config" \
	--file_system_poll_wait_seconds=1 >"$work/other_host.log" 2>&1 &
pids="$pids $!"
wait_for "$work/other_port"
for kind in tagged dated; do
	until_says "a folder that is $kind is asked for with a condition" "^304 /-/$kind$work/models/m/\$" ask /-/log
done
for version in 3 4; do
	cp -r "$work/models/m/1" "$work/models/m/next"
	mv "$work/models/m/next" "$work/models/m/$version"
	for kind in tagged dated; do
		until_says "version $version of what is $kind" "\[$kind\].*$version is live" cat "$work/other_host.log"
	done
done

# serving_tool, by the environment.
count 'serving_tool' env AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=s3cr3t-of-stores \
	AWS_ENDPOINT_URL="http://127.0.0.1:$port" ./serving_tool verify "s3://files$work/models/m/1"
AWS_ACCESS_KEY_ID=AKIDTEST AWS_SECRET_ACCESS_KEY=S3cretOfAnother AWS_ENDPOINT_URL="http://127.0.0.1:$port" \
	./serving_tool verify "s3://files$work/models/m/1" >"$work/refused" 2>&1
count 'serving_tool with a wrong key' grep -q 'HTTP 403, SignatureDoesNotMatch' "$work/refused"

for timeline in $timelines; do
	model=${timeline#*:}
	if wait "${timeline%:*}"; then good; else bad "$model through stores" "$work/timeline_$model"; fi
	cat "$work/timeline_$model" >>"$work/all"
done

# No secret in anything that was said.
cat "$work/host.log" >>"$work/all"
count 'no secret is shown' "$srcdir/tests/support/no_secret.sh" "$work"

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
