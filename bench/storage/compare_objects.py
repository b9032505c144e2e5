#!/usr/bin/env python3
"""Loading a table from a web server against curl's parallel reads of ranges of the same file.

    compare_objects.py BUILD FOLDER [ROWS [DIM [THREADS [ROUNDS [RATE]]]]]

BUILD is the build folder (make bench).  Needs nginx and curl; FOLDER gets the checkpoint and nginx's
files.  RATE is the limit of each connection in MiB/s, as stores have one; 0: none.  Each round runs
curl (16 connections, blocks of 8 MiB, to /dev/null) and bench_load in turns.  Prints one line of JSON:
the medians of the times, curl_s / load_s, and peak memory less 1.05 times the table's, in MiB.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time

BLOCK = 8 << 20
CONF = """
daemon off;
error_log {folder}/nginx.log;
pid {folder}/nginx.pid;
worker_processes 2;
events {{ worker_connections 256; }}
http {{
  access_log off;
  sendfile on;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root /; autoindex on; {limit} location / {{ }} }}
}}
"""


def run_curl(url, size):
    command = ["curl", "-s", "-Z", "--parallel-immediate", "--parallel-max", "16"]
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size) - 1
        command += (["--next"] if first else []) + ["-o", "/dev/null", "-r", f"{first}-{last}", url]
    start = time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    asked = len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help", "help")
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if asked else 2)
    build, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    numbers = [int(n) for n in sys.argv[3:]] + [8000000, 32, 2, 5, 0][len(sys.argv) - 3:]
    rows, dim, threads, rounds, rate = numbers
    port = 18080 + os.getpid() % 1000
    load = [f"{build}/bench/storage/bench_load", folder, str(rows), str(dim), str(threads), "fp32", "1"]
    os.makedirs(folder, exist_ok=True)
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
        file.write(CONF.format(folder=folder, port=port, limit=f"limit_rate {rate}m;" if rate else ""))
    server = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        url = f"http://127.0.0.1:{port}"
        data = f"{folder}/load-{rows}-{dim}.data-00000-of-00001"
        curls, loads, peaks = [], [], []
        for _ in range(rounds):
            curls.append(run_curl(url + data, os.path.getsize(data)))
            answer = json.loads(subprocess.run(load + [url], check=True, capture_output=True).stdout)
            loads.append(answer["load_s"])
            peaks.append(answer["peak_over_mib"])
        curl_s, load_s = statistics.median(curls), statistics.median(loads)
        print(json.dumps({"bench": "objects", "rows": rows, "dim": dim, "threads": threads, "rate": rate,
                          "mib": os.path.getsize(data) >> 20, "curl_s": round(curl_s, 3),
                          "load_s": load_s, "of_curl": round(curl_s / load_s, 2),
                          "peak_over_mib": max(peaks)}))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


main()
