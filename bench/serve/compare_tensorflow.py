"""Times libserving_processor.so beside TensorFlow, in one process, on one core, in interleaved rounds.

    PYTHON bench/serve/compare_tensorflow.py LIBRARY CASE_FOLDER... [--batch 1 16 128] [--rounds 9]

PYTHON needs tensorflow-cpu==2.15.1 'numpy<2'.  A case folder is a golden case (tests/golden/...).
Both sides get ready-made inputs and give back their outputs: ours bytes of a PredictRequest and of a
PredictResponse, TensorFlow numpy arrays through Session.make_callable on the caller's thread.

TensorFlow has no EmbeddingVariables.  Their reads are replaced by a plain gather from a dense table of as
many rows, at key modulo rows: less work than any lookup by key, so it favours TensorFlow.  Answers are
compared where no such replacement was made.

Prints one line of JSON per case, batch and side, then a table.
"""
import argparse
import ctypes
import json
import os
import sys
import time

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(sys.modules["__main__"].__doc__))

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", OMP_NUM_THREADS="1")
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/golden"))
import wire


class Processor:
    """The library through DeepRec's functions."""

    def __init__(self, library, folder):
        self.library = ctypes.CDLL(library)
        self.library.initialize.restype = ctypes.c_void_p
        self.library.free = ctypes.CDLL(None).free
        self.library.free.argtypes = [ctypes.c_void_p]
        config = json.load(open(folder + "/case.json"))["model_config"]
        for key in ("savedmodel_dir", "checkpoint_dir"):
            if key in config:
                config[key] = os.path.abspath(os.path.join(folder, config[key]))
        state = ctypes.c_int()
        self.model = ctypes.c_void_p(self.library.initialize(b"", json.dumps(config).encode(), ctypes.byref(state)))
        if state.value != 0:
            raise SystemExit("initialize failed for " + folder)
        self.out, self.size = ctypes.c_void_p(), ctypes.c_int()

    def runner(self, inputs):
        request = wire.request_proto(inputs)
        arguments = (self.model, request, len(request), ctypes.byref(self.out), ctypes.byref(self.size))
        process, out, free = self.library.process, self.out, self.library.free

        def run():
            code = process(*arguments)
            if code != 200:
                raise SystemExit(ctypes.string_at(out, self.size.value))
            free(out)
        return run


def replace_embeddings(graph_def):
    """KvResourceGather becomes GatherV2 from a constant table."""
    rng = np.random.default_rng(0)
    out, dims = tf.compat.v1.GraphDef(versions=graph_def.versions), {}
    for node in graph_def.node:
        if node.op == "KvVarHandleOp":
            dims[node.name] = node.attr["shape"].shape.dim[0].size
    for node in graph_def.node:
        if node.op.startswith("Kv") and not node.op.startswith("KvResourceGather"):
            continue
        if not node.op.startswith("KvResourceGather"):
            copy = out.node.add()
            copy.CopyFrom(node)
            copy.attr.pop("_class", None)
            kept = [i for i in copy.input if i.lstrip("^").split(":")[0] not in dims and "Kv" not in i]
            del copy.input[:]
            copy.input.extend(kept)
            continue
        key_type, name = node.attr["Tkeys"], node.name
        rows = 1000
        for suffix, value in (("table", rng.normal(size=(rows, dims[node.input[0]])).astype("f4")),
                              ("rows", np.asarray(rows, tf.as_dtype(key_type.type).as_numpy_dtype)), ("axis", np.int32(0))):
            proto = tf.make_tensor_proto(value)
            const = out.node.add(name=name + "/" + suffix, op="Const")
            const.attr["dtype"].type, _ = proto.dtype, const.attr["value"].tensor.CopyFrom(proto)
        mod = out.node.add(name=name + "/mod", op="FloorMod", input=[node.input[1], name + "/rows"])
        mod.attr["T"].CopyFrom(key_type)
        gather = out.node.add(name=name, op="GatherV2", input=[name + "/table", name + "/mod", name + "/axis"])
        gather.attr["Tparams"].type, gather.attr["Taxis"].type = 1, 3
        gather.attr["Tindices"].CopyFrom(key_type)
    return out


