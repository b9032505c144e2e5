"""The admin listener of a serving_host that serves tests/golden's keras2-half as "half".

host_admin.py HOST FOLDER MODEL: FOLDER is where the host writes, MODEL the SavedModel's folder.
"""
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

TOKEN = "a-token-of-24-characters"
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


def check_profile(host):
    """The second one takes the place of the first; a request comes once it waits."""
    answers = []

    def profile():
        answers.append(host.ask("GET", "/v1/models/half:profile"))

    for _ in range(2):
        threading.Thread(target=profile, daemon=True).start()
    wait_until(lambda: len(answers) == 1, "the place of a profile")
    wait_until(lambda: host.predict() or len(answers) == 2, "a profile")
    assert sorted(status for status, _, _ in answers) == [200, 409], answers
    trace = json.loads(max(answers, key=lambda answer: len(answer[2]))[2])
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    stages = {event["name"]: event for event in events if event["cat"] == "stage"}
    steps = [event for event in events if event["cat"] == "step"]
    assert set(stages) == {"queue", "decode", "run", "encode"} and steps
    run = stages["run"]
    for event in steps:
        assert event["name"] and event["args"]["node"] and event["dur"] >= 0
        assert run["ts"] - 0.01 <= event["ts"] and event["ts"] + event["dur"] <= run["ts"] + run["dur"] + 0.01, (run, event)
    assert {event["pid"] for event in trace["traceEvents"]} == {1} and len(trace["traceEvents"]) == len(events) + 3


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
        file.write("short secret")
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
    host = Host(program, folder, model, "--status_page")
    assert host.call(host.main, "GET", "/")[0] == 200 and json.loads(host.call(host.main, "GET", "/status.json")[2])["models"]
    assert host.call(host.main, "GET", "/heap")[0] == 404
    assert host.call(host.admin, "GET", "/status.json")[0] == 200  # no token is needed
    host.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
