"""The admin listener of a serving_host that serves tests/golden's keras2-half as "half".

host_admin.py HOST FOLDER MODEL: FOLDER is where the host writes, MODEL the SavedModel's folder.
"""
import atexit
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOKEN = "s3cr3t-of-24-characters-"
ROW = {"ids": [13, 2, 31, 27, 34, 45], "numbers": [1.5, 1.5, -0.1, 0.5, -1.8, -0.1, 1.2, -1.8, -0.6, -0.5, 1.8, -1.0]}


def wait_until(is_so, what):
    for _ in range(1000):
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("not in 20 s: " + what)


class Host:
    """A host with an admin listener; `folder`/model has version 7.  `models`: flags that say what is served, if not that."""

    def __init__(self, program, folder, model, *flags, models=None):
        self.folder, self.model = folder, model
        models = models or ["--model_name=half", "--model_base_path=" + folder + "/model"]
        os.makedirs(folder + "/model", exist_ok=True)
        if not os.path.exists(folder + "/model/7"):
            self.add(7)
        with open(folder + "/token", "w") as file:
            file.write(TOKEN + "\n")
        with open(folder + "/host.log", "w") as log:
            self.process = subprocess.Popen([program, *models, "--rest_api_port=0", "--admin_port=0", "--drain_delay_in_ms=0", *flags], stderr=log)
        atexit.register(self.process.kill)  # where a check fails
        self.admin = wait_until(lambda: self.port("admin listener on"), "the admin listener")
        self.main = self.port("listening on")

    def log(self):
        with open(self.folder + "/host.log") as file:
            return file.read()

    def port(self, words):
        assert self.process.poll() is None, self.log()
        found = re.search(words + r" http://127\.0\.0\.1:(\d+)\n", self.log())
        return found and int(found[1])

    def add(self, version):
        """Appears as a whole, as a publisher should have it."""
        shutil.copytree(self.model, self.folder + "/new")
        os.rename(self.folder + "/new", "%s/model/%d" % (self.folder, version))

    def add_broken(self, version):
        """Half of a graph."""
        shutil.copytree(self.model, self.folder + "/new")
        os.truncate(self.folder + "/new/saved_model.pb", os.path.getsize(self.folder + "/new/saved_model.pb") // 2)
        os.rename(self.folder + "/new", "%s/model/%d" % (self.folder, version))

    def add_empty(self, version):
        os.mkdir("%s/model/%d" % (self.folder, version))

    def call(self, port, method, path, body=None, **headers):
        """The status, the headers and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def ask(self, method, path, body=None, **headers):
        """On the admin listener, with the token."""
        return self.call(self.admin, method, path, body, Authorization="Bearer " + TOKEN, **headers)

    def document(self):
        status, _, text = self.ask("GET", "/status.json")
        assert status == 200, text
        return json.loads(text)

    def try_to_predict(self, what):
        """The status of a prediction by `what` below /v1/models, and the body."""
        status, _, text = self.call(self.main, "POST", "/v1/models/" + what + ":predict", json.dumps({"inputs": {name: [values] for name, values in ROW.items()}}))
        return status, text

    def predict(self, what="half"):
        status, text = self.try_to_predict(what)
        assert status == 200, text

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.log()


# ----------------------------------------------------------------------- tests


def states(host):
    return {version["full_step"]: version for version in host.document()["models"][0]["versions"]}


def check_token(host):
    orders = [("GET", "/status.json"), ("GET", "/heap"), ("GET", "/v1/log_level"), ("POST", "/v1/models/half:reload"), ("GET", "/none"),
              ("GET", "/v1/models/half:profile"), ("GET", "/monitoring/prometheus/metrics")]
    for method, path in orders:
        for wrong in ({}, {"Authorization": "Bearer " + TOKEN + "x"}, {"Authorization": "Bearer " + TOKEN[:-1] + "x"}, {"Authorization": TOKEN}):
            status, headers, text = host.call(host.admin, method, path, **wrong)
            assert status == 401 and headers["www-authenticate"].startswith("Bearer"), (method, path, status)
            assert TOKEN not in text
    assert host.call(host.admin, "GET", "/healthz/ready")[0] == 200
    assert host.ask("GET", "/monitoring/prometheus/metrics")[0] == 200
    assert host.ask("POST", "/v1/log_level/info", Origin="http://example.com")[0] == 403
    assert host.ask("POST", "/v1/models/half:predict", "{}")[0] == 404
    assert host.ask("GET", "/v2/models/half")[0] == 404
    # The main listener has none of it.
    assert host.call(host.main, "POST", "/v1/models/half:reload")[0] == 403
    assert host.call(host.main, "GET", "/v1/models/half:profile")[0] == 403
    assert host.call(host.main, "GET", "/v1/log_level")[0] == 403
    for path in ("/", "/status.json", "/heap"):
        assert host.call(host.main, "GET", path)[0] == 404


def check_orders(host):
    assert json.loads(host.ask("POST", "/v1/log_level/debug")[2]) == {"log_level": "debug"}
    assert json.loads(host.ask("POST", "/v1/log_level/info")[2]) == {"log_level": "info"}
    assert host.ask("POST", "/v1/models/half:reload")[0] == 200
    assert json.loads(host.ask("GET", "/v1/models/half/versions")[2])["live"]["full_step"] == 7
    assert host.ask("GET", "/v1/models/half")[0] == 200
    assert host.ask("POST", "/v1/models/none:reload")[0] == 404
    status, headers, text = host.ask("GET", "/heap")
    assert status == 200 and headers["content-type"] == "application/xml" and "<malloc" in text


def check_document(host):
    for _ in range(3):
        host.predict()
    host.call(host.main, "POST", "/v1/models/half:predict", "{")
    doc = host.document()
    model, = doc["models"]
    assert model["name"] == "half" and model["ready"] and doc["unready"] == "" and doc["version"]
    assert model["requests"]["OK"] == 3 and model["requests"]["INVALID_ARGUMENT"] == 1, model["requests"]
    for stage in ("queue", "decode", "run", "encode"):
        assert len(model["stages"][stage]["counts"]) == len(doc["limits_us"]) + 1
    assert sum(model["stages"]["run"]["counts"]) == 3 and model["in_flight"] == 0
    assert states(host)["7"]["state"] == "live"
    assert "queue_full" in doc["rejections"] and doc["now"] >= doc["started"]


def check_versions(host):
    host.add(8)
    wait_until(lambda: states(host).get("8", {}).get("state") == "live", "version 8")
    host.add_broken(9)
    broken = wait_until(lambda: states(host).get("9", {}).get("state") == "refused" and states(host)["9"], "version 9")
    assert broken["reason"] and "saved_model.pb" in broken["why"] and broken["newer"], broken
    model = host.document()["models"][0]
    assert {one["name"]: one["count"] for one in model["refusals"]}[broken["reason"]] >= 1
    assert model["newest"]["full_step"] == "9" and model["newest"]["lag_ms"] > 0
    assert host.ask("POST", "/v1/models/half/versions/8:pin")[0] == 200
    assert host.document()["models"][0]["pinned"]["full_step"] == "8"
    assert host.ask("POST", "/v1/models/half:unpin")[0] == 200
    assert host.ask("POST", "/v1/models/half:rollback")[0] == 200
    assert states(host)["7"]["state"] == "live"


def check_trace(trace):
    """By the Trace Event Format, as Perfetto reads it; the events of a profile by name."""
    assert set(trace) == {"otherData", "displayTimeUnit", "traceEvents"} and trace["displayTimeUnit"] in ("ms", "ns")
    assert all(isinstance(value, str) for value in trace["otherData"].values())
    names, tracks = {}, {}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"] and type(event["pid"]) is int and type(event["tid"]) is int, event
        track = (event["pid"], event["tid"])
        if event["ph"] == "M":
            assert set(event) == {"name", "ph", "pid", "tid", "args"} and set(event["args"]) == {"name"}, event
            assert event["name"] in ("process_name", "thread_name"), event
            names[event["name"], event["tid"]] = event["args"]["name"]
            continue
        assert event["ph"] == "X" and set(event) - {"args"} == {"name", "cat", "ph", "pid", "tid", "ts", "dur"}, event
        assert isinstance(event.get("args", {}), dict) and isinstance(event["cat"], str)
        # Microseconds; in whole nanoseconds sums are exact.
        begin, length = (round(float(event[member]) * 1000) for member in ("ts", "dur"))
        assert begin > 0 and length >= 0, event
        tracks.setdefault(track, []).append((begin, begin + length, event))
    assert names == {("process_name", 1): "serving_host", ("thread_name", 1): "stages", ("thread_name", 2): "steps"}
    assert {pid for pid, _ in tracks} == {1}
    for events in tracks.values():  # an event lies within another one of its track, or beside it
        around = []
        for begin, end, event in sorted(events, key=lambda one: (one[0], -one[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1], (around, event)
            around.append(end)
    return tracks[1, 1], tracks[1, 2]


def check_stages(stages, steps):
    """Each stage begins where the one before ends, and the steps are within the run."""
    assert [event["name"] for _, _, event in stages] == ["queue", "decode", "run", "encode"] and all(event["cat"] == "stage" for _, _, event in stages)
    for (_, end, _), (begin, _, _) in zip(stages, stages[1:]):
        assert begin == end, stages
    begin, end, _ = stages[2]
    for one in steps:
        assert one[2]["cat"] == "step" and begin <= one[0] and one[1] <= end, (stages[2], one)


def check_profile(host):
    """The second one takes the place of the first; a request comes once it waits."""
    answers, seen = [], []

    def profile():
        answers.append(host.ask("GET", "/v1/models/half:profile"))

    for waiting in (2, 1):
        answers.clear()
        for _ in range(waiting):
            threading.Thread(target=profile, daemon=True).start()
        wait_until(lambda: len(answers) == waiting - 1, "the place of a profile")
        wait_until(lambda: host.predict() or len(answers) == waiting, "a profile")
        assert sorted(status for status, _, _ in answers) == [200, 409][:waiting], answers
        trace = json.loads(max(answers, key=lambda answer: len(answer[2]))[2])
        stages, steps = check_trace(trace)
        check_stages(stages, steps)
        assert trace["otherData"] == {"version": "7", "rows": "1"}
        seen.append([(event["name"], event["args"]["node"]) for _, _, event in steps])
    # Every request runs the same steps; none is without the name of its operator or node.
    assert seen[0] == seen[1] and len(seen[0]) > 3 and all(op and node for op, node in seen[0]), seen


def check_no_profile(host, limit):
    """No request comes: the answer is 504 when the time is over, and no sooner."""
    begin = time.monotonic()
    status, _, text = host.ask("GET", "/v1/models/half:profile")
    assert status == 504 and "error" in json.loads(text), (status, text)
    assert time.monotonic() - begin >= limit, "it did not wait"
    assert host.ask("GET", "/v1/models/none:profile")[0] == 404


def check_new_token(host):
    """SIGHUP takes the token of the file; a broken file changes nothing, and the log says so."""
    path, other = host.folder + "/token", "another-s3cr3t-of-33-characters-0"

    def answers(token):
        return host.call(host.admin, "GET", "/v1/log_level", Authorization="Bearer " + token)[0]

    def read_again(text, words):
        with open(path, "w") as file:
            file.write(text)
        host.process.send_signal(signal.SIGHUP)
        wait_until(lambda: words in host.log(), words)

    read_again(other + "\n", "SIGHUP: the token of the admin listener is that of " + path)
    assert answers(other) == 200 and answers(TOKEN) == 401
    read_again("short s3cr3t", "SIGHUP: the token of the admin listener stays as it is: " + path + ": a token has 16 to 512")
    os.remove(path)
    host.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "stays as it is: cannot open " + path in host.log(), "a file that is not there")
    assert answers(other) == 200 and answers(TOKEN) == 401 and answers("short s3cr3t") == 401
    assert other not in host.log() and "secret" not in host.log()
    read_again(TOKEN, "SIGHUP")
    wait_until(lambda: answers(TOKEN) == 200, "the first token")


def check_page(host):
    status, headers, text = host.call(host.admin, "GET", "/")
    policy = headers["content-security-policy"]
    nonce = re.search("script-src 'nonce-([0-9a-f]{32})'", policy)[1]
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8" and "default-src 'none'" in policy
    assert text.count('nonce="%s"' % nonce) == 2 and "@NONCE@" not in text and "innerHTML" not in text and "http://www.w3.org/2000/svg" in text
    assert not re.search(r'(src|href)="(?!data:)', text) and text.endswith("</html>\n")
    assert host.call(host.admin, "GET", "/")[1]["content-security-policy"] != policy
    assert host.call(host.admin, "POST", "/")[0] == 405


def check_flags(program, folder):
    with open(folder + "/short", "w") as file:
        file.write("short s3cr3t")
    for flags, code, reason in ((["--admin_host=0.0.0.0", "--admin_port=0"], 2, "--admin_token_file"),
                                (["--admin_token_file=/none"], 2, "--admin_port"),
                                (["--admin_port=0", "--admin_token_file=/none"], 1, "/none"),
                                (["--admin_port=0", "--admin_token_file=" + folder + "/short"], 1, "16 to 512"),
                                (["--admin_port=0", "--admin_host=256.0.0.1", "--admin_token_file=" + folder + "/token"], 1, "256.0.0.1")):
        done = subprocess.run([program, "--model_base_path=" + folder + "/model", "--rest_api_port=0", *flags], stderr=subprocess.PIPE, timeout=20)
        text = done.stderr.decode()
        assert done.returncode == code and reason in text and "secret" not in text, (flags, done)


def main(program, folder, model):
    host = Host(program, folder, model, "--admin_token_file=" + folder + "/token", "--access_log=" + folder + "/access.log")
    check_token(host)
    check_orders(host)
    check_document(host)
    check_profile(host)
    check_new_token(host)
    check_versions(host)
    check_page(host)
    left = threading.Thread(target=lambda: host.ask("GET", "/v1/models/half:profile"), daemon=True)
    left.start()  # does not hold up the end
    host.end()
    for name in ("host.log", "access.log"):
        with open(folder + "/" + name) as file:
            assert TOKEN not in file.read()
    check_flags(program, folder)
    shutil.rmtree(folder + "/model/9")
    # A short time for a profile to wait; a busy machine may take longer for an answer.
    host = Host(program, folder, model, "--status_page", "--rest_api_timeout_in_ms=300")
    for port in (host.main, host.admin):  # no token is needed
        wait_until(lambda: [host.call(port, "GET", path)[0] for path in ("/", "/status.json")] == [200, 200], "the page")
    assert host.call(host.main, "GET", "/heap")[0] == 404
    check_no_profile(host, 0.3)
    host.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
