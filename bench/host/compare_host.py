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

What more requests than it can answer do to it is bench/host/overload.py's.
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

from protocols import PROTOBUF, Call, message  # noqa: E402


# --------------------------------------------------------------------- servers


class Server:
    def __init__(self, command, port, **options):
        self.process = subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options})
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
        path = os.path.join(self.folder.name, "config")
        with open(path, "w") as file:
            json.dump(config, file)
        self.start([program, "--processor_config=" + path, *flags])

    def start(self, command, **options):
        """Runs serving_host with these flags, and returns when it serves."""
        port = os.path.join(self.folder.name, "port")
        super().__init__([*command, "--rest_api_port=0", "--port_file=" + port], 0, **options)
        while not os.path.exists(port):
            if self.process.poll() is not None:
                sys.exit(command[0] + " ended")
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
        call = Call(path, None, None, kind)
        result = json.loads(subprocess.check_output(
            call.command(self.tools, server.port, body, connections, seconds or self.args.seconds, rate)))
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
        if want("spread") or want("open"):
            json_file = self.file("json", body)
            most = self.load(host, path, json_file, connections=8)
            self.note("spread", who, most)
            if want("open"):
                self.note("open", who, self.load(host, path, json_file, connections=64, rate=0.8 * most["rate"]))
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
        print("%-10s %-7s %9s %8s %8s %8s %8s %8s %8s" % ("case", "server", "rate", "cpu us", "library", "host us", "p50 us", "p99 us", "p99/p50"))
        for (case, who), results in sorted(self.rows.items()):
            def of(key, choose=statistics.median):
                return choose([result.get(key, float("nan")) for result in results])
            ratio = statistics.median([r["p99"] / r["p50"] if r.get("p50") else float("nan") for r in results])
            print("%-10s %-7s %9.0f %8.1f %8.1f %8.1f %8.1f %8.1f %8.2f" % (
                case, who, of("rate"), of("cpu", min), of("library", min), of("host", min), of("p50"), of("p99"), ratio))
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
