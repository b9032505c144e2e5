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
	while [ ! -s "$1" ] && [ $i -lt 200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
}
ask() { curl -s "http://127.0.0.1:$port$1"; }
fault() { ask "/-/fault?kind=$1&count=$2" >/dev/null; }
requests() { ask /-/log | grep -c "$1"; }

python3 "$srcdir/tests/system/object_server.py" / "$work/port" --key=AKIDTEST:S3cretOfTheTest >"$work/server.log" 2>&1 &
pids="$pids $!"
wait_for "$work/port"
port=$(cat "$work/port")

# Golden models through each store: the same answers as from the disk, and the same versions as they come.
play() { # play STORE CONFIG MODEL
	SP_GOLDEN_STORE=$1
	SP_GOLDEN_CONFIG=$2
	export SP_GOLDEN_STORE SP_GOLDEN_CONFIG
	count "$3 by $1 with $2" tests/system/test_golden_abi "$3"
	unset SP_GOLDEN_STORE SP_GOLDEN_CONFIG
}
keys='"store_access_id": "AKIDTEST", "store_access_key": "S3cretOfTheTest"'
s3="{\"model_store_type\": \"s3\", \"store_endpoint\": \"http://127.0.0.1:$port\", $keys}"
oss="{\"model_store_type\": \"oss\", \"oss_endpoint\": \"http://127.0.0.1:$port\", \"oss_access_id\": \"AKIDTEST\",
	\"oss_access_key\": \"S3cretOfTheTest\"}"
oss4="{\"model_store_type\": \"oss\", \"store_endpoint\": \"http://127.0.0.1:$port\", \"store_region\": \"cn-test\", $keys}"
hdfs='{"model_store_type": "hdfs", "store_user": "AKIDTEST"}'
hdfs_token="{\"model_store_type\": \"hdfs\", \"store_token\": \"AKIDTEST\", \"store_endpoint\": \"127.0.0.1:$port\"}"
http='{"model_store_type": "http"}'
for model in ev-ctr ev-ctr-checkpoint tf1-asset-reads; do
	play s3://files "$s3" $model
	play "http://127.0.0.1:$port/-/web" "$http" $model
done
play s3://files "$s3" ev-ctr-ssd
play s3://files "$s3" ev-ctr-timeline &
timeline=$!
play oss://files "$oss" ev-ctr
play oss://files "$oss4" ev-ctr-checkpoint
play "webhdfs://127.0.0.1:$port" "$hdfs" ev-ctr-checkpoint
play hdfs://namenode:8020 "$hdfs_token" ev-ctr
play "http://127.0.0.1:$port/-/plain" "$http" ev-ctr

echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
