#!/bin/sh
# serving_host as its users start it, called over HTTP in the ways of Triton's client, EAS's SDK and curl.
set -u
srcdir=${srcdir:-.}
builddir=$(cd "${builddir:-.}" && pwd)
if ! command -v python3 >/dev/null || ! command -v curl >/dev/null; then
	echo "python3 or curl is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
hosts=
trap '[ -z "$hosts" ] || kill $hosts; wait; rm -rf "$work"' EXIT

golden=$(cd "$srcdir/tests/golden" && pwd)
for model in tf2-signatures tf1-examples; do
	mkdir -p "$work/$model"
	ln -s "$golden/$model/model" "$work/$model/123"
done
mkdir -p "$work/broken/1" "$work/empty"
echo broken >"$work/broken/1/saved_model.pb"
cat >"$work/models.config" <<EOF
model_config_list {
  config {
    name: "types" base_path: "$work/tf2-signatures" model_platform: "tensorflow"
    version_labels { key: "stable" value: 123 }
  }
  config { name: "examples" base_path: "$work/tf1-examples" model_platform: "tensorflow" }
  config { name: "broken" base_path: "$work/broken" model_platform: "tensorflow" }
}
EOF
ln -s "$builddir/serving_host" "$work/tensorflow_model_server"

start() { # start NAME PROGRAM FLAGS...
	name=$1
	shift
	: >"$work/$name.log"
	"$@" --drain_delay_in_ms=0 2>"$work/$name.log" &
	hosts="$hosts $!"
	tries=0
	while [ "$(grep -c 'listening on' "$work/$name.log")" -lt 2 ] && [ $tries -lt 400 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}

ports() { # the two ports of the host of that name
	sed -n 's/.*listening on http:.*:\([0-9]*\)$/\1/p' "$work/$1.log" | tr '\n' ' '
}

fail() {
	echo "$1"
	cat "$work"/*.log
	exit 1
}

start plain "$builddir/serving_host" --model_config_file="$work/models.config" --rest_api_port=0 --port=0
start tokens "$builddir/serving_host" --model_config_file="$work/models.config" --rest_api_port=0 --port=0 \
	--eas_token=s3cr3t-1,s3cr3t-2 --max_body_bytes=16777216
python3 "$srcdir/tests/system/host_clients.py" $(ports plain) $(ports tokens) || fail "host_clients.py has failed"

# The command of TensorFlow Serving's container image always has a folder; here it is not there.
free=$(python3 -c 'import socket
made = [socket.socket() for _ in range(2)]
for each in made: each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in made))')
start tfs "$work/tensorflow_model_server" --port="${free% *}" --rest_api_port="${free#* }" --model_name=model \
	--model_base_path="$work/none" --model_config_file="$work/models.config" --tensorflow_session_parallelism=2
curl -s "http://127.0.0.1:${free#* }/v1/models/types" | grep -q AVAILABLE || fail "the file does not replace the folder"

answer() { # answer WORDS CURL_ARGUMENTS...: the answer has these words, and then the status
	words=$1
	shift
	curl -s -w ' %{http_version} %{http_code}' "$@" | tr -d '\n' | grep -q "$words" || fail "curl $*: no $words"
}

url=http://127.0.0.1:$(ports plain | cut -d' ' -f1)/v1/models/types:predict
body='{"inputs":{"ids":[1],"lengths":[1],"names":["a","b"],"scale":1}}'
for option in --http1.0 --http1.1 --http2 --http2-prior-knowledge; do
	answer 'a-b.* 200' "$option" -d "$body" "$url"
done
answer 'a-b.* 1.1 200' -H 'Transfer-Encoding: chunked' -H 'Expect: 100-continue' -d "$body" "$url"
answer 'a-b.* 2 200' --http2 -d "$body" "$url"
head -c 17000000 /dev/zero >"$work/large"
limited=http://127.0.0.1:$(ports tokens | cut -d' ' -f1)/v1/models/types:predict
for option in --http1.1 --http2-prior-knowledge; do # the answer comes before the body has ended
	answer 'Request body too large.* 413' "$option" --data-binary @"$work/large" "$limited"
	answer 'Request body too large.* 413' "$option" -X POST -T - "$limited" <"$work/large"
	answer 'JSON Parse error.* 400' "$option" --data-binary @"$work/large" "$url"
	answer 'JSON Parse error.* 400' "$option" -X POST -T - "$url" <"$work/large"
done
"$srcdir/tests/support/no_secret.sh" "$work" || fail 'a secret is shown'
echo "[  PASSED  ] curl"
