"""Requests in each of the host's protocols, what their answers say, and the load generator's command line for them."""
import json
import os
import struct

PROTOBUF = "application/x-protobuf"
TYPES = {"DT_FLOAT": (1, "f"), "DT_DOUBLE": (2, "d"), "DT_INT32": (3, "i"), "DT_INT64": (9, "q"), "DT_STRING": (7, None)}
V2_TYPES = {"DT_FLOAT": "FP32", "DT_DOUBLE": "FP64", "DT_INT32": "INT32", "DT_INT64": "INT64", "DT_STRING": "BYTES"}


class Call:
    """A request; `read` makes the outputs of an answer's body, by name, flat lists of numbers."""

    def __init__(self, path, body, read, kind="application/json", header="", grpc=False):
        self.path, self.body, self.read, self.kind, self.header, self.grpc = path, body, read, kind, header, grpc

    def command(self, tools, port, file, connections, seconds, rate=0, keep=None):
        """Of bench_http; `file` is where the body is, `keep` the folder for the different answers."""
        flags = (["--grpc"] if self.grpc else []) + (["--keep", keep] if keep else [])
        return [os.path.join(tools, "bench_http"), *flags, str(port), self.path, file, str(connections), str(seconds), str(rate), self.kind, self.header]


# --------------------------------------------------------------------- requests


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


def packed(leaves, dtype):
    """The elements of a tensor in memory; texts as a list of bytes."""
    letter = TYPES[dtype][1]
    if letter:
        return struct.pack("<%d%s" % (len(leaves), letter), *leaves)
    return [leaf.encode() if isinstance(leaf, str) else leaf["b64"].encode() for leaf in leaves]


def tensor(value, dtype):
    shape, leaves = flatten(value)
    out = b"\x08" + varint(TYPES[dtype][0]) + field(2, b"".join(field(2, b"\x08" + varint(size)) for size in shape))
    content = packed(leaves, dtype)
    return out + (field(4, content) if isinstance(content, bytes) else b"".join(field(8, text) for text in content))


def columns(body, metadata):
    """The inputs of a columnar body as (name, value, dtype)."""
    inputs = json.loads(body)["inputs"]
    known = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    if not isinstance(inputs, dict):
        inputs = {next(iter(known)): inputs}
    return [(name, value, known[name]["dtype"]) for name, value in inputs.items()]


def message(body, metadata, model):
    """tensorflow.serving.PredictRequest of a columnar body."""
    inputs = [field(2, field(1, name.encode()) + field(2, tensor(value, dtype))) for name, value, dtype in columns(body, metadata)]
    return field(1, field(1, model.encode())) + b"".join(inputs)


def v2_message(body, metadata, binary):
    """The Open Inference Protocol's body, and the size of its JSON."""
    inputs, blobs = [], b""
    for name, value, dtype in columns(body, metadata):
        shape, leaves = flatten(value)
        described = {"name": name, "datatype": V2_TYPES[dtype], "shape": shape}
        if binary:
            blob = packed(leaves, dtype)
            blob = blob if isinstance(blob, bytes) else b"".join(struct.pack("<I", len(text)) + text for text in blob)
            described["parameters"] = {"binary_data_size": len(blob)}
            blobs += blob
        else:
            described["data"] = leaves
        inputs.append(described)
    text = json.dumps({"inputs": inputs, **({"parameters": {"binary_data_output": True}} if binary else {})}).encode()
    return text + blobs, len(text)


# ---------------------------------------------------------------------- answers


def read_json(body):
    outputs = json.loads(body)["outputs"]
    return {name: flatten(value)[1] for name, value in outputs.items()} if isinstance(outputs, dict) else {"": flatten(outputs)[1]}


def read_v2(body):
    text = body.decode("latin-1")
    described, at = json.JSONDecoder().raw_decode(text)
    values = {}
    for output in described["outputs"]:
        if "data" in output:
            values[output["name"]] = flatten(output["data"])[1]
            continue
        size = output["parameters"]["binary_data_size"]
        letter = {"FP32": "f", "FP64": "d", "INT32": "i", "INT64": "q"}[output["datatype"]]
        values[output["name"]] = list(struct.unpack("<%d%s" % (size // struct.calcsize(letter), letter), body[at:at + size]))
        at += size
    if at != len(body):
        raise ValueError("%d bytes behind the outputs" % (len(body) - at))
    return values


def fields(data):
    """The fields of a message, as (number, value): an integer or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = number() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
        if size > len(data) - at:
            raise ValueError("a field ends behind the message")
        yield tag >> 3, data[at:at + size]
        at += size


def read_outputs(data, values_field):
    """A PredictResponse whose outputs are floats, in that field of the tensor or in its content."""
    outputs = {}
    for number, entry in fields(data):
        if number == 1:
            parts = dict(fields(entry))
            found = dict(fields(parts[2]))
            values = found.get(values_field, found.get(4, b""))
            outputs[parts[1].decode()] = list(struct.unpack("<%df" % (len(values) // 4), values))
    return outputs


def read_message(data):
    return read_outputs(data, 5)


def read_eas(data):
    return read_outputs(data, 3)


def read_grpc(data):
    if data[:5] != b"\0" + struct.pack(">I", len(data) - 5):
        raise ValueError("the frame has the wrong length")
    return read_message(data[5:])


# ------------------------------------------------------------------------ calls


def json_call(model, body, metadata):
    return Call("/v1/models/%s:predict" % model, body, read_json)


def protobuf_call(model, body, metadata):
    return Call("/v1/models/%s:predict" % model, message(body, metadata, model), read_message, PROTOBUF)


def v2_json_call(model, body, metadata):
    return Call("/v2/models/%s/infer" % model, v2_message(body, metadata, False)[0], read_v2)


def v2_binary_call(model, body, metadata):
    data, size = v2_message(body, metadata, True)
    return Call("/v2/models/%s/infer" % model, data, read_v2, "application/octet-stream", "Inference-Header-Content-Length: %d" % size)


def grpc_call(model, body, metadata):
    data = message(body, metadata, model)
    return Call("/tensorflow.serving.PredictionService/Predict", b"\0" + struct.pack(">I", len(data)) + data, read_grpc, grpc=True)


def eas_call(model, data):
    """`data` is DeepRec's PredictRequest."""
    return Call("/api/predict/" + model, data, read_eas, "application/octet-stream")


if __name__ == "__main__":
    print(__doc__)
