#!/bin/sh
# Every question of the dashboard has an answer, by Prometheus and a live host: one with an SSD, batches, a shadow,
# a row stream, and a version that is refused.
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=${builddir:-.}
if ! command -v prometheus >/dev/null; then
	echo "prometheus is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
host=
trap '[ -z "$host" ] || kill "$host"; rm -rf "$work"' EXIT

golden=$srcdir/tests/golden/ev-ctr-timeline
deltas=v1/.incremental_checkpoint
# A row stream, whose broker is away, where the build has Kafka.
stream=
without=row_stream
if ldd "$builddir/serving_host" | grep -q librdkafka; then
	stream=', "row_stream_brokers": "127.0.0.1:1", "row_stream_catch_up_seconds": 0'
	without=
fi
mkdir -p "$work/two"
cp -r "$srcdir/examples/sample_model" "$work/two/1"
cp -r "$srcdir/examples/sample_model" "$work/two/2"
cp -r "$golden/checkpoints" "$work/checkpoints"
mkdir -p "$work/checkpoints/$deltas"
cat >"$work/models.config" <<END
{"models": [
  {"name": "ssd", "processor_config": {"savedmodel_dir": "$golden/model", "checkpoint_dir": "$work/checkpoints",
    "signature_name": "serving_default", "model_store_type": "local", "feature_store_type": "memory",
    "serialize_protocol": "protobuf", "ev_storage_type": 12, "ev_storage_path": "$work/ssd",
    "ev_storage_size": [1, 1]$stream}},
  {"name": "two", "base_path": "$work/two", "version_policy": {"latest": 2}, "shadow": {"version": 1, "percent": 100}}]}
END
"$builddir/serving_host" --model_config_file="$work/models.config" --enable_batching --rest_api_port=0 --port_file="$work/port" \
	--drain_delay_in_ms=0 2>"$work/log" &
host=$!
tries=0
while [ ! -s "$work/port" ] && [ $((tries += 1)) -lt 200 ]; do
	sleep 0.05
done
url=http://127.0.0.1:$(cat "$work/port")/v1/models
for file in "$golden/timeline/01/checkpoints/$deltas"/*; do # a delta whose data are zeros
	case $file in
	*.data*) head -c "$(wc -c <"$file")" /dev/zero >"$work/checkpoints/$deltas/$(basename "$file")" ;;
	*) cp "$file" "$work/checkpoints/$deltas" ;;
	esac
done
curl -sS -o /dev/null -d @"$golden/requests/000.request.json" "$url/ssd:predict"
curl -sS -o /dev/null -d @"$srcdir/examples/sample_request.json" "$url/two:predict"
curl -sS -o /dev/null -d '{}' "$url/two:predict"

for metric in serving_processor_version_refusal serving_processor_table_read_bytes_total; do
	until curl -sS "${url%/v1/models}/monitoring/prometheus/metrics" | grep -q "^$metric" || [ $((tries += 1)) -gt 400 ]; do
		sleep 0.05
	done
done

# A port that was free a moment ago.
free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
passed=0
failed=0
check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $name"
	fi
}

# promtool is content with every name but TensorFlow Serving's.
check_names() {
	curl -sS "${url%/v1/models}/monitoring/prometheus/metrics" | promtool check metrics 2>&1 | grep -v '^:tensorflow:serving:' >"$work/names"
	cat "$work/names"
	[ ! -s "$work/names" ]
}

check 'questions have answers' python3 "$srcdir/tests/system/dashboard.py" "$srcdir/deploy/grafana/serving-host.json" \
	"$(cat "$work/port")" "$free" "$work" $without
check 'names are such as Prometheus wants' check_names
[ "$failed" -eq 0 ] || cat "$work/log" "$work/prometheus.log"
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
