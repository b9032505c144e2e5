#!/bin/sh
# serving_host over gRPC, called by Debian's python3-grpcio.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
# A package of the system is not seen by another Python before it in the path.
python=
for candidate in python3 /usr/bin/python3; do
	if [ -z "$python" ] && "$candidate" -c 'import grpc, google.protobuf' 2>/dev/null; then
		python=$candidate
	fi
done
if [ -z "$python" ] || ! command -v protoc-c >/dev/null; then
	echo "python3-grpcio, python3-protobuf or protobuf-c-compiler is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
hosts=
trap '[ -z "$hosts" ] || kill $hosts; wait; rm -rf "$work"' EXIT

(cd "$srcdir/api/host/proto" && find . -name '*.proto' | sed 's,^\./,,' | sort |
	xargs protoc-c -I. --include_imports --descriptor_set_out="$work/descriptors.pb") || exit 1

golden=$(cd "$srcdir/tests/golden" && pwd)
mkdir -p "$work/models/examples" "$work/models/ctr"
ln -s "$golden/tf1-examples/model" "$work/models/examples/3"
ln -s "$golden/ev-ctr/model" "$work/models/ctr/1"
{
	echo 'model_config_list {'
	for name in examples ctr; do
		echo "  config { name: \"$name\" base_path: \"$work/models/$name\" model_platform: \"tensorflow\" }"
	done
	echo '}'
} >"$work/models.config"
echo '{"run_ms":500}' >"$work/slow.json"

"$builddir/serving_host" --model_config_file="$work/models.config" --admin_routes --rest_api_port=0 \
	--port_file="$work/port" --drain_delay_in_ms=0 --grpc_compress_answers 2>"$work/log" &
hosts=$!
"$builddir/tests/system/serving_host_double" --processor_config="$work/slow.json" --rest_api_port=0 \
	--port_file="$work/slow_port" --drain_delay_in_ms=0 --rest_api_num_threads=1 --max_queue=2 \
	--max_body_bytes=16777216 2>"$work/slow_log" &
hosts="$hosts $!"
for file in port slow_port; do
	tries=0
	while [ ! -s "$work/$file" ] && [ $tries -lt 400 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
done
for option in --http1.1 --http2-prior-knowledge; do # by another content type it is not gRPC
	code=$(curl -s -o "$work/answer" -w '%{http_code}' "$option" -d '{}' -H 'Content-Type: application/json' \
		"http://127.0.0.1:$(cat "$work/port")/tensorflow.serving.PredictionService/Predict")
	[ "$code" = 415 ] || {
		echo "answered $code, not 415 ($option)"
		exit 1
	}
done
"$python" "$srcdir/tests/system/host_grpc.py" "$work/descriptors.pb" "$golden" "$(cat "$work/port")" \
	"$(cat "$work/slow_port")" || {
	cat "$work/log" "$work/slow_log"
	exit 1
}
