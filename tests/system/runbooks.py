"""Plays docs/runbooks.md on hosts that serve tests/golden's ev-ctr-timeline: breaks what a line of its tables names, and looks for what
the line promises; then runs the commands of the section.

runbooks.py RUNBOOKS HOST TOOL GOLDEN FOLDER: FOLDER is where the hosts write; FOLDER/disk may be a small file system of its own.
"""
import atexit
import errno
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

document, program, tool, golden, folder = sys.argv[1:]
TOKEN = "s3cr3t-of-24-characters-"
DELTAS = "v1/.incremental_checkpoint"


def wait_until(is_so, what):
    for _ in range(1000):
        found = is_so()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("not in 20 s: " + what)


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


# ------------------------------------------------------------------ the document


def sections():
    """By title: the lines of its table by their first cell, and its commands."""
    found = {}
    for title, text in re.findall(r"(?ms)^##? (.*?)\n(.*?)(?=^## |\Z)", read(document)):
        rows = {}
        for line in re.findall(r"(?m)^\| (.*) \|$", text):
            cause, *cells = line.split(" | ")
            if len(cells) == 3 and "`" in line:
                rows[cause] = [re.findall("`([^`]*)`", cell) for cell in cells]
        commands = re.findall(r"(?m)^ {4,}((?:curl|serving_tool) .*)$", text)
        found[title] = rows, commands
    return found


def body(rows):
    """A request of so many rows; some ask for user 999, whom the full checkpoint 200 does not have."""
    with open(golden + "/timeline/01/requests/002.request.json") as file:
        inputs = json.load(file)["inputs"]
    return json.dumps({"inputs": {name: (values * rows)[:rows] for name, values in inputs.items()}}).encode()


runbooks = sections()
SMALL, MEDIUM, BIG = body(7), body(700), body(3500)

# ------------------------------------------------------------------------- host


class Host:
    """Serves "ctr" from FOLDER/NAME; an operator's commands are run there."""

    def __init__(self, name, keys=None, more=None, flags=()):
        self.folder = folder + "/" + name
        os.mkdir(self.folder)
        os.symlink(golden + "/model", self.folder + "/savedmodel")
        shutil.copytree(golden + "/checkpoints", self.folder + "/checkpoints")
        os.mkdir(self.folder + "/checkpoints/" + DELTAS)
        with open(golden + "/case.json") as file:
            config = json.load(file)["model_config"]
        config.update(savedmodel_dir=self.folder + "/savedmodel", checkpoint_dir=self.folder + "/checkpoints", update_poll_interval_ms=100)
        config.update(keys or {})
        with open(self.folder + "/config", "w") as file:
            json.dump({"models": [{"name": "ctr", "processor_config": config, **(more or {})}]}, file)
        with open(self.folder + "/token", "w") as file:
            file.write(TOKEN)
        with open(self.folder + "/host.log", "w") as log:
            self.process = subprocess.Popen(
                [program, "--model_config_file=" + self.folder + "/config", "--rest_api_port=0", "--rest_api_num_threads=1", "--admin_port=0",
                 "--admin_token_file=" + self.folder + "/token", "--drain_delay_in_ms=0", "--slow_request_ms=1",
                 "--slow_request_log=" + self.folder + "/slow.log", *flags], stderr=log)
        atexit.register(self.process.kill) # if something fails
        self.admin = wait_until(lambda: self.address("admin listener on"), "the admin listener")
        self.main = self.address("INFO listening on")
        assert self.ask(SMALL) == 200

    def address(self, words):
        assert self.process.poll() is None, "the host has ended"
        found = re.search(words + r" (http://127\.0\.0\.1:\d+)\n", read(self.folder + "/host.log"))
        return found and found[1]

    def lines(self):
        """Of the log and of the log of slow requests."""
        return (read(self.folder + "/host.log") + read(self.folder + "/slow.log")).splitlines()

    def get(self, address):
        request = urllib.request.Request(address, headers={"Authorization": "Bearer " + TOKEN})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    def ask(self, body):
        """The status of the answer to a prediction."""
        try:
            with urllib.request.urlopen(self.main + "/v1/models/ctr:predict", body, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def value(self, metric):
        """The sum of the samples with the name and the labels."""
        name, labels = re.fullmatch(r"([\w:]+)(?:\{(.*)\})?", metric).groups()
        samples = re.findall("(?m)^" + name + r"(\{.*\})? (\S+)$", self.get(self.main + "/monitoring/prometheus/metrics"))
        return sum(float(number) for having, number in samples if all(label in having for label in (labels or "").split(",")))

    def add(self, step, names=""):
        """The files of a step of the golden model's timeline, or those with `names` in their names; each appears as a whole."""
        top = golden + "/timeline/" + step
        for found in sorted(os.path.join(path, name) for path, _, files in os.walk(top + "/checkpoints") for name in files if names in name):
            to = self.folder + found[len(top):]
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(found, to + ".part")
            os.rename(to + ".part", to)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0


def play(host, section, cause, action, is_told):
    """After `action` each metric of the line has grown, there are new lines of the log as it says, and the document of the status page tells
    of it, which is_told(host's part, model's part) decides."""
    metrics, lines, words = runbooks[section][0].pop(cause)
    before, said = {metric: host.value(metric) for metric in metrics}, set(host.lines())
    action()
    for metric in metrics:
        wait_until(lambda: host.value(metric) > before[metric], f"{section}: {cause}: {metric}")
    for line in lines:
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("...")))
        wait_until(lambda: any(pattern.search(new) for new in host.lines() if new not in said), f"{section}: {cause}: {line}")
    def is_shown():
        document = json.loads(host.get(host.admin + "/status.json"))
        return is_told(document, document["models"][0])

    wait_until(is_shown, f"{section}: {cause}: the status page's document")
    page = host.get(host.admin + "/")
    for word in words:
        assert word in page, f"{section}: {cause}: the page has no {word}"


