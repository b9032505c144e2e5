"""Throughput and latency of serving_host with and without dynamic batching, in alternation.

    python3 bench/host/compare_batching.py HOST GOLDEN [--cases ev-wdl ...] [--rounds 3] [--seconds 4] [--share 0.8] [--timeout 500]

HOST is serving_host of a build folder in which `make bench` was run, too; GOLDEN a folder with the golden models.  Requests are the smallest
of each model, as TensorFlow Serving's messages.  Servers, with as many runs at a time as there are CPUs:

    single    no batching
    adaptive  --enable_batching
    one       the same with one run at a time
    timeout   --enable_batching with batch_timeout_micros (--timeout)

"most" is the rate with 64 connections that send one request after the other.  Then requests arrive at random times (Poisson), at --share of
the most that `single` can do, the same for all, and with `own` at that share of what the server itself can do; their time counts from
their arrival.  Medians of the rounds.
"""
import argparse
import glob
import json
import os
import re
import statistics
import sys

from compare_host import PROTOBUF, Bench, Host, message, post

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

PATH = "/v1/models/default:predict"
SERVERS = "single", "adaptive", "one", "timeout"


def batch_size(host):
    """Requests and runs so far."""
    page = host.get("/monitoring/prometheus/metrics")
    return [float(re.search(r"batch%s_total{\S* (\S+)" % name, page)[1]) for name in ("_requests", "es")]


class Batching(Bench):
    def flags(self, server):
        parameters = {"timeout": "batch_timeout_micros { value: %d }" % self.args.timeout, "one": "num_batch_threads { value: 1 }"}.get(server, "")
        return [] if server == "single" else ["--enable_batching", "--batching_parameters_file=" + self.file(server, parameters.encode())]

    def measure(self, case, server, body, phase, connections, rate):
        host = Host(self.args.host, self.golden(case), self.flags(server))
        for _ in range(3):  # the first time that requests are joined they are run alone as well
            self.load(host, PATH, body, connections=64, kind=PROTOBUF, seconds=0.3)
        before = batch_size(host)
        result = self.load(host, PATH, body, connections=connections, rate=rate, kind=PROTOBUF)
        after = batch_size(host)
        result["batch"] = (after[0] - before[0]) / max(after[1] - before[1], 1)
        self.note((case, phase), server, result)
        host.end()
        return result["rate"]

    def smallest(self, case):
        paths = glob.glob(os.path.join(self.golden(case), "requests", "*.request.json"))
        host = Host(self.args.host, self.golden(case))
        metadata = json.loads(host.get("/v1/models/default/metadata"))
        for path in sorted(paths, key=os.path.getsize):
            with open(path, "rb") as file:
                body = file.read()
            packed = message(body, metadata, "default")
            if b"[]" not in body and post(host, PATH, packed, PROTOBUF):
                break
        host.end()
        return self.file("body", packed)

    def run(self):
        for case in self.args.cases:
            body = self.smallest(case)
            for _ in range(self.args.rounds):
                most = {server: self.measure(case, server, body, "most", 64, 0) for server in SERVERS}
                for server in SERVERS:
                    self.measure(case, server, body, "open", 256, self.args.share * most["single"])
                    self.measure(case, server, body, "own", 256, self.args.share * most[server])
        self.print()

    def print(self):
        print("%-20s %-6s %-9s %8s %8s %8s %8s %8s %8s" % ("case", "load", "server", "rate", "p50 us", "p99 us", "p99/p50", "cpu us", "batch"))
        for ((case, phase), server), results in self.rows.items():
            rate, p50, p99, cpu, batch = (statistics.median(r[key] for r in results) for key in ("rate", "p50", "p99", "cpu", "batch"))
            print("%-20s %-6s %-9s %8.0f %8.1f %8.1f %8.2f %8.1f %8.2f" % (case, phase, server, rate, p50, p99, p99 / p50, cpu, batch))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("golden")
    parser.add_argument("--cases", nargs="+", default=["ev-wdl", "tf-v2-dlrm", "tf-keras2-deepfm"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--timeout", type=int, default=500)
    Batching(parser.parse_args()).run()


if __name__ == "__main__":
    main()
