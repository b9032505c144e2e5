"""How long a model takes until it has answered once, by the size of its graph, beside TensorFlow.

    PYTHON bench/serve/compare_loading.py LIBRARY CASE_FOLDER... [--copies 1 2 4 8] [--rounds 5]

PYTHON needs tensorflow-cpu==2.15.1 'numpy<2'.  A case folder is a golden case whose signature's graph holds no functions of its
own.  A graph of k copies has each node behind an input k times, with inputs and outputs of its own, so that no copy can be
taken for another; variables and tables are there once, and are as small as the case's.

Ours is initialize() and one process() (serving_processor_destroy() is not timed), TensorFlow's a session that loads the same
folder and runs once, both on one core, in interleaved rounds.  EmbeddingVariables, which TensorFlow lacks, leave its column empty.

Prints a table: smallest of all rounds, in milliseconds.  Where loading is linear, microseconds per node stay as they are.
"""
import argparse
import json
import os
import shutil
import tempfile
import time

import compare_tensorflow as bench  # first: it binds this process to one core

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

v1 = tf.compat.v1


def owner(name):
    return name.lstrip("^").split(":")[0]


def behind_inputs(graph, signature):
    """The names of the nodes that hang on an input."""
    found = {owner(info.name) for info in signature.inputs.values()}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(owner(name), []).append(node.name)
    waiting = list(found)
    while waiting:
        for name in readers.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def renamed(name, behind, prefix):
    if owner(name) not in behind:
        return name
    return "^" + prefix + name[1:] if name.startswith("^") else prefix + name


def multiply(meta, key, copies):
    """Adds copies of what hangs on the inputs of signature `key`."""
    signature = meta.signature_def[key]
    behind = behind_inputs(meta.graph_def, signature)
    originals = [node for node in meta.graph_def.node if node.name in behind]
    ends = [(side, alias, info) for side in ("inputs", "outputs") for alias, info in list(getattr(signature, side).items())]
    for copy in range(1, copies):
        prefix = "copy%d/" % copy
        for node in originals:
            twin = meta.graph_def.node.add()
            twin.CopyFrom(node)
            twin.name = prefix + node.name
            twin.attr.pop("_class", None)
            del twin.input[:]
            twin.input.extend(renamed(name, behind, prefix) for name in node.input)
        for side, alias, info in ends:
            twin = getattr(signature, side)[alias + "_%d" % copy]
            twin.CopyFrom(info)
            twin.name = renamed(info.name, behind, prefix)


def signature_of(folder):
    return json.load(open(folder + "/case.json"))["model_config"]["signature_name"]


def write_copy(folder, copies, to):
    """The case with its model's graph `copies` times; returns the number of nodes."""
    shutil.copytree(folder, to)
    path = to + "/model/saved_model.pb"
    model = saved_model_pb2.SavedModel()
    model.ParseFromString(open(path, "rb").read())
    multiply(model.meta_graphs[0], signature_of(folder), copies)
    open(path, "wb").write(model.SerializeToString())
    return len(model.meta_graphs[0].graph_def.node)


def time_ours(library, folder, inputs):
    start = time.perf_counter()
    processor = bench.Processor(library, folder)
    processor.runner(inputs)()
    took = time.perf_counter() - start
    processor.library.serving_processor_destroy(processor.model)
    return took


def time_tensorflow(folder, inputs):
    start = time.perf_counter()
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        signature = v1.saved_model.load(session, ["serve"], folder + "/model").signature_def[signature_of(folder)]
        session.run([info.name for info in signature.outputs.values()],
                    {signature.inputs[alias].name: value for alias, value in inputs.items()})
        return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| model | nodes | ours, ms | us per node | TensorFlow, ms | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for case in options.cases:
        for copies in options.copies:
            with tempfile.TemporaryDirectory() as scratch:
                folder = scratch + "/case"
                nodes = write_copy(case, copies, folder)
                inputs = {alias + suffix: value for alias, value in bench.rows_of(case).items()
                          for suffix in ["", *("_%d" % copy for copy in range(1, copies))]}
                has_embeddings = b"KvVarHandleOp" in open(folder + "/model/saved_model.pb", "rb").read()
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours.append(time_ours(options.library, folder, inputs) * 1e3)
                    if not has_embeddings:
                        theirs.append(time_tensorflow(folder, inputs) * 1e3)
            name = os.path.basename(case.rstrip("/"))
            beside = "%.0f | %.0fx" % (min(theirs), min(theirs) / min(ours)) if theirs else "|"
            print("| %s | %d | %.0f | %.1f | %s |" % (name, nodes, min(ours), min(ours) * 1e3 / nodes, beside), flush=True)


main()
