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

api=$(cd "$srcdir/api" && pwd)
(cd "$api/host/proto" && find . -name '*.proto' | sed 's,^\./,,' | sort |
	xargs protoc-c -I. -I"$api" --include_imports --descriptor_set_out="$work/descriptors.pb" predict.proto) || exit 1

golden=$(cd "$srcdir/tests/golden" && pwd)
model() { # model NAME BASE_PATH VERSION CASE
	mkdir -p "$2" && ln -s "$golden/$4/model" "$2/$3"
	echo "  config { name: \"$1\" base_path: \"$2\" model_platform: \"tensorflow\" }"
}
{
	echo 'model_config_list {'
	model examples "$work/examples" 3 tf1-examples
	for case in ev-ctr jax-layers keras2-bfloat16 keras2-half keras2-multitask tf1-defaults tf1-example tf1-signatures \
		tf2-signatures tf2-text; do
		model "$case" "$work/models/$case" 1 "$case"
	done
	echo '}'
} >"$work/models.config"
echo '{"run_ms":500}' >"$work/slow.json"
split() { # split NAME CASE FIELD
	for version in 1 2; do
		mkdir -p "$work/split/$1" && ln -s "$golden/$2/model" "$work/split/$1/$version"
	done
	cat <<-END
	{"name": "$1", "base_path": "$work/split/$1", "version_policy": "all",
	 "split": {"shares": [{"version": 2, "percent": 50}], "sticky_field": "$3"}}
	END
}
echo "{\"models\": [$(split ctr ev-ctr user_id), $(split examples tf1-examples city)]}" >"$work/split.json"

"$builddir/serving_host" --model_config_file="$work/models.config" --admin_routes --rest_api_port=0 \
	--port_file="$work/port" --drain_delay_in_ms=0 --grpc_compress_answers 2>"$work/log" &
hosts=$!
"$builddir/tests/system/serving_host_double" --processor_config="$work/slow.json" --rest_api_port=0 \
	--port_file="$work/slow_port" --drain_delay_in_ms=0 --rest_api_num_threads=1 --max_queue=2 \
	--max_body_bytes=16777216 2>"$work/slow_log" &
slow=$!
hosts="$hosts $slow"
"$builddir/serving_host" --model_config_file="$work/split.json" --rest_api_port=0 --port_file="$work/split_port" \
	--drain_delay_in_ms=0 2>"$work/split_log" &
hosts="$hosts $!"
for file in port slow_port split_port; do
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
	"$(cat "$work/slow_port")" "$slow" "$(cat "$work/split_port")" || {
	cat "$work/log" "$work/slow_log" "$work/split_log"
	exit 1
}
