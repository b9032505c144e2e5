"""What a request costs the host, beside a bare evhttp handler that reads the same bodies.

    python3 bench/host/compare_host.py HOST GOLDEN [--before HOST] [--seconds 2] [--rounds 5] [--only CASE...]

HOST is serving_host of a build folder in which `make bench` was run, too; GOLDEN a folder with the golden models tf-half-plus-two and ev-wdl.
--before names the serving_host of an earlier build.  The servers run one after another, in --rounds rounds; the table has the medians of the
rounds (rates, times) and their minima (CPU time).  Cases:

    trivial    tf-half-plus-two, one connection, against evhttp
    json       ev-wdl, the body nearest to 4.5 KB, one connection
    protobuf   the same as TensorFlow Serving's message
    grpc       the same over gRPC (h2load)
    spread     ev-wdl, JSON, 8 connections
    open       ev-wdl, JSON, random arrivals at 80 % of the rate of `spread`
    overload   ev-wdl, its largest JSON body, three times the rate of 8 connections

"cpu" is user and system time of the server per request; "library" what the host's metrics say of the time in the library; "host" the difference.
"""
import argparse
import glob
import http.client
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

PROTOBUF = "application/x-protobuf"
TYPES = {"DT_FLOAT": (1, "f"), "DT_DOUBLE": (2, "d"), "DT_INT32": (3, "i"), "DT_INT64": (9, "q"), "DT_STRING": (7, None)}


# ---------------------------------------------------------------------- bodies


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def flatten(value):
    if not isinstance(value, list):
        return [], [value]
    parts = [flatten(item) for item in value]
    return [len(value)] + (parts[0][0] if parts else []), [leaf for part in parts for leaf in part[1]]


def tensor(value, dtype):
    number, letter = TYPES[dtype]
    shape, leaves = flatten(value)
    out = b"\x08" + varint(number) + field(2, b"".join(field(2, b"\x08" + varint(size)) for size in shape))
    if letter:
        return out + field(4, struct.pack("<%d%s" % (len(leaves), letter), *leaves))
    return out + b"".join(field(8, leaf.encode() if isinstance(leaf, str) else leaf["b64"].encode()) for leaf in leaves)


def message(body, metadata, model):
    """tensorflow.serving.PredictRequest of a columnar body."""
    inputs = json.loads(body)["inputs"]
    known = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    if len(known) == 1 and not isinstance(inputs, dict):
        inputs = {next(iter(known)): inputs}
    out = field(1, field(1, model.encode()))
    for name, value in inputs.items():
        out += field(2, field(1, name.encode()) + field(2, tensor(value, known[name]["dtype"])))
    return out


# --------------------------------------------------------------------- servers


class Server:
    def __init__(self, command, port, **options):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.port = port

    def cpu_ns(self):
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            with open(path) as file:
                total += int(file.read().split()[0])
        return total

    def end(self):
        self.process.kill()
        self.process.wait()


class Host(Server):
    def __init__(self, program, case, flags=()):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(case, "case.json")) as file:
            config = json.load(file)["model_config"]
        for key in "savedmodel_dir", "checkpoint_dir":
            if key in config:
                config[key] = os.path.join(os.path.abspath(case), config[key])
        path, port = os.path.join(self.folder.name, "config"), os.path.join(self.folder.name, "port")
        with open(path, "w") as file:
            json.dump(config, file)
        super().__init__([program, "--processor_config=" + path, "--rest_api_port=0", "--port_file=" + port, *flags], 0)
        while not os.path.exists(port):
            if self.process.poll() is not None:
                sys.exit(program + " ended")
            time.sleep(0.02)
        time.sleep(0.1)
        with open(port) as file:
            self.port = int(file.read())

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path)
        return connection.getresponse().read().decode()

    def library(self):
        """Microseconds in the library and how many times, so far."""
        page = self.get("/monitoring/prometheus/metrics")
        total = re.search(r"runtime_latency_sum\S* (\S+)", page)
        count = re.search(r"runtime_latency_count\S* (\S+)", page)
        return (float(total[1]), float(count[1])) if total and count else (0, 0)


