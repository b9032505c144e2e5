"""Calls a serving_host that logs all requests to tests/golden's tf2-signatures ("types") and tf1-examples ("examples"), and reads the log.

host_samples.py HOST FOLDER: FOLDER has the models' folders, and is where the host writes.
"""
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

program, folder = sys.argv[1:]
IDS, LENGTHS, NAMES, SCALE = [1, 2, 3], [2, 1], ["a", "b"], 0.5
INPUTS = {"ids": IDS, "lengths": LENGTHS, "names": NAMES, "scale": SCALE}
SENT = {"ids": (9, [3], IDS), "lengths": (9, [2], LENGTHS), "names": (7, [2], [b"a", b"b"]), "scale": (1, [], [SCALE])}
PREDICT = "/v1/models/types:predict"

# ------------------------------------------------------------------- TFRecord


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records_of(path):
    """Whole records, and the bytes behind them."""
    with open(path, "rb") as file:
        data = file.read()
    records = []
    while len(data) >= 16:
        size, crc = struct.unpack("<QI", data[:12])
        assert crc == masked(data[:8]), path
        if len(data) < size + 16:
            break
        assert struct.unpack("<I", data[12 + size:16 + size])[0] == masked(data[12:12 + size]), path
        records.append(data[12:12 + size])
        data = data[16 + size:]
    return records, data


def closed(name):
    return sorted(glob.glob(folder + "/log/" + name + "-*.tfrecord"))


# ------------------------------------------------------------------- messages


