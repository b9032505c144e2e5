#!/bin/sh
# Names that do their worst, read by Prometheus's own client.
set -u
srcdir=${srcdir:-.}
builddir=${builddir:-.}
# A package of the system is not seen by another Python before it in the path.
python=
for candidate in python3 /usr/bin/python3; do
	if [ -z "$python" ] && "$candidate" -c 'import prometheus_client.parser' 2>/dev/null; then
		python=$candidate
	fi
done
if [ -z "$python" ]; then
	echo "python3-prometheus-client is not installed"
	exit 77
fi
work=$(mktemp -d) || exit 1
host=
trap '[ -z "$host" ] || kill "$host"; rm -rf "$work"' EXIT

cat >"$work/versions" <<'END'
{"versions":[{"full_step":7,"delta_step":9,"state":"refused","for_ms":1,"known_ms":2500,"newer":true,"reason":"corrupt",
"why":"no \"x\" in C:\\dir,\nle=\"1\"} 5\n# TYPE y gauge \u0000\u007f\u00e9"},
{"full_step":7,"delta_step":-1,"state":"live","for_ms":3000,"known_ms":3000,"why":""}],
"newest":{"full_step":7,"delta_step":9,"lag_ms":2500},
"counts":{"moves":{"live":1,"refused":1},"refusals":{"corrupt":9007199254740991}},"memory":123,
"tables":[{"table":"a{b=\"c\",d}\\","rows":5,"overlay_rows":2,"memory":10},
{"table":"\n","rows":6,"overlay_rows":0,"memory":20},
{"table":"","rows":7,"overlay_rows":0,"memory":30,"tier":"s\"s\\d","in_memory":1,"cached":2,"missed":3}]}
END
cat >"$work/wanted" <<'END'
["serving_processor_model_ready", {"model_name": "m\\\"\u00e9,} #"}, 1]
["serving_processor_version_refusal", {"model_name": "m\\\"\u00e9,} #", "full_step": "7", "delta_step": "9", "reason": "no \"x\" in C:\\dir,\nle=\"1\"} 5\n# TYPE y gauge \u0000\u007f\u00e9"}, 1]
["serving_processor_refusals_total", {"model_name": "m\\\"\u00e9,} #", "reason": "corrupt"}, 9007199254740991]
["serving_processor_update_lag_seconds", {"model_name": "m\\\"\u00e9,} #"}, 2.5]
["serving_processor_table_rows", {"model_name": "m\\\"\u00e9,} #", "table": "a{b=\"c\",d}\\"}, 5]
["serving_processor_table_overlay_rows", {"model_name": "m\\\"\u00e9,} #", "table": "a{b=\"c\",d}\\"}, 2]
["serving_processor_table_rows", {"model_name": "m\\\"\u00e9,} #", "table": "\n"}, 6]
["serving_processor_table_keys_total", {"model_name": "m\\\"\u00e9,} #", "table": "", "tier": "s\"s\\d", "found": "disk"}, 3]
[":tensorflow:serving:request_count_total", {"model_name": "m\\\"\u00e9,} #", "status": "OK"}, 0]
[":tensorflow:serving:request_latency_bucket", {"model_name": "m\\\"\u00e9,} #", "API": "predict", "entrypoint": "REST", "le": "10"}, 0]
END
printf '{"versions_file":"%s"}' "$work/versions" >"$work/config.json"
"$builddir/tests/system/serving_host_double" --model_name="$(printf 'm\\"\303\251,} #')" \
	--processor_config="$work/config.json" --rest_api_port=0 --port_file="$work/port" \
	--drain_delay_in_ms=0 2>"$work/log" &
host=$!
tries=0
while [ ! -s "$work/port" ] && [ $tries -lt 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
if curl -sf "http://127.0.0.1:$(cat "$work/port")/monitoring/prometheus/metrics" >"$work/page" &&
	"$python" "$srcdir/tests/system/metrics_page.py" "$work/page" "$work/wanted"; then
	echo "[  PASSED  ] 1 test(s)."
else
	cat "$work/log"
	echo "[  FAILED  ] 1 test(s)."
	exit 1
fi