class TensorFlow:
    def __init__(self, folder):
        model = saved_model_pb2.SavedModel()
        model.ParseFromString(open(folder + "/model/saved_model.pb", "rb").read())
        meta = model.meta_graphs[0]
        self.signature = meta.signature_def["serving_default"]
        self.replaced = any(node.op == "KvVarHandleOp" for node in meta.graph_def.node)
        config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=-1)
        self.session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        with self.session.graph.as_default():
            if not self.replaced:
                tf.compat.v1.saved_model.load(self.session, ["serve"], folder + "/model")
                return
            wanted = [info.name.split(":")[0] for info in self.signature.outputs.values()]
            graph_def = tf.compat.v1.graph_util.extract_sub_graph(replace_embeddings(meta.graph_def), wanted)
            tf.import_graph_def(graph_def, name="")
            for op in self.session.graph.get_operations():
                if op.type in ("VariableV2", "VarHandleOp"):
                    self._fill(op)

    def _fill(self, op):
        shape = [d.size for d in op.get_attr("shape").dim]
        value = tf.constant(np.random.default_rng(1).normal(size=shape).astype("f4"))
        if op.type == "VariableV2":
            self.session.run(tf.raw_ops.Assign(ref=op.outputs[0], value=value))
        else:
            self.session.run(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value))

    def runner(self, inputs):
        aliases = sorted(inputs)
        call = self.session.make_callable([info.name for _, info in sorted(self.signature.outputs.items())],
                                          [self.signature.inputs[alias].name for alias in aliases])
        arguments = [inputs[alias] for alias in aliases]
        return lambda: call(*arguments)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 2:
            size, at = read_varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            value, at = read_varint(data, at)
            yield tag >> 3, value


def array(data):
    dtype, shape, values = 0, [], []
    for number, value in fields(data):
        if number == 1:
            dtype = value
        elif number == 2:
            for _, packed in fields(value):
                at = 0
                while at < len(packed):
                    dim, at = read_varint(packed, at)
                    shape.append(dim)
        elif number == 6:
            values.append(value)
        elif number in (3, 4):
            values = np.frombuffer(value, "<f4" if number == 3 else "<f8")
        else:
            at = 0
            while at < len(value):
                item, at = read_varint(value, at)
                values.append(item - (1 << 64) if item >> 63 else item)
    kinds = {number: kind for kind, (number, _) in wire.DTYPES.items()}
    out = np.empty(len(values), kinds[dtype])
    out[:] = values
    return out.reshape(shape)


def rows_of(folder):
    """The rows of the case's largest good request."""
    best = {}
    for number in range(100):
        path = folder + "/requests/%03d.request.pb" % number
        if not os.path.exists(path):
            break
        inputs = {}
        for key, entry in fields(open(path, "rb").read()):
            if key == 2:
                parts = dict(fields(entry))
                inputs[parts[1].decode()] = array(parts[2])
        if not best or len(next(iter(inputs.values()))) > len(next(iter(best.values()))):
            best = inputs
    return best


def batch_of(rows, batch):
    return {alias: np.resize(value, (batch,) + value.shape[1:]) for alias, value in rows.items()}


def time_calls(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e6)
    return np.array(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16, 128])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.25)
    options = parser.parse_args()
    table = []
    for folder in options.cases:
        sides = {"ours": Processor(options.library, folder), "tensorflow": TensorFlow(folder)}
        rows = rows_of(folder)
        for batch in options.batch:
            runners = {name: side.runner(batch_of(rows, batch)) for name, side in sides.items()}
            for run in runners.values():
                time_calls(run, options.seconds)
            rounds = {name: [] for name in runners}
            for _ in range(options.rounds):
                for name, run in runners.items():
                    rounds[name].append(time_calls(run, options.seconds))
            result = {}
            for name, times in rounds.items():
                result[name] = (min(t.min() for t in times), float(np.median([np.median(t) for t in times])))
                print(json.dumps({"suite": "serve", "case": os.path.basename(folder.rstrip("/")), "batch": batch, "side": name,
                                  "min_us": round(result[name][0], 1), "median_us": round(result[name][1], 1)}))
            table.append((os.path.basename(folder.rstrip("/")), batch, result["ours"], result["tensorflow"]))
    print("\n| model | batch | ours min / median us | TensorFlow min / median us | ratio of medians |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, batch, ours, theirs in table:
        print("| %s | %d | %.0f / %.0f | %.0f / %.0f | %.1fx |" % (name, batch, *ours, *theirs, theirs[1] / ours[1]))


if __name__ == "__main__":
    main()
