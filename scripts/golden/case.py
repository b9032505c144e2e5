"""Writes a golden case: a model, requests, the answers TensorFlow gave, and where it all came from."""
import json
import os
import shutil
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:  # of the program that imports this
    sys.exit(print(sys.modules["__main__"].__doc__))

import numpy as np
import tensorflow as tf

import wire
from answers import tried
from prune import prune

MOST_JSON = 16000  # bytes of an exchange; longer ones are kept in protobuf only
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def strings(values):
    """A string tensor of bytes objects: numpy's own string type would cut NULs off."""
    values = np.array(values, dtype=object)
    array = np.empty(values.shape, dtype=object)
    for i, value in np.ndenumerate(values):
        array[i] = value.encode() if isinstance(value, str) else value
    return array


def start(name):
    """The case's folder, empty."""
    folder = os.path.join(ROOT, "tests/golden", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "requests"))
    return folder


_pruned = set()  # the SavedModels that save() has made small its own way


def save(folder, module, signatures, shapes=False, implementations=False):
    """The model, small, and without what is another in every run."""
    model = os.path.join(folder, "model")
    tf.saved_model.save(module, model, signatures=signatures)
    os.remove(os.path.join(model, "fingerprint.pb"))
    prune(os.path.join(model, "saved_model.pb"), shapes, implementations)
    _pruned.add(os.path.join(model, "saved_model.pb"))
    shutil.rmtree(os.path.join(model, "assets"), ignore_errors=True)


def save_function(folder, function, **options):
    """The same of a function that has no variables."""
    module = tf.Module()
    module.serve = function
    save(folder, module, function, **options)


def _write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else (data + "\n").encode())


def add_requests(folder, pairs, in_json=True):
    """pairs: [(inputs, outputs)], both {alias: array}; in_json: short ones also in the form of TensorFlow Serving's REST interface."""
    for number, (inputs, outputs) in enumerate(pairs):
        base = os.path.join(folder, "requests/%03d" % number)
        _write(base + ".request.pb", wire.request_proto(inputs))
        _write(base + ".response.pb", wire.response_proto(outputs))
        if not in_json:
            continue
        try:
            request, response = wire.request_json(inputs), wire.response_json(outputs)
        except wire.NoJson:
            continue
        if len(request) + len(response) > MOST_JSON:
            continue
        _write(base + ".request.json", request)
        _write(base + ".response.json", response)


def add_errors(folder, refused):
    """refused: [(inputs, TensorFlow's error)]."""
    os.makedirs(os.path.join(folder, "errors"))
    for number, (inputs, error) in enumerate(refused):
        base = os.path.join(folder, "errors/%03d" % number)
        _write(base + ".request.pb", wire.request_proto(inputs))
        _write(base + ".why.txt", type(error).__name__)


def add_tried(folder, feeds):
    """Requests, or errors where TensorFlow refuses them."""
    answered, refused = tried(os.path.join(folder, "model"), feeds)
    print("%d fine, %d refused" % (len(answered), len(refused)))
    add_requests(folder, answered)
    add_errors(folder, refused)


def finish(folder, covers, provenance, checkpoint_dir=None, extra=None, config=None, whole=False):
    """whole: the model stays as its exporter wrote it."""
    paths = [os.path.join(d, "saved_model.pb") for d, _, files in os.walk(folder) if "saved_model.pb" in files]
    for path in paths:
        if not whole and path not in _pruned:
            prune(path)
    config = {"feature_store_type": "memory", "serialize_protocol": "protobuf", "model_store_type": "local",
              "signature_name": "serving_default", "savedmodel_dir": "model", **(config or {})}
    if checkpoint_dir:
        config["checkpoint_dir"] = checkpoint_dir
    case = {"name": os.path.basename(folder), "covers": covers, "model_config": config,
            "tolerance": {"rtol": 1e-5, "atol": 1e-6}, "provenance": provenance}
    case.update(extra or {})
    _write(os.path.join(folder, "case.json"), json.dumps(case, indent=1))
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(folder) for f in files)
    print("%s: %d bytes" % (folder, size))