def varint(data, at):
    value = shift = 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """The values of all fields, by number."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(tag >> 3, []).append(value)
    return found


def sub(data, *numbers):
    for number in numbers:
        (data,) = fields(data)[number]
    return data


def packed(runs):
    values = []
    for run in runs:
        at = 0
        while at < len(run):
            value, at = varint(run, at)
            values.append(value)
    return values


def tensor(data):
    """The type, the dims and the values of a float, int64 or string tensor."""
    known = fields(data)
    dims = [fields(dim).get(1, [0])[0] for dim in fields(known.get(2, [b""])[0]).get(2, [])]
    kind = known[1][0]
    if kind == 1:
        values = [one for run in known.get(5, []) for one in struct.unpack("<%df" % (len(run) // 4), run)]
    else:
        values = packed(known.get(10, [])) if kind == 9 else known.get(8, [])
    return kind, dims, values


def tensors(entries):
    return {sub(entry, 1).decode(): tensor(sub(entry, 2)) for entry in entries}


def spec(data):
    known = fields(data)
    return known[1][0].decode(), fields(known[2][0])[1][0] if 2 in known else None, known[3][0].decode()


def delimited(number, content):
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def array(dtype, dims, field, content):
    return bytes([8, dtype]) + delimited(2, delimited(1, bytes(dims))) + b"".join(delimited(field, each) for each in content)


def proto(dtype, dims, field, content):
    shape = b"".join(delimited(2, bytes([8, dim])) for dim in dims)
    return bytes([8, dtype]) + delimited(2, shape) + b"".join(delimited(field, each) for each in content)


def entries(make, ints, texts, floats):
    return b"".join(delimited(2, delimited(1, name) + delimited(2, value)) for name, value in (
        (b"ids", make(9, [3], ints, [bytes(IDS)])), (b"lengths", make(9, [2], ints, [bytes(LENGTHS)])),
        (b"names", make(7, [2], texts, [each.encode() for each in NAMES])), (b"scale", make(1, [], floats, [struct.pack("<f", SCALE)]))))


# ------------------------------------------------------------------------ host


def start(*flags):
    with open(folder + "/host.log", "a") as log:
        process = subprocess.Popen([program, "--rest_api_port=0", "--port_file=" + folder + "/port", "--drain_delay_in_ms=0", *flags], stderr=log)
    while not os.path.exists(folder + "/port"):
        assert process.poll() is None, "the host has ended"
        time.sleep(0.02)
    with open(folder + "/port") as file:
        address = "http://127.0.0.1:" + file.read().strip()
    while call(address + "/healthz/ready")[0] != 200:
        assert process.poll() is None, "the host has ended"
        time.sleep(0.02)
    return process, address


def end(process, how=signal.SIGTERM):
    os.remove(folder + "/port")
    process.send_signal(how)
    assert process.wait(20) == (0 if how == signal.SIGTERM else -how)


def call(address, data=None, *options):
    """The status and the body."""
    command = ["curl", "-s", "-o", folder + "/answer", "-w", "%{http_code}", *options, address]
    if data is not None:
        command += ["--data-binary", "@-"]
    data = json.dumps(data).encode() if isinstance(data, dict) else data
    status = int(subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout)
    with open(folder + "/answer", "rb") as file:
        return status, file.read()


def ask(path, data, *options):
    status, text = call(url + path, data, *options)
    assert status == 200, (path, status, text)
    return text


def await_count(sample, count):
    for _ in range(1000):
        page = call(url + "/monitoring/prometheus/metrics")[1].decode()
        if re.search("^" + re.escape(sample) + " %d$" % count, page, re.M):
            return
        time.sleep(0.01)
    raise AssertionError("%s is not %d" % (sample, count))


def written(model, result="written"):
    return 'serving_processor_logged_requests_total{model_name="%s",result="%s"}' % (model, result)


# ----------------------------------------------------------------------- tests


def check_near(got, wanted):
    assert len(got) == len(wanted) and all(abs(a - b) < 1e-5 for a, b in zip(got, wanted)), (got, wanted)


def all_protocols_are_logged():
    """In TensorFlow Serving's text form; the file is closed at the end of the process."""
    global url
    with open(folder + "/models.config", "w") as file:
        file.write("model_config_list {\n")
        for name, model in (("types", "tf2-signatures"), ("examples", "tf1-examples"), ("quiet", "tf2-signatures")):
            file.write('config { name: "%s" base_path: "%s/%s" logging_config {\n' % (name, folder, model))
            kind = "kafka" if name == "quiet" else "file"
            file.write('log_collector_config { type: "%s" filename_prefix: "%s/log/%s" } sampling_config { sampling_rate: 1 } } }\n' % (kind, folder, name))
        file.write("}\n")
    host, url = start("--model_config_file=" + folder + "/models.config")
    began = int(time.time())
    answer = json.loads(ask(PREDICT, {"inputs": INPUTS}))["outputs"]
    ask("/v2/models/types/infer", {"inputs": [
        {"name": "ids", "datatype": "INT64", "shape": [3], "data": IDS}, {"name": "lengths", "datatype": "INT64", "shape": [2], "data": LENGTHS},
        {"name": "names", "datatype": "BYTES", "shape": [2], "data": NAMES}, {"name": "scale", "datatype": "FP32", "shape": [], "data": [SCALE]}],
        "outputs": [{"name": "joined"}]})
    ask("/api/predict/types", delimited(1, b"serving_default") + entries(array, 7, 6, 3))
    message = delimited(1, delimited(1, b"types") + delimited(2, bytes([8, 123]))) + entries(proto, 10, 8, 5)
    ask("/tensorflow.serving.PredictionService/Predict", b"\0" + struct.pack(">I", len(message)) + message, "--http2-prior-knowledge",
        "-H", "content-type: application/grpc", "-H", "te: trailers")
    assert call(url + PREDICT, {"inputs": {"ids": ["x"]}})[0] == 400  # a failure isn't logged
    ask("/v1/models/quiet:predict", {"inputs": INPUTS})
    for method, example in CALLS:
        ask("/v1/models/examples:" + method, {"signature_name": method, "examples": [example, example]})
    await_count(written("types"), 4)
    await_count(written("examples"), len(CALLS))
    end(host)
    assert not glob.glob(folder + "/log/*.part") and not closed("quiet")
    (path,) = closed("types")
    records, rest = records_of(path)
    assert len(records) == 4 and not rest
    for number, record in enumerate(records):
        metadata = fields(sub(record, 1))
        assert spec(metadata[1][0]) == ("types", 123, "serving_default")
        assert sub(metadata[2][0], 1) == struct.pack("<d", 1)
        assert began <= metadata[4][0] <= time.time()
        request, response = fields(sub(record, 6, 1)), fields(sub(record, 6, 2))
        assert spec(request[1][0]) == ("types", None, "serving_default")
        assert spec(response[2][0]) == ("types", 123, "serving_default")
        assert tensors(request[2]) == SENT, (number, tensors(request[2]))
        assert request.get(3, []) == ([b"joined"] if number == 1 else []), (number, request)
        outputs = tensors(response[1])
        assert outputs["joined"][2] == [b"a-b"]
        assert set(outputs) == ({"joined"} if number == 1 else set(answer)), (number, outputs)
        if number != 1:
            check_near(outputs["scaled"][2], sum(answer["scaled"], []))
    examples_are_logged()
    with open(folder + "/host.log") as file:
        assert "model quiet: no requests are logged: the type of its log_collector_config" in file.read()
    return path


