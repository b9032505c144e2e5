"""Half an hour of everything at once: requests in each protocol, new versions, models that come and go, and clients that mean harm.

    python3 bench/host/soak.py HOST GOLDEN [--minutes 30] [--load 0.8] [--log FILE] [--no_bad_clients] [--growth 0.05]

HOST is serving_host of a build folder in which `make bench` was run, too; GOLDEN a folder with the golden models tf-half-plus-two and ev-wdl.
The host has a model_config_file with four models:

    wdl      ev-wdl; its full checkpoint comes again and again under a new step
    half     tf-half-plus-two
    rows     tests/golden/ev-rows; each number of an answer tells the version; a new delta every few seconds, now and then a full checkpoint
    visitor  tf-half-plus-two again, put into the file and taken out of it again and again, with SIGHUP

First all requests together are sent as fast as they are answered, for a few seconds: what each protocol gets is its capacity in the mix.  Then
each is sent at --load of that, at random times, for --minutes.  The load generators share the host's CPUs.

Each answer to a good request is checked: the status, and the outputs; those of `rows` must be of one version, one that was published and is
not older than what was live when the generator started (they start anew every 20 s).  The claims, printed at the end:

    no good request fails            no connection of a good client is closed
    each version comes to be live    each time the visitor comes, it answers, and goes again
    no bad request is answered by 200, and the host ends by SIGTERM with status 0, without a sanitizer's report
    resident memory: the median of the last tenth is at most --growth above that of the second tenth (from 10 minutes on, without sanitizers)
    descriptors and threads: when the clients are gone, no more than before they came, but for the files of a delta and of the one before it

Exits 1 when one of them does not hold.
"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

from bad_clients import BadClients
from compare_host import Host, post
from protocols import eas_call, grpc_call, json_call, protobuf_call, read_eas, read_json, v2_binary_call, v2_json_call

SLICE, MEASURE = 20, 3  # seconds of a load generator
CONNECTIONS = 8  # of each
KEYS, ASKED = 20000, [0, 1, 2, 3, 10, 11, 19998, 19999]
DELTA_SECONDS, DELTAS_PER_FULL, VISIT_SECONDS, SAMPLE_SECONDS, LIVE_SECONDS = 3, 8, 2, 2, 60
DELTA_FILES = 2  # that a live version keeps open: its own, and those of the delta that it was loaded after
REPORTS = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|LeakSanitizer: detected")
ROWS_MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "ev-rows", "model")


def near(outputs, wanted):
    """Why the outputs are not those; None: they are.  The name of the only output is not in all answers."""
    if len(outputs) == len(wanted) == 1:
        outputs = {name: values for name, values in zip(wanted, outputs.values())}
    if sorted(outputs) != sorted(wanted):
        return "has the outputs %s, not %s" % (sorted(outputs), sorted(wanted))
    for name, values in wanted.items():
        if len(outputs[name]) != len(values) or any(abs(a - b) > 1e-6 + 1e-5 * abs(b) for a, b in zip(outputs[name], values)):
            return "has other values of %s" % name
    return None


# ------------------------------------------------------------------------- host


class Fleet(Host):
    """The host with its four models."""

    def __init__(self, args, tools):
        self.folder = tempfile.TemporaryDirectory()
        self.golden, self.tools, self.lock = args.golden, tools, threading.Lock()
        self.checkpoints = {"wdl": os.path.join(self.folder.name, "wdl"), "rows": os.path.join(self.folder.name, "rows")}
        shutil.copytree(os.path.join(args.golden, "ev-wdl", "checkpoints"), self.checkpoints["wdl"])
        subprocess.check_call(["chmod", "-R", "u+w", self.checkpoints["wdl"]])
        os.makedirs(os.path.join(self.checkpoints["rows"], "v1", ".incremental_checkpoint"))
        open(os.path.join(self.checkpoints["rows"], "v1", "checkpoint"), "w").close()
        self.publish_rows(1, 0)
        self.write_models(False)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.grpc_port = free.getsockname()[1]
        self.log = args.log or os.path.join(self.folder.name, "log")
        with open(self.log, "w") as log:
            self.start([args.host, "--model_config_file=" + self.file, "--wait_for_models", "--port=%d" % self.grpc_port], stderr=log)

    def publish_rows(self, full, delta):
        subprocess.check_call([os.path.join(self.tools, "bench_rows"), self.checkpoints["rows"], str(KEYS), str(full), str(delta)])

    def config(self, case, **other):
        with open(os.path.join(self.golden, case, "case.json")) as file:
            config = json.load(file)["model_config"]
        return {**config, "savedmodel_dir": os.path.join(os.path.abspath(self.golden), case, "model"), **other}

    def write_models(self, visitor):
        rows = self.config("ev-wdl", savedmodel_dir=os.path.abspath(ROWS_MODEL), checkpoint_dir=self.checkpoints["rows"])
        models = {"wdl": self.config("ev-wdl", checkpoint_dir=self.checkpoints["wdl"]), "half": self.config("tf-half-plus-two"), "rows": rows}
        if visitor:
            models["visitor"] = self.config("tf-half-plus-two")
        self.file = os.path.join(self.folder.name, "models")
        with open(self.file + ".new", "w") as file:
            json.dump({"models": [{"name": name, "processor_config": config} for name, config in models.items()]}, file)
        os.rename(self.file + ".new", self.file)

    def state(self, model):
        """Of its newest version: its number and its state; None: there is no such model."""
        found = json.loads(self.get("/v1/models/" + model)).get("model_version_status")
        return (int(found[0]["version"]), found[0]["state"]) if found else None

    def descriptors(self):
        """What they are, without numbers."""
        folder, found = "/proc/%d/fd" % self.process.pid, []
        for name in os.listdir(folder):
            try:
                found.append(re.sub(r"\d+", "N", os.readlink(os.path.join(folder, name))))
            except OSError:
                pass  # closed meanwhile
        return collections.Counter(found)

    def sample(self):
        """Kilobytes, descriptors, threads."""
        with open("/proc/%d/status" % self.process.pid) as file:
            status = file.read()
        return (int(re.search(r"VmRSS:\s+(\d+)", status)[1]), self.descriptors().total(),
                int(re.search(r"Threads:\s+(\d+)", status)[1]))

    def is_sanitized(self):
        with open("/proc/%d/maps" % self.process.pid) as file:
            return re.search(r"lib[at]san", file.read()) is not None


# ----------------------------------------------------------------------- streams


class Stream:
    """Good requests of one kind, and what became of them."""

    def __init__(self, soak, name, call, check):
        self.soak, self.name, self.call, self.check = soak, name, call, check
        self.file = os.path.join(soak.folder.name, name)
        self.good = self.failed = self.late = 0
        self.rate, self.p99 = 0, []
        with open(self.file, "wb") as file:
            file.write(call.body)

    def run(self, seconds, rate, connections):
        """One run of the load generator."""
        host, oldest = self.soak.host, self.soak.live
        port = host.grpc_port if self.call.grpc else host.port
        with tempfile.TemporaryDirectory(dir=self.soak.folder.name) as keep:
            output = subprocess.check_output(self.call.command(self.soak.tools, port, self.file, connections, seconds, rate, keep))
            result = json.loads(output)
            self.good += result["count"]
            self.late += result["unanswered"]
            self.p99.append(result["p99"])
            self.note(result["refused"], lambda: open(os.path.join(keep, "refused"), "rb").read()[:300])
            self.note(result["broken"], lambda: "the connection is closed")
            self.note(result["unkept"], lambda: "there are too many different answers")
            for number, count in enumerate(result["kept"]):
                with open(os.path.join(keep, str(number)), "rb") as file:
                    self.look(file.read(), count, oldest)
        return result["rate"]

    def note(self, count, why):
        if count:
            self.failed += count
            self.soak.fail("%s: %d requests: %s" % (self.name, count, why()))

    def look(self, body, count, oldest):
        try:
            why = self.check(self.call.read(body), oldest)
        except (ValueError, KeyError, IndexError) as error:
            why = "cannot be read: %r" % error
        if why:
            self.note(count, lambda: "the answer %s: %r" % (why, body[:300]))

    def go_on(self, until):
        while time.monotonic() < until - 0.2:
            self.run(min(SLICE, until - time.monotonic()), self.rate, CONNECTIONS)


class Soak:
    def __init__(self, args):
        self.args = args
        self.tools = os.path.join(os.path.dirname(os.path.abspath(args.host)), "bench", "host")
        self.folder = tempfile.TemporaryDirectory()
        self.failures, self.lock = [], threading.Lock()
        self.published, self.seen, self.live = {1000.0}, set(), 1000.0
        self.reloads = self.visits = self.visitor_answers = 0
        self.ended = threading.Event()
        self.host = Fleet(args, self.tools)
        self.streams = self.make_streams()
        good = [stream.call for stream in self.streams]
        self.bad = BadClients([self.host.port, self.host.grpc_port], good)

    def fail(self, text):
        with self.lock:
            self.failures.append(text)
        print("FAILED: " + text, flush=True)

    # -------------------------------------------------------- good requests

    def make_streams(self):
        wdl, half = os.path.join(self.args.golden, "ev-wdl", "requests", "002"), os.path.join(self.args.golden, "tf-half-plus-two", "requests", "000")
        rows_body = json.dumps({"inputs": {"keys": ASKED}}).encode()

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        def golden(wanted):
            return lambda outputs, oldest: near(outputs, wanted)

        def metadata(model):
            return json.loads(self.host.get("/v1/models/%s/metadata" % model))

        of_wdl, of_half = golden(read_json(read(wdl + ".response.json"))), golden(read_json(read(half + ".response.json")))
        known = {model: metadata(model) for model in ("wdl", "rows")}
        wdl_body, self.half_body = read(wdl + ".request.json"), read(half + ".request.json")
        self.of_half = of_half
        self.rows_call = json_call("rows", rows_body, known["rows"])
        return [
            Stream(self, "REST", json_call("wdl", wdl_body, known["wdl"]), of_wdl),
            Stream(self, "REST, half", json_call("half", self.half_body, None), of_half),
            Stream(self, "REST, rows", self.rows_call, self.of_rows),
            Stream(self, "protobuf", protobuf_call("wdl", wdl_body, known["wdl"]), of_wdl),
            Stream(self, "V2 JSON, rows", v2_json_call("rows", rows_body, known["rows"]), self.of_rows),
            Stream(self, "V2 binary, rows", v2_binary_call("rows", rows_body, known["rows"]), self.of_rows),
            Stream(self, "gRPC, rows", grpc_call("rows", rows_body, known["rows"]), self.of_rows),
            Stream(self, "EAS", eas_call("wdl", read(wdl + ".request.pb")), golden(read_eas(read(wdl + ".response.pb")))),
        ]

    def of_rows(self, outputs, oldest):
        """Whether all numbers are of one version, which may be live."""
        value, width = outputs["dense"][0], 64
        full = 1000.0 * (value // 1000)
        wanted = [value if key % 2 == 0 else full for key in ASKED]
        if outputs["dense"] != [value] * 4 or outputs["seldom"] != [full] * 16 or outputs["rows"] != [row for row in wanted for _ in range(width)]:
            return "is of more than one version"
        if any(abs(got - width * row * value) > 1e-4 * got for got, row in zip(outputs["product"], wanted)):
            return "has a wrong product"
        if value not in self.published:
            return "is of version %g, which there is not" % value
        if value < oldest:
            return "is of version %g, older than %g" % (value, oldest)
        self.seen.add(value)
        return None

    # ------------------------------------------------------------- versions

    def wait_for(self, holds, what):
        until = time.monotonic() + LIVE_SECONDS
        while time.monotonic() < until:
            if holds():
                return True
            time.sleep(0.05)
        self.fail("%s within %d s" % (what, LIVE_SECONDS))
        return False

    def rows_value(self):
        return read_json(post(self.host, self.rows_call.path, self.rows_call.body))["dense"][0]

    def publish(self):
        """Deltas, and a full checkpoint after some of them."""
        full, delta, step = 1, 0, 1200
        while not self.ended.wait(DELTA_SECONDS):
            before = (full, delta)
            full, delta = (full + 1, 0) if delta == DELTAS_PER_FULL else (full, delta + 1)
            value = 1000.0 * full + delta
            self.published.add(value)
            self.host.publish_rows(full, delta)
            if not self.wait_for(lambda: self.rows_value() == value, "version %g of rows is not live" % value):
                return
            self.live = value
            self.remove_rows(*before, keep_full=delta != 0)
            if delta == 0:
                step += 1
                self.publish_wdl(step)

    def remove_rows(self, full, delta, keep_full):
        folder = os.path.join(self.host.checkpoints["rows"], "v1")
        names = [os.path.join(folder, ".incremental_checkpoint", "incremental_model.ckpt-%d" % (1000 * full + delta))] if delta else []
        names += [] if keep_full else [os.path.join(folder, "model.ckpt-%d" % (1000 * full))]
        for name in names:
            for ending in ".index", ".data-00000-of-00001":
                os.unlink(name + ending)

    def publish_wdl(self, step):
        folder = os.path.join(self.host.checkpoints["wdl"], "model_WIDE_AND_DEEP")
        for ending in ".data-00000-of-00001", ".index":
            new = os.path.join(folder, "model.ckpt-%d" % step)
            shutil.copy(os.path.join(folder, "model.ckpt-%d" % (step - 1)) + ending, new + ".part")
            os.rename(new + ".part", new + ending)
        if self.wait_for(lambda: self.host.state("wdl") == (step, "AVAILABLE"), "full checkpoint %d of wdl is not live" % step):
            self.reloads += 1
            for ending in ".data-00000-of-00001", ".index":
                os.unlink(os.path.join(folder, "model.ckpt-%d" % (step - 1)) + ending)

    # -------------------------------------------------------------- visitor

    def show_visitor(self, there):
        self.host.write_models(there)
        self.host.process.send_signal(signal.SIGHUP)

    def visit(self):
        """A model that comes, answers and goes."""
        while not self.ended.wait(VISIT_SECONDS):
            self.show_visitor(True)
            if not self.wait_for(lambda: (self.host.state("visitor") or (0, ""))[1] == "AVAILABLE", "the visitor is not there"):
                return
            for _ in range(20):
                why = self.of_half(read_json(post(self.host, "/v1/models/visitor:predict", self.half_body)), 0)
                if why:
                    self.fail("the visitor's answer " + why)
                self.visitor_answers += 1
            self.show_visitor(False)
            if not self.wait_for(lambda: (self.host.state("visitor") or (0, "END"))[1] == "END", "the visitor is not gone"):
                return
            self.visits += 1

    # --------------------------------------------------------------- running

    def guarded(self, work, *arguments):
        """A thread whose error is a failure."""
        def run():
            try:
                work(*arguments)
            except (Exception, SystemExit) as error:
                self.fail("%s: %r" % (getattr(work, "__qualname__", work), error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def measure(self):
        """What each stream gets when all want as much as there is."""
        def one(stream):
            stream.rate = self.args.load * stream.run(MEASURE, 0, 2)

        for thread in [self.guarded(one, stream) for stream in self.streams]:
            thread.join()
        print("capacity of the mix: " + ", ".join("%s %.0f/s" % (s.name, s.rate / self.args.load) for s in self.streams), flush=True)

    def watch(self, until):
        """Samples; a line a minute.  False when the host is gone."""
        begin, samples, told = time.monotonic(), [], time.monotonic()
        while time.monotonic() < until:
            if self.host.process.poll() is not None:
                self.fail("the host has ended with status %s" % self.host.process.returncode)
                return samples
            samples.append((time.monotonic() - begin, *self.host.sample()))
            if time.monotonic() > told + 60:
                told = time.monotonic()
                print("%.0f s: %d good requests, %d versions, %d visits, %d kB, %d descriptors, %d threads" % (
                    samples[-1][0], sum(s.good for s in self.streams), len(self.seen), self.visits, *samples[-1][1:]), flush=True)
            time.sleep(SAMPLE_SECONDS)
        return samples

    def run(self):
        sanitized = self.host.is_sanitized()
        self.measure()
        time.sleep(1)
        before, opened = self.host.sample(), self.host.descriptors()
        until = time.monotonic() + 60 * self.args.minutes
        threads = [self.guarded(stream.go_on, until) for stream in self.streams]
        threads += [self.guarded(self.publish), self.guarded(self.visit)]
        if not self.args.no_bad_clients:
            threads += [self.guarded(self.bad.run), self.guarded(self.bad.run), self.guarded(self.bad.drip)]
        samples = self.watch(until)
        self.ended.set()
        self.bad.ended.set()
        for thread in threads:
            thread.join(LIVE_SECONDS + 30)
        if self.host.process.poll() is None:
            self.judge_descriptors(before, opened)
            self.end_host()
        for text in self.bad.failures:
            self.fail(text)
        self.judge_memory(samples, sanitized)
        self.report()
        return not self.failures

    def judge_descriptors(self, before, opened):
        """They go when the clients are gone."""
        until = time.monotonic() + 15
        while True:
            after, new = self.host.sample(), self.host.descriptors() - opened
            files = sum(count for name, count in new.items() if ".incremental_checkpoint/" in name)
            worse = after[1] > before[1] + min(files, DELTA_FILES) or after[2] > before[2]
            if not worse or time.monotonic() > until:
                break
            time.sleep(0.2)
        told = "descriptors: %d before the clients, %d after them, %d of which are files of deltas; threads: %d and %d" % (
            before[1], after[1], files, before[2], after[2])
        if worse:
            self.fail("%s; new descriptors: %s" % (told, dict(new)))
        else:
            print(told)

    def end_host(self):
        self.host.process.send_signal(signal.SIGTERM)
        try:
            status = self.host.process.wait(60)
        except subprocess.TimeoutExpired:
            self.host.end()
            status = "none, after 60 s"
        if status != 0:
            self.fail("the host's exit status is %s" % status)
        with open(self.host.log, errors="replace") as file:
            reports = REPORTS.findall(file.read())
        if reports:
            self.fail("the log has %d reports: %s" % (len(reports), reports[0]))

    def judge_memory(self, samples, sanitized):
        length = 60 * self.args.minutes

        def median(first, last, of):
            return statistics.median([s[of] for s in samples if first * length <= s[0] <= last * length] or [0])

        first, last = median(0.1, 0.2, 1), median(0.9, 1, 1)
        growth = last / first - 1 if first else 0
        print("resident memory: %d kB in the second tenth, %d kB in the last, %+.1f %%; most %d kB" % (
            first, last, 100 * growth, max([s[1] for s in samples] or [0])))
        print("meanwhile: %d and %d descriptors, %d and %d threads" % tuple(median(*part, of) for of in (2, 3) for part in ((0.1, 0.2), (0.9, 1))))
        if sanitized or self.args.minutes < 10:
            print("(growth is not judged: %s)" % ("sanitized" if sanitized else "under 10 minutes"))
        elif growth > self.args.growth:
            self.fail("resident memory has grown by %.1f %%" % (100 * growth))

    def report(self):
        print("%-16s %10s %9s %7s %6s %12s" % ("", "sent at, /s", "good", "failed", "late", "p99, median"))
        for s in self.streams:
            print("%-16s %11.0f %9d %7d %6d %9.0f us" % (s.name, s.rate, s.good, s.failed, s.late, statistics.median(s.p99 or [0])))
        print("versions of rows: %d published, %d seen in answers; full checkpoints of wdl: %d" % (
            len(self.published), len(self.seen), self.reloads))
        print("visitor: %d times loaded and unloaded, %d answers" % (self.visits, self.visitor_answers))
        print("bad connections: %d: %s" % (sum(self.bad.counts.values()), ", ".join("%s %d" % pair for pair in sorted(self.bad.counts.items()))))
        print("%d failures" % len(self.failures) if self.failures else "all claims hold")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("golden")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--growth", type=float, default=0.05)
    parser.add_argument("--log")
    parser.add_argument("--no_bad_clients", action="store_true")
    soak = Soak(parser.parse_args())
    try:
        holds = soak.run()
    finally:
        if soak.host.process.poll() is None:
            soak.host.end()
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
