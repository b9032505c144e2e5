"""Calls a serving_host that serves tests/golden's keras2-half as "half" 7, and reads what it writes and sends about its requests.

host_observed.py HOST FOLDER: FOLDER has the model's folder "model", and is where the host writes.
"""
import atexit
import http.server
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

program, folder = sys.argv[1:]
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ROW = {"ids": [13, 2, 31, 27, 34, 45], "numbers": [1.5, 1.5, -0.1, 0.5, -1.8, -0.1, 1.2, -1.8, -0.6, -0.5, 1.8, -1.0]}
STAGES = ["queue", "decode", "run", "encode"]


def body(rows):
    return json.dumps({"inputs": {name: [values] * rows for name, values in ROW.items()}})


# ------------------------------------------------------------------- collector


class Collector(http.server.BaseHTTPRequestHandler):
    """An OpenTelemetry collector: keeps spans by trace id; answers 503 as often as it is told."""

    protocol_version = "HTTP/1.1"
    spans, resources, refusals, posts = {}, [], 0, 0
    changed = threading.Condition()

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        status = 200
        with Collector.changed:
            Collector.posts += 1
            if self.path != "/v1/traces" or self.headers["Content-Type"] != "application/json":
                status = 404
            elif Collector.refusals > 0:
                Collector.refusals, status = Collector.refusals - 1, 503
            else:
                for resource in json.loads(text)["resourceSpans"]:
                    Collector.resources.append(attributes(resource["resource"]))
                    for scope in resource["scopeSpans"]:
                        for span in scope["spans"]:
                            Collector.spans.setdefault(span["traceId"], []).append(span)
            Collector.changed.notify_all()
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def attributes(thing):
    return {one["key"]: next(iter(one["value"].values())) for one in thing["attributes"]}


def spans_of(trace):
    """The server span and those below it, by name."""
    with Collector.changed:
        assert Collector.changed.wait_for(lambda: trace in Collector.spans, 20), trace
        spans = Collector.spans[trace]
    servers = [span for span in spans if span["kind"] == 2]
    assert len(servers) == 1, spans
    return servers[0], {span["name"]: span for span in spans if span["kind"] == 1}


# ------------------------------------------------------------------------ host


def start(*flags):
    with open(folder + "/host.log", "a") as log:
        process = subprocess.Popen([program, "--model_name=half", "--model_base_path=" + folder + "/model", "--rest_api_port=0",
                                    "--port_file=" + folder + "/port", "--drain_delay_in_ms=0", *flags], stderr=log)
    atexit.register(process.kill)  # where a check fails
    while not os.path.exists(folder + "/port"):
        assert process.poll() is None, "the host has ended"
        time.sleep(0.02)
    with open(folder + "/port") as file:
        return process, "http://127.0.0.1:" + file.read().strip()


def end(process):
    os.remove(folder + "/port")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def call(url, data=None, *options, **headers):
    """The status and the body."""
    command = ["curl", "-s", "-o", folder + "/answer", "-w", "%{http_code}", *options, url]
    for name, value in headers.items():
        command += ["-H", name.replace("_", "-") + ": " + value]
    if data is not None:
        command += ["--data-binary", "@-"]
    data = data.encode() if isinstance(data, str) else data
    status = int(subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout)
    with open(folder + "/answer", "rb") as file:
        return status, file.read()


def lines_when(name, is_so):
    """Those of a log, once they are as they should be."""
    for _ in range(1000):
        if os.path.exists(folder + "/" + name):
            with open(folder + "/" + name) as file:
                lines = [json.loads(line) for line in file.read().split("\n")[:-1]]  # the last one may grow
            if is_so(lines):
                return lines
        time.sleep(0.01)
    raise AssertionError("%s is not as it should be" % name)


def lines_of(name, least):
    return lines_when(name, lambda lines: len(lines) >= least)