CALLS = [("classify", {"x": [0.5, 1.5, -1.0]}), ("regress", {"x": [0.5, 1.5, -1.0]})]


def examples_are_logged():
    (path,) = closed("examples")
    records, rest = records_of(path)
    assert len(records) == len(CALLS) and not rest
    for record, (method, _) in zip(records, CALLS):
        log = sub(record, 2 if method == "classify" else 3)
        assert spec(sub(log, 1, 1)) == ("examples", None, method)
        examples = fields(sub(log, 1, 2, 1))[1]
        assert len(examples) == 2 and b"x" in examples[0], examples
        assert spec(sub(log, 2, 2)) == ("examples", 123, method)
        assert len(fields(sub(log, 2, 1))[1]) == 2


def json_config(rate=1, **more):
    with open(folder + "/models.json", "w") as file:
        json.dump({"models": [{"name": "types", "base_path": folder + "/tf2-signatures", "logging_config": {
            "log_collector_config": {"filename_prefix": folder + "/log/killed"}, "sampling_config": {"sampling_rate": rate}}, **more}]}, file)
    return "--model_config_file=" + folder + "/models.json"


def a_kill_leaves_whole_records():
    """In the form of JSON.  What is left is finished by the next process, without half a record.  A reload may end the log."""
    global url
    host, url = start(json_config())
    for _ in range(3):
        ask(PREDICT, {"inputs": INPUTS})
    await_count(written("types"), 3)
    end(host, signal.SIGKILL)
    (part,) = glob.glob(folder + "/log/killed-*.tfrecord.part")
    records, rest = records_of(part)
    assert len(records) == 3 and not rest and not closed("killed")
    with open(part, "ab") as file:
        file.write(struct.pack("<QI", 100, masked(struct.pack("<Q", 100))) + b"half")
    host, url = start(json_config(), "--prediction_log_records=2")
    for _ in range(3):
        ask(PREDICT, {"inputs": INPUTS})
    await_count(written("types"), 3)
    await_count(written("types", "dropped"), 0)
    assert len(glob.glob(folder + "/log/killed-*.tfrecord.part")) == 1
    json_config(0, version_labels={"later": 123})
    host.send_signal(signal.SIGHUP)
    for _ in range(1000):
        if call(url + "/v1/models/types/labels/later")[0] == 200:
            break
        time.sleep(0.01)
    ask(PREDICT, {"inputs": INPUTS})  # is not logged any more
    end(host)
    assert sorted(len(records_of(path)[0]) for path in closed("killed")) == [1, 2, 3]
    assert not any(records_of(path)[1] for path in closed("killed"))


def warm_up_takes_the_file(path):
    """It is read: a damaged one is refused."""
    global url
    shutil.copytree(folder + "/tf2-signatures/123", folder + "/warm/1")
    os.makedirs(folder + "/warm/1/assets.extra", exist_ok=True)
    warm = folder + "/warm/1/assets.extra/tf_serving_warmup_requests"
    shutil.copyfile(path, warm)
    flags = ["--model_name=types", "--model_base_path=" + folder + "/warm"]
    host, url = start(*flags)
    ask(PREDICT, {"inputs": INPUTS})
    end(host)
    with open(warm, "r+b") as file:
        file.truncate(os.path.getsize(path) - 1)
    done = subprocess.run([program, "--rest_api_port=0", *flags], stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and b"record 3: it ends in a record" in done.stderr, done
    shutil.rmtree(folder + "/warm/1/assets.extra")


def replay_takes_the_file(path):
    global url
    with open(folder + "/processor.json", "w") as file:
        json.dump({"savedmodel_dir": folder + "/warm", "signature_name": "serving_default", "feature_store_type": "memory", "serialize_protocol": "protobuf",
                   "model_store_type": "local", "update_poll_interval_ms": 20, "update_replay_file": path, "update_max_score_change": 0.001}, file)
    host, url = start("--model_name=types", "--processor_config=" + folder + "/processor.json")
    shutil.copytree(folder + "/warm/1", folder + "/next")
    os.rename(folder + "/next", folder + "/warm/2")
    for _ in range(1000):
        versions = json.loads(ask("/v1/models/types", None))["model_version_status"]
        if any(v["version"] == "2" and v["state"] == "AVAILABLE" for v in versions):
            break
        time.sleep(0.02)
    end(host)
    with open(folder + "/host.log") as file:
        assert "the answer to " + path + " changes by 0 on average" in file.read()


os.mkdir(folder + "/log")
url = None
log = all_protocols_are_logged()
a_kill_leaves_whole_records()
warm_up_takes_the_file(log)
replay_takes_the_file(log)