def run_commands(host, section):
    """serving_tool may find something broken."""
    known = {"ADMIN": host.admin, "AUTH": "Authorization: Bearer " + TOKEN, "MODEL": "ctr", "MODELS": host.folder, "PATH": folder + "/bin:" + os.environ["PATH"]}
    for command in runbooks[section][1]:
        process = subprocess.Popen(command, shell=True, cwd=host.folder, env={**os.environ, **known}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while ":profile" in command and process.poll() is None: # it waits for a request
            host.ask(SMALL)
        text = process.communicate()[0].decode()
        assert process.returncode <= command.startswith("serving_tool"), f"{section}: {command}: {text}"


# ----------------------------------------------------------------------- faults


def ask_at_once(host, request, count):
    """All of them are there before the host begins the first."""
    connections = [http.client.HTTPConnection(host.main.split("/")[2], timeout=20) for _ in range(count)]
    host.process.send_signal(signal.SIGSTOP)
    for connection in connections:
        connection.request("POST", "/v1/models/ctr:predict", request)
    host.process.send_signal(signal.SIGCONT)
    for connection in connections:
        assert connection.getresponse().status == 200
        connection.close()


def waits(model, state, words):
    """Whether a version is in that state for such a reason."""
    return any(version["state"] == state and words in version["why"] for version in model["versions"])


def order(host, words):
    """As somebody else would give it."""
    subprocess.run(["curl", "-fsS", "-o", "/dev/null", "-X", "POST", "-H", "Authorization: Bearer " + TOKEN, host.admin + "/v1/models/ctr" + words], check=True)


def until(host, metric, value):
    wait_until(lambda: host.value(metric) == value, f"{metric} {value}")


def play_updates(host):
    play(host, "Not updating", "files are missing, or still being copied", lambda: host.add("01", ".index"),
         lambda _, model: waits(model, "discovered", "is missing"))
    host.add("01")
    until(host, "serving_processor_live_delta_step", 110)
    play(host, "Not updating", "somebody has pinned a version", lambda: order(host, "/versions/100/deltas/110:pin"),
         lambda _, model: model["pinned"]["delta_step"] == "110")
    run_commands(host, "Not updating")
    until(host, "serving_processor_pinned", 0)
    play(host, "Bad checkpoint published", "files are broken", lambda: host.add("03"),
         lambda _, model: waits(model, "refused", "fail their checksum") and model["refusals"])
    for name in os.listdir(host.folder + "/checkpoints/" + DELTAS):
        if "130" in name:
            os.remove(host.folder + "/checkpoints/" + DELTAS + "/" + name)
    until(host, "serving_processor_version_refusal", 0)

    def forget_users():
        host.add("06")
        until(host, "serving_processor_live_full_step", 200)
        host.ask(BIG)

    play(host, "Bad checkpoint published", "files are sound, and the model is wrong", forget_users,
         lambda _, model: any(table["absent"] > 100 for table in model["tables"]))
    run_commands(host, "Bad checkpoint published")
    assert host.value("serving_processor_live_full_step") == 100


def play_store(host):
    away = host.folder + "/away"
    play(host, "Store down", "the folder of versions is away", lambda: os.rename(host.folder + "/checkpoints", away),
         lambda _, model: host.folder in model["unreadable"]["why"])
    os.rename(away, host.folder + "/checkpoints")
    until(host, "serving_processor_source_unreadable_seconds", 0)


def play_latency(host):
    play(host, "Latency up", "requests wait for a thread", lambda: ask_at_once(host, MEDIUM, 12),
         lambda _, model: model["stages"]["queue"]["sum_us"] > 1000)
    lines = map(json.loads, read(host.folder + "/slow.log").splitlines())
    assert any(line["route"] == "predict" and line["queue_us"] > line["run_us"] for line in lines), "no request has waited for longer than it was computed"
    play(host, "Latency up", "requests are larger, or the model is slower", lambda: host.ask(BIG),
         lambda _, model: model["stages"]["run"]["sum_us"] > 1000)
    run_commands(host, "Latency up")


def play_memory(host):
    """--max_request_memory has room for one of two bodies, model_update_memory_mb for one of two full checkpoints."""

    def ask_beside():
        address, size = host.main.split("/")[2].split(":"), MEMORY * 2 // 3
        with socket.create_connection((address[0], int(address[1]))) as slow:
            slow.sendall(b"POST /v1/models/ctr:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b" " * (size - 1))
            wait_until(lambda: host.value("serving_processor_request_memory_bytes") >= size, "the memory of a body")
            assert host.ask(b" " * size) == 503

    play(host, "Memory up", "requests are large, or many", ask_beside, lambda document, _: document["rejections"]["memory"] > 0)
    play(host, "Memory up", "the model has grown", lambda: host.add("01"), lambda _, model: any(table["overlay_rows"] for table in model["tables"]))
    play(host, "Memory up", "there is no room for a second version", lambda: host.add("06"),
         lambda _, model: waits(model, "refused", "model_update_memory_mb"))
    run_commands(host, "Memory up")


def play_disk(host, is_small):
    """`is_small`: there is a disk to fill."""
    filler = folder + "/disk/filler"

    def fill():
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError as error:
                assert error.errno == errno.ENOSPC

    play(host, "Disk full", "a log of lines has no room", lambda: host.ask(SMALL), lambda document, _: document["log_lines_lost"] > 0)
    if is_small:
        fill()
        play(host, "Disk full", "the log of predictions has no room", lambda: host.ask(BIG), lambda _, model: model["unlogged"] > 0)
        play(host, "Disk full", "a new version has no room on the SSD", lambda: host.add("06"),
             lambda _, model: waits(model, "refused", "No space left on device"))
        os.remove(filler)
    else:
        print("no small file system can be mounted: a full disk is played for the access log only")
        runbooks["Disk full"][0].clear()
        host.add("06")
    run_commands(host, "Disk full")
    until(host, "serving_processor_live_full_step", 200)


def play_ssd(host):
    play(host, "Latency up", "rows are read from the SSD", lambda: host.ask(BIG), lambda _, model: any(table["missed"] for table in model["tables"]))

    def spoil():
        for path, _, names in os.walk(folder + "/disk/ssd"):
            for name in names:
                if name.endswith(".sst"):
                    with open(path + "/" + name, "r+b") as file:
                        file.write(bytes(os.path.getsize(file.name)))
        wait_until(lambda: host.ask(SMALL) >= 500, "a read that fails")

    play(host, "Store down", "the SSD fails", spoil, lambda _, model: any(table["errors"] for table in model["tables"]))


def serve_files():
    """A web server for FOLDER, as an object store, and its address."""
    log = folder + "/web.log"
    with open(log, "w") as out:
        web = subprocess.Popen([sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder], stdout=out, stderr=out)
    atexit.register(web.kill)
    return web, "http://127.0.0.1:" + wait_until(lambda: re.search(r" port (\d+) ", read(log)), "the web server")[1]


def serve_rows():
    """A Redis, and its address."""
    path = folder + "/redis.sock"
    with open(folder + "/redis.log", "w") as log:
        redis = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder], stdout=log, stderr=log)
    atexit.register(redis.kill)
    wait_until(lambda: os.path.exists(path), "Redis")
    return redis, "unix:" + path