def post(server, path, body, kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        sys.exit("%s: %d %s" % (path, answer.status, text[:300]))
    return text


# --------------------------------------------------------------------- running


class Bench:
    def __init__(self, args):
        self.args = args
        self.tools = os.path.join(os.path.dirname(os.path.abspath(args.host)), "bench", "host")
        self.folder = tempfile.TemporaryDirectory()
        self.rows = {}

    def file(self, name, data):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def load(self, server, path, body, connections=1, rate=0, kind="application/json", seconds=None):
        """One run of the load generator, with the CPU time and the library's time per request."""
        before, library = server.cpu_ns(), server.library() if isinstance(server, Host) else (0, 0)
        output = subprocess.check_output([
            os.path.join(self.tools, "bench_http"), str(server.port), path, body, str(connections), str(seconds or self.args.seconds),
            str(rate), kind])
        result = json.loads(output)
        done = max(result["count"], 1)
        result["cpu"] = (server.cpu_ns() - before) / 1e3 / done
        if isinstance(server, Host):
            after = server.library()
            result["library"] = (after[0] - library[0]) / max(after[1] - library[1], 1)
            result["host"] = result["cpu"] - result["library"]
        return result

    def h2load(self, server, path, body):
        before, library = server.cpu_ns(), server.library()
        count = max(int(4000 * self.args.seconds), 100)
        text = subprocess.check_output(
            ["h2load", "-n", str(count), "-c", "1", "-m", "1", "-d", body, "-H", "content-type: application/grpc", "-H", "te: trailers",
             "http://127.0.0.1:%d%s" % (server.port, path)], text=True)
        rate = float(re.search(r"finished in \S+ (\S+) req/s", text)[1])
        after = server.library()
        cpu, inside = (server.cpu_ns() - before) / 1e3 / count, (after[0] - library[0]) / max(after[1] - library[1], 1)
        return {"rate": rate, "cpu": cpu, "library": inside, "host": cpu - inside}

    def note(self, case, who, result):
        self.rows.setdefault((case, who), []).append(result)

    def evhttp(self, answer):
        port = 20000 + os.getpid() % 20000
        server = Server([os.path.join(self.tools, "bench_evhttp"), str(port), self.file("answer", answer)], port)
        time.sleep(0.3)
        return server

    def golden(self, name):
        return os.path.join(self.args.golden, name)

    def body(self, case, size):
        paths = glob.glob(os.path.join(self.golden(case), "requests", "*.request.json"))
        with open(min(paths, key=lambda path: abs(os.path.getsize(path) - size)), "rb") as file:
            return file.read()

    def trivial(self, who, program):
        body = self.body("tf-half-plus-two", 60)
        host = Host(program, self.golden("tf-half-plus-two"))
        answer = post(host, "/v1/models/default:predict", body)
        path = self.file("trivial", body)
        self.note("trivial", who, self.load(host, "/v1/models/default:predict", path))
        host.end()
        if who == "now":
            bare = self.evhttp(answer)
            self.note("trivial", "evhttp", self.load(bare, "/v1/models/default:predict", path))
            bare.end()

    def wide(self, who, program):
        want = lambda case: not self.args.only or case in self.args.only
        path, body = "/v1/models/default:predict", self.body("ev-wdl", 4500)
        host = Host(program, self.golden("ev-wdl"))
        answer = post(host, path, body)
        packed = message(body, json.loads(host.get("/v1/models/default/metadata")), "default")
        if want("json"):
            self.note("json", who, self.load(host, path, self.file("json", body)))
            if who == "now":
                bare = self.evhttp(answer)
                self.note("json", "evhttp", self.load(bare, path, self.file("json", body)))
                bare.end()
        if want("protobuf"):
            post(host, path, packed, PROTOBUF)
            self.note("protobuf", who, self.load(host, path, self.file("protobuf", packed), kind=PROTOBUF))
        if want("grpc"):
            framed = self.file("grpc", b"\0" + struct.pack(">I", len(packed)) + packed)
            self.note("grpc", who, self.h2load(host, "/tensorflow.serving.PredictionService/Predict", framed))
        if want("spread") or want("open") or want("overload"):
            json_file = self.file("json", body)
            most = self.load(host, path, json_file, connections=8)
            self.note("spread", who, most)
            if want("open"):
                self.note("open", who, self.load(host, path, json_file, connections=64, rate=0.8 * most["rate"]))
            if want("overload"):
                large = self.file("large", self.body("ev-wdl", 1 << 20))
                most = self.load(host, path, large, connections=8)
                host.end()
                host = Host(program, self.golden("ev-wdl"), ["--max_queue=64"])
                result = self.load(host, path, large, connections=512, rate=3 * most["rate"])
                result["goodput"] = result["rate"] / most["rate"]
                self.note("overload", who, result)
        host.end()

    def run(self):
        programs = [("before", self.args.before)] if self.args.before else []
        programs.append(("now", self.args.host))
        for _ in range(self.args.rounds):
            for who, program in programs:
                if not self.args.only or "trivial" in self.args.only:
                    self.trivial(who, program)
                if not self.args.only or set(self.args.only) - {"trivial"}:
                    self.wide(who, program)
        self.print()

    def print(self):
        print("%-10s %-7s %9s %8s %8s %8s %8s %8s %8s %8s %9s %8s" % (
            "case", "server", "rate", "cpu us", "library", "host us", "p50 us", "p99 us", "p99/p50", "goodput", "ref. p99", "refused"))
        for (case, who), results in sorted(self.rows.items()):
            def of(key, choose=statistics.median):
                return choose([result.get(key, float("nan")) for result in results])
            ratio = statistics.median([r["p99"] / r["p50"] if r.get("p50") else float("nan") for r in results])
            print("%-10s %-7s %9.0f %8.1f %8.1f %8.1f %8.1f %8.1f %8.2f %8.2f %9.0f %8.0f" % (
                case, who, of("rate"), of("cpu", min), of("library", min), of("host", min), of("p50"), of("p99"), ratio, of("goodput"),
                of("refused_p99"), of("refused")))
        self.print_ratios()

    def print_ratios(self):
        for who in "before", "now":
            for case in "trivial", "json":
                ours, bare = self.rows.get((case, who)), self.rows.get((case, "evhttp"))
                if ours and bare:
                    pairs = [a["rate"] / b["rate"] for a, b in zip(ours, bare)]
                    print("%s %s: %.2f of evhttp's rate (rounds: %s)" % (case, who, statistics.median(pairs), " ".join("%.2f" % p for p in pairs)))
            if self.rows.get(("grpc", who)) and self.rows.get(("protobuf", who)):
                cost = [min(r["cpu"] for r in self.rows[(case, who)]) for case in ("grpc", "protobuf")]
                print("grpc %s: %.2f times the CPU time of HTTP/1.1 and protobuf" % (who, cost[0] / cost[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("golden")
    parser.add_argument("--before")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    main()
