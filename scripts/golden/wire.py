"""The wire forms of a request and its answer: protobuf of DeepRec's processor, JSON of TensorFlow Serving."""
import base64
import json
import math
import struct

import numpy as np

DTYPES = {np.dtype("float32"): (1, 3), np.dtype("float64"): (2, 4), np.dtype("int32"): (3, 5), np.dtype("int64"): (9, 7),
          np.dtype("bool"): (10, 8), np.dtype("object"): (7, 6)}


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def array_proto(array):
    """tensorflow.eas.ArrayProto; strings are arrays of dtype object that hold bytes."""
    dtype, number = DTYPES[array.dtype]
    out = _varint(1 << 3) + _varint(dtype)
    out += _field(2, _field(1, b"".join(_varint(d) for d in array.shape)) if array.ndim else b"")
    items = array.reshape(-1)
    if number == 6:
        return out + b"".join(_field(6, item) for item in items)
    if number in (3, 4):
        return out + _field(number, items.astype("<f4" if number == 3 else "<f8").tobytes())
    return out + _field(number, b"".join(_varint(int(item)) for item in items))


def _map(number, tensors):
    return b"".join(_field(number, _field(1, name.encode()) + _field(2, array_proto(array)))
                    for name, array in sorted(tensors.items()))


def request_proto(tensors):
    return _map(2, tensors)


def response_proto(tensors):
    return _map(1, tensors)


class NoJson(Exception):
    """JSON cannot say it: no elements in an outer dimension, a NaN."""


def _json_item(item):
    if isinstance(item, bytes):
        try:
            return item.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(item).decode()}
    if isinstance(item, float) and not math.isfinite(item):
        raise NoJson
    return item


def _json_value(array):
    if array.ndim == 0:
        return _json_item(array.item())
    if array.size == 0:
        raise NoJson
    return [_json_value(np.asarray(item, dtype=array.dtype)) for item in array]


def request_json(tensors):
    return json.dumps({"inputs": {name: _json_value(array) for name, array in sorted(tensors.items())}})


def response_json(tensors):
    values = {name: _json_value(array) for name, array in sorted(tensors.items())}
    return json.dumps({"outputs": values if len(values) > 1 else next(iter(values.values()))})