def play_remote():
    """Checkpoints in a web server's folder, rows in Redis."""
    web, address = serve_files()
    redis, rows = serve_rows()
    host = Host("remote", {"model_store_type": "http", "checkpoint_dir": address + "/remote/checkpoints", "feature_store_type": "redis",
                           "redis_url": rows, "ev_storage_size": [1]})

    def lose_redis():
        redis.kill()
        redis.wait()
        host.ask(BIG)

    play(host, "Store down", "Redis, or a holder of rows, is away", lose_redis, lambda _, model: any(
        table["defaulted"] and table["servers_up"] < table["servers"] for table in model["tables"]))
    play(host, "Store down", "the object store is away", web.kill, lambda _, model: address in model["unreadable"]["why"])
    host.end()


def play_stream():
    """A broker that says nothing, and then goes away."""
    broker = socket.create_server(("127.0.0.1", 0))
    host = Host("stream", {"row_stream_brokers": "127.0.0.1:%d" % broker.getsockname()[1], "row_stream_catch_up_seconds": 0})
    play(host, "Store down", "the brokers of a row stream are away", broker.close, lambda _, model: True)
    host.end()


# ------------------------------------------------------------------------- main

MEMORY = 3 << 20
os.mkdir(folder + "/bin")
os.symlink(os.path.abspath(tool), folder + "/bin/serving_tool")
host = Host("updates")
run_commands(host, "Runbooks")
play_updates(host)
play_store(host)
play_latency(host)
host.end()
host = Host("memory", {"model_update_memory_mb": 2}, flags=[f"--max_request_memory={MEMORY}"])
play_memory(host)
host.end()
host = Host("full", {"ev_storage_type": 12, "ev_storage_path": folder + "/disk/ssd", "ev_storage_size": [1, 1]},
            {"logging_config": {"log_collector_config": {"type": "file", "filename_prefix": folder + "/disk/ctr"}, "sampling_config": {"sampling_rate": 1}}},
            ["--access_log=/dev/full"])
play_disk(host, os.path.ismount(folder + "/disk"))
play_ssd(host)
host.end()
if shutil.which("redis-server"):
    play_remote()
else:
    print("redis-server is not installed: stores of other machines are not played")
    for cause in ("the object store is away", "Redis, or a holder of rows, is away"):
        runbooks["Store down"][0].pop(cause)
if "librdkafka" in subprocess.run(["ldd", program], stdout=subprocess.PIPE, check=True).stdout.decode():
    play_stream()
else:
    print("a build without librdkafka: row streams are not played")
    runbooks["Store down"][0].pop("the brokers of a row stream are away")
left = [f"{title}: {cause}" for title, (rows, _) in runbooks.items() for cause in rows]
assert not left, f"not played: {left}"
