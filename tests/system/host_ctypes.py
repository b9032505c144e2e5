"""A host in Python: loads the library with ctypes, knowing DeepRec's functions only.

    host_ctypes.py LIBRARY MODEL_FOLDER REQUEST.pb RESPONSE.pb
"""
import ctypes
import json
import struct
import sys


def first_floats(message):
    """The float_val of the first output: field 3 of the value of the first map entry."""
    def fields(data):
        at = 0
        while at < len(data):
            tag, size = data[at], data[at + 1]
            if tag & 7 == 0:
                at += 2
                continue
            yield tag >> 3, data[at + 2:at + 2 + size]
            at += 2 + size
    entry = dict(fields(message))[1]
    packed = dict(fields(dict(fields(entry))[2]))[3]
    return struct.unpack("<%df" % (len(packed) // 4), packed)


def main():
    library_path, folder, request_path, response_path = sys.argv[1:]
    library = ctypes.CDLL(library_path)
    library.initialize.restype = ctypes.c_void_p
    state = ctypes.c_int(1)
    config = {"feature_store_type": "memory", "serialize_protocol": "protobuf", "model_store_type": "local",
              "signature_name": "serving_default", "savedmodel_dir": folder}
    model = library.initialize(b"", json.dumps(config).encode(), ctypes.byref(state))
    assert model and state.value == 0
    request = open(request_path, "rb").read()
    out, size = ctypes.c_void_p(), ctypes.c_int()
    code = library.process(ctypes.c_void_p(model), request, len(request), ctypes.byref(out), ctypes.byref(size))
    assert code == 200, ctypes.string_at(out, size.value)
    got = first_floats(ctypes.string_at(out, size.value))
    want = first_floats(open(response_path, "rb").read())
    assert len(got) == len(want) and all(abs(a - b) < 1e-5 for a, b in zip(got, want)), (got, want)


main()