def line_of(name, **wanted):
    """The one with these members."""
    def is_it(line):
        return wanted.items() <= line.items()

    return next(filter(is_it, lines_when(name, lambda lines: any(map(is_it, lines)))))


def trace_number(number):
    return "%032x" % number


def parent_of(trace, flags="01"):
    return "00-%s-%s-%s" % (trace, PARENT, flags)


def field(number, data):
    size, head = len(data), b""
    while size > 127:
        head, size = head + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + head + bytes([size]) + data


def grpc_predict():
    def tensor(kind, code, values):
        shape = field(2, field(2, b"\x08\x01") + field(2, bytes([8, len(values)])))
        return bytes([8, kind]) + shape + field(4, struct.pack("<%d%s" % (len(values), code), *values))

    kinds = {"DT_INT64": (9, "q"), "DT_INT32": (3, "i"), "DT_FLOAT": (1, "f")}
    known = json.loads(call(url + "/v1/models/half/metadata")[1])["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    message = field(1, field(1, b"half"))
    for name, values in ROW.items():
        kind, code = kinds[known[name]["dtype"]]
        message += field(2, field(1, name.encode()) + field(2, tensor(kind, code, values)))
    return b"\0" + struct.pack(">I", len(message)) + message


# ----------------------------------------------------------------------- tests


def check_access_log():
    assert call(url + "/v1/models/half:predict", body(3), "--http1.1", X_Request_Id='my "id"', traceparent=parent_of(TRACE, "00"))[0] == 200
    assert call(url + "/v1/models/half/versions/7:predict", body(1), "--http2-prior-knowledge")[0] == 200
    assert call(url + "/v1/models/half:predict", "{", "--http1.1")[0] == 400
    assert call(url + "/v1/models/none:predict", "{}", "--http1.1", traceparent="00-" + TRACE + "-" + PARENT + "-0x")[0] == 404
    good, versioned, wrong, absent = lines_of("access.log", 4)[:4]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", good["time"]), good
    assert good["peer"].startswith("127.0.0.1:")
    want = {"protocol": "http/1.1", "method": "POST", "path": "/v1/models/half:predict", "route": "predict", "model": "half", "version": 7,
            "signature": "serving_default", "rows": 3, "status": 200, "bytes_in": len(body(3)), "trace_id": TRACE, "request_id": 'my "id"'}
    assert want == {name: good.get(name) for name in want}, good
    assert good["bytes_out"] > 20 and "error" not in good and "steps" not in good
    assert abs(sum(good[stage + "_us"] for stage in STAGES) - good["total_us"]) < 0.01, good
    assert versioned["protocol"] == "http/2" and versioned["version"] == 7 and "trace_id" not in versioned and "request_id" not in versioned
    assert wrong["status"] == 400 and wrong["error"] and "version" not in wrong and "run_us" not in wrong, wrong
    assert absent["status"] == 404 and absent["route"] == "other" and "model" not in absent and "trace_id" not in absent, absent
    os.rename(folder + "/access.log", folder + "/access.log.1")
    host.send_signal(signal.SIGHUP)
    for _ in range(1000):
        if os.path.exists(folder + "/access.log"):
            break
        time.sleep(0.01)
    assert call(url + "/healthz/ready")[0] == 200
    assert lines_of("access.log", 1)[-1]["route"] == "health"
    with open(folder + "/access.log.1") as file:
        assert file.read().count("\n") == 4


def check_times(server, children, line):
    """The spans of a request are as long as the access log says, to the nanosecond."""
    for span, member in [(server, "total_us")] + [(children[stage], stage + "_us") for stage in children]:
        assert int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) == round(line[member] * 1000), (span, line)
    assert {stage + "_us" for stage in children} == {member for member in line if member.endswith("_us")} - {"total_us"}, line


