"""What three times the requests that the host can answer do to it, in each protocol.

    python3 bench/host/overload.py HOST GOLDEN [--case ev-wdl] [--seconds 3] [--rounds 3] [--times 3] [--max_queue 64] [--only PROTOCOL...]
    python3 bench/host/overload.py tests/system/serving_host_double [--run_ms 4] ...

HOST is serving_host of a build folder in which `make bench` was run, too; GOLDEN a folder with golden models, of which the largest request
of --case is sent.  With serving_host_double of the same folder a run takes --run_ms without using a CPU: then the queue and the sockets
are tried, and refusals take no time from the model.  Protocols: json, protobuf, v2 (binary data), grpc.

The host has one core, which its two threads that compute and the one that reads requests share, and the load generator another; where there
is one only, the figures are those of both.  A round of a protocol measures its capacity with 32 connections, each of which sends when it has its
answer.  Then requests arrive at random, --times as many, on 512 connections.  The table has the medians of the rounds, and says which
claims do not hold:

    goodput    good answers per second, as a share of the capacity: 0.95 at least
    refused    99th percentile from a request's writing to its refusal: below 1 ms
    accepted   99th percentile from a request's writing to its good answer: at most 1.1 times the "bound",
               which is (requests queued + threads) / capacity
    broken     no connection is closed

"CPU" is the host's and "client" the generator's share of a core.  The generator reads answers one after the other, beside its own requests, so
that near 1 the times are its own.  "refusal" is what one costs the host, in CPU time, if a good answer costs what it does below the capacity.
Where a refusal costs r and a good answer g, the host on one core cannot have a better goodput than 1 - (--times - 1) r / g: to read a request
that is refused takes time, too.

Other processes add their times to the 99th percentiles: measure on a machine that has none, or, with the double, whose host and generator
take little, by `chrt -f 1 python3 ...`.  Exits 1 when a claim does not hold.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

from compare_host import Host, post
from protocols import grpc_call, json_call, protobuf_call, v2_binary_call

CALLS = {"json": json_call, "protobuf": protobuf_call, "v2": v2_binary_call, "grpc": grpc_call}
CLOSED, OPEN, THREADS = 32, 512, 2


def pinned(core, command):
    return ["taskset", "-c", str(core), *command]


class PinnedHost(Host):
    def __init__(self, core, *rest):
        self.core = core
        super().__init__(*rest)

    def start(self, command, **options):
        super().start(pinned(self.core, command), **options)


class Overload:
    def __init__(self, args):
        self.args = args
        build = os.path.dirname(os.path.abspath(args.host))
        self.is_double = os.path.basename(args.host) == "serving_host_double"
        self.tools = os.path.join(build, *(["..", ".."] if self.is_double else []), "bench", "host")
        self.folder = tempfile.TemporaryDirectory()
        cores = sorted(os.sched_getaffinity(0))
        self.host_core, self.client_core = cores[0], cores[-1]
        self.rows = {}
        self.case, self.body = self.double() if self.is_double else (os.path.join(args.golden, args.case), self.largest_body())

    def double(self):
        """The double's configuration, as that of a golden model, and a body of some KB."""
        case = os.path.join(self.folder.name, "double")
        os.mkdir(case)
        with open(os.path.join(case, "case.json"), "w") as file:
            json.dump({"model_config": {"run_ms": self.args.run_ms}}, file, separators=(",", ":"))
        return case, json.dumps({"inputs": [i / 8 for i in range(1000)]}).encode()

    def largest_body(self):
        folder = os.path.join(self.args.golden, self.args.case, "requests")
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".request.json")]
        with open(max(paths, key=os.path.getsize), "rb") as file:
            return file.read()

    def load(self, host, call, file, connections, rate=0):
        before, cpu = resource.getrusage(resource.RUSAGE_CHILDREN), host.cpu_ns()
        output = subprocess.check_output(
            pinned(self.client_core, call.command(self.tools, host.port, file, connections, self.args.seconds, rate)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(output)
        result["cpu"] = (host.cpu_ns() - cpu) / 1e9
        result["client"] = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / self.args.seconds
        return result

    def round(self, protocol):
        host = PinnedHost(self.host_core, self.args.host, self.case,
                          ["--max_queue=%d" % self.args.max_queue, "--rest_api_num_threads=%d" % THREADS])
        post(host, "/v1/models/default:predict", self.body)
        call = CALLS[protocol]("default", self.body, json.loads(host.get("/v1/models/default/metadata")))
        file = os.path.join(self.folder.name, protocol)
        with open(file, "wb") as out:
            out.write(call.body)
        most = self.load(host, call, file, CLOSED)
        if most["count"] == 0:
            sys.exit(protocol + ": no request is answered")
        result = self.load(host, call, file, OPEN, self.args.times * most["rate"])
        host.end()
        result["most"] = most["rate"]
        result["goodput"] = result["rate"] / most["rate"]
        result["share"] = result["cpu"] / self.args.seconds
        cost = most["cpu"] / most["count"]
        result["refusal"] = max(result["cpu"] - cost * result["count"], 0) / max(result["refused"], 1) * 1e6
        result["cost"] = cost * 1e6
        result["bound"] = (self.args.max_queue + THREADS) / most["rate"] * 1e6
        self.rows.setdefault(protocol, []).append(result)

    def run(self):
        protocols = self.args.only or list(CALLS)
        for _ in range(self.args.rounds):
            for protocol in protocols:
                self.round(protocol)
        print("host on core %d, load generator on core %d" % (self.host_core, self.client_core))
        print("%-9s %9s %8s %8s %12s %13s %12s %9s %7s %5s %6s %9s %9s" % (
            "protocol", "capacity", "good/s", "goodput", "refused p99", "accepted p99", "bound", "refused", "broken", "CPU", "client", "good us",
            "refusal"))
        return all([self.print(protocol) for protocol in protocols])

    def print(self, protocol):
        def of(key):
            return statistics.median(result[key] for result in self.rows[protocol])

        failed = [words for words, holds in (("goodput", of("goodput") >= 0.95), ("refused", of("refused_p99") < 1000),
                                             ("accepted", of("sent_p99") <= 1.1 * of("bound")), ("broken", of("broken") == 0)) if not holds]
        print("%-9s %9.0f %8.0f %8.2f %9.0f us %10.0f us %9.0f us %9.0f %7.0f %5.2f %6.2f %9.0f %9.0f  %s" % (
            protocol, of("most"), of("rate"), of("goodput"), of("refused_p99"), of("sent_p99"), of("bound"), of("refused"), of("broken"),
            of("share"), of("client"), of("cost"), of("refusal"), "does not hold: " + ", ".join(failed) if failed else "holds"))
        return not failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("golden", nargs="?")
    parser.add_argument("--case", default="ev-wdl")
    parser.add_argument("--run_ms", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=float, default=3)
    parser.add_argument("--max_queue", type=int, default=64)
    parser.add_argument("--only", nargs="*", choices=list(CALLS))
    args = parser.parse_args()
    if args.golden is None and os.path.basename(args.host) != "serving_host_double":
        parser.error("GOLDEN is missing")
    sys.exit(0 if Overload(args).run() else 1)


if __name__ == "__main__":
    main()
