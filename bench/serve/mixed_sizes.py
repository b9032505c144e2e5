"""How long small requests take while large ones wait, and what the host's memory does meanwhile.

    python3 bench/serve/mixed_sizes.py PROGRAM [--large 100] [--numbers 400000] [-- FLAGS...]

PROGRAM is serving_host_double of the tests, so that reading and writing is all that requests are: `make tests/system/serving_host_double` builds it.
Another build of it beside this one, started in the same way, is what to compare with.  All large requests are sent at once, each on
a connection of its own; a small one is sent every 20 ms until the last of them is answered.

Prints one line of JSON: milliseconds of small requests (median, largest), seconds until all large ones were answered, statuses,
and resident memory in MB before, at most, and 5 seconds after.
"""
import argparse
import collections
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

PATH = "/v1/models/default:predict"


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def ask(port, body):
    """Milliseconds and status of one request."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", PATH, body)
        answer = connection.getresponse()
        answer.read()
        status = answer.status
    except OSError:
        status = 0
    connection.close()
    return (time.monotonic() - began) * 1000, status


class Host:
    def __init__(self, program, flags):
        self.folder = tempfile.TemporaryDirectory()
        config, port = os.path.join(self.folder.name, "config"), os.path.join(self.folder.name, "port")
        with open(config, "w") as file:
            file.write("{}")
        self.process = subprocess.Popen(
            [program, f"--processor_config={config}", "--rest_api_port=0", f"--port_file={port}", "--drain_delay_in_ms=0"]
            + flags, stderr=subprocess.DEVNULL)
        while not os.path.exists(port):
            time.sleep(0.02)
        with open(port) as file:
            self.port = int(file.read())

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def measure(host, large_count, numbers):
    large_body = b'{"inputs":[' + b",".join([b"0.5"] * numbers) + b"]}"
    small_body = b'{"inputs":[1.0,2.0]}'
    pid, statuses, times = host.process.pid, collections.Counter(), []
    ask(host.port, small_body)
    before = most = resident_mb(pid)

    def send_large():
        statuses["large %d" % ask(host.port, large_body)[1]] += 1

    threads = [threading.Thread(target=send_large) for _ in range(large_count)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        took, status = ask(host.port, small_body)
        times.append(took)
        statuses["small %d" % status] += 1
        most = max(most, resident_mb(pid))
        time.sleep(0.02)
    seconds = time.monotonic() - began
    time.sleep(5)
    return {
        "small_median_ms": round(statistics.median(times), 1), "small_most_ms": round(max(times), 1), "all_large_s": round(seconds, 2),
        "statuses": statuses, "mb_before": round(before), "mb_most": round(most), "mb_after": round(resident_mb(pid)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--large", type=int, default=100)
    parser.add_argument("--numbers", type=int, default=400000)
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    host = Host(args.program, args.flags)
    try:
        print(json.dumps(measure(host, args.large, args.numbers)))
    finally:
        host.end()


if __name__ == "__main__":
    main()