def check_server_span(server, children, parent, **wanted):
    assert server.get("parentSpanId") == parent, server
    ids = [span["spanId"] for span in [server, *children.values()]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{16}", one) and int(one, 16) and one != parent for one in ids), ids
    got = attributes(server)
    assert wanted.items() <= got.items(), got
    begin, last = int(server["startTimeUnixNano"]), int(server["endTimeUnixNano"])
    assert begin <= last and abs(last / 1e9 - time.time()) < 60
    at = begin
    for name in STAGES:
        child = children.get(name)
        if child is None:
            continue
        assert child["parentSpanId"] == server["spanId"] and child["traceId"] == server["traceId"]
        assert int(child["startTimeUnixNano"]) == at <= int(child["endTimeUnixNano"]), (name, children)
        at = int(child["endTimeUnixNano"])
    return at == last


def check_traces():
    one, two, three, four = (trace_number(i) for i in range(1, 5))
    Collector.refusals = 2  # so that the first message is sent three times
    before = time.time()
    assert call(url + "/v1/models/half:predict", body(2), "--http1.1", traceparent=parent_of(one))[0] == 200
    server, children = spans_of(one)
    # A second for a clock that is set meanwhile.
    assert before - 1 < int(server["startTimeUnixNano"]) / 1e9 and int(server["endTimeUnixNano"]) / 1e9 < time.time() + 1
    check_times(server, children, line_of("access.log", trace_id=one))
    assert Collector.posts == 3 and Collector.resources[0]["service.name"] == "serving_host"
    assert server["name"] == "POST /v1/models/half:predict" and sorted(children) == sorted(STAGES) and "status" not in server
    assert check_server_span(server, children, PARENT, **{
        "http.request.method": "POST", "url.path": "/v1/models/half:predict", "url.scheme": "http", "http.response.status_code": "200",
        "http.route": "/v1/models/half:predict", "network.protocol.version": "1.1", "client.address": "127.0.0.1",
        "serving.model.name": "half", "serving.model.version": "7", "serving.signature": "serving_default", "serving.rows": "2"})
    assert call(url + "/v1/models/half:predict", "[", "--http2-prior-knowledge", traceparent=parent_of(two))[0] == 400
    server, children = spans_of(two)
    assert not check_server_span(server, children, PARENT, **{"http.response.status_code": "400", "network.protocol.version": "2"})
    assert set(children) == {"queue"}
    check_times(server, children, line_of("access.log", trace_id=two))
    assert call(url + "/tensorflow.serving.PredictionService/Predict", grpc_predict(), "--http2-prior-knowledge", content_type="application/grpc",
                te="trailers", traceparent=parent_of(three))[0] == 200
    server, children = spans_of(three)
    assert server["name"] == "tensorflow.serving.PredictionService/Predict", server
    assert check_server_span(server, children, PARENT, **{
        "rpc.system": "grpc", "rpc.service": "tensorflow.serving.PredictionService", "rpc.method": "Predict", "rpc.grpc.status_code": "0"})
    check_times(server, children, line_of("access.log", trace_id=three))
    # One that is not sampled, and one of no trace, are before another that is.
    assert call(url + "/v1/models/half:predict", body(1), traceparent=parent_of(trace_number(9), "00"))[0] == 200
    assert call(url + "/v1/models/half:predict", body(1))[0] == 200
    assert call(url + "/v1/models/half:predict", body(1), traceparent=parent_of(four))[0] == 200
    spans_of(four)
    assert set(Collector.spans) == {one, two, three, four}, set(Collector.spans)


def check_slow_log():
    """The times of the steps add up to the run, and the stages to the request, but for their rounding."""
    rounding_us = 0.01
    status, _ = call(url + "/v1/models/half:predict", body(4000), X_Request_Id="big")
    assert status == 200
    line = line_of("slow.log", request_id="big")
    assert line["rows"] == 4000 and line["total_us"] >= 1000, line
    steps = line["steps"]
    assert len(steps["slowest"]) > 2 and all(step["op"] and step["us"] >= 0 for step in steps["slowest"]), steps
    total = sum(step["us"] for step in steps["slowest"]) + steps["others_us"] + steps["between_us"]
    assert abs(total - steps["run_us"]) < rounding_us and steps["run_us"] <= line["run_us"], (total, line)
    assert abs(sum(line[stage + "_us"] for stage in STAGES) - line["total_us"]) < rounding_us, line
    assert steps["between_us"] < 0.5 * steps["run_us"], steps


def value_of(sample):
    page = call(url + "/monitoring/prometheus/metrics")[1].decode()
    return float(re.search("^" + re.escape(sample) + " (.*)$", page, re.M)[1])


def check_exemplars():
    """By the words of OpenMetrics, and with its own parser if that is installed."""
    assert call(url + "/monitoring/prometheus/metrics", None, "-D", folder + "/head", accept="application/openmetrics-text;version=1.0.0,*/*;q=0.1")[0] == 200
    with open(folder + "/head") as file:
        assert "application/openmetrics-text; version=1.0.0; charset=utf-8" in file.read()
    with open(folder + "/answer") as file:
        page = file.read()
    assert page.endswith("\n# EOF\n")
    assert re.search(r'^serving_processor_stage_seconds_bucket\{model_name="half",stage="run",le="[^"]*"\} \d+ # \{trace_id="0{31}\d"\} '
                     r"[\d.e-]+ \d+\.\d{3}$", page, re.M), page
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError:
        return
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert families[":tensorflow:serving:request_count"].type == "unknown"
    assert families["serving_processor_rejections"].type == "counter"
    found = [sample.exemplar for sample in families[":tensorflow:serving:request_latency"].samples if sample.exemplar]
    assert found and all(int(one.labels["trace_id"]) in range(1, 5) for one in found), found


def check_own_sampling(address):
    """All requests without a header, and a collector that is not there."""
    global url
    process, url = start("--trace_endpoint=" + address, "--trace_sample_rate=1")
    before = set(Collector.spans)
    assert call(url + "/healthz/ready")[0] == 200  # probes make no trace of their own
    assert call(url + "/v1/models/half:predict", body(1))[0] == 200
    end(process)  # sends what waits
    new = set(Collector.spans) - before
    assert len(new) == 1 and re.fullmatch("[0-9a-f]{32}", next(iter(new))), new
    server, children = spans_of(next(iter(new)))
    assert check_server_span(server, children, None)
    process, url = start("--trace_endpoint=http://127.0.0.1:1/v1/traces", "--trace_sample_rate=1")
    assert call(url + "/v1/models/half:predict", body(1))[0] == 200
    end(process)
    with open(folder + "/host.log") as file:
        assert "the traces of 1 requests are lost: http://127.0.0.1:1/v1/traces" in file.read()


def check_refusals():
    for flags, reason in (((["--trace_sample_rate=2"]), "--trace_sample_rate"), (["--trace_endpoint=ftp://x"], "--trace_endpoint"),
                          (["--access_log=/none/such"], "/none/such")):
        done = subprocess.run([program, "--model_base_path=" + folder + "/model", "--rest_api_port=0", *flags], stderr=subprocess.PIPE, timeout=20)
        assert done.returncode == 1 and reason in done.stderr.decode(), done


collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=collector.serve_forever, daemon=True).start()
address = "http://127.0.0.1:%d/v1/traces" % collector.server_port
host, url = start("--access_log=" + folder + "/access.log", "--slow_request_ms=1", "--slow_request_log=" + folder + "/slow.log",
                  "--trace_endpoint=" + address)
check_access_log()
check_traces()
check_slow_log()
check_exemplars()
assert value_of('serving_processor_traces_total{result="sent"}') == 4
assert value_of('serving_processor_traces_total{result="dropped"}') == 0
end(host)
check_own_sampling(address)
check_refusals()
