"""EmbeddingVariables without DeepRec: graphs with its operators, checkpoints in its layout.

A model is built in plain TensorFlow with a Python function where the embedding
is read.  That graph gives the true answers: the function looks keys up by the
documented rules.  For export every such function is replaced by a
KvResourceGather on a KvVarHandleOp, and the restore operation gets a
KvResourceImportV2, as DeepRec writes them.

Other operators of DeepRec are computed by Python functions likewise (Operators).

Where the handle itself shall go through branches, loops and functions, a lookup
table stands in for it, filled with the answers to all keys that will be asked.
Its lookups are replaced by gathers, and TensorFlow's way of handing it on stays.
"""
import os

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

BUCKETS = 1000
ANSWERS = "_answers"


class EmbeddingVariable:
    def __init__(self, name, dim, keys, rows, default_rows, filter_freq=0, no_permission=0.0, key_dtype=np.int64,
                 filtered=(), part=None, dtype=np.float32, default_row_count=None):
        self.name, self.dim = name, dim
        self.part = part  # (number, of how many), or None of one that is whole
        order = np.argsort(np.asarray(keys) % BUCKETS, kind="stable")
        self.keys = np.asarray(keys, key_dtype)[order]
        self.rows = np.asarray(rows, dtype).reshape(-1, dim)[order]
        self.default_rows = np.asarray(default_rows, dtype).reshape(-1, dim)
        # What the graph says of them; another number is a contradiction.
        self.default_row_count = len(self.default_rows) if default_row_count is None else default_row_count
        self.filter_freq, self.no_permission = filter_freq, no_permission
        self.filtered = np.asarray(sorted(filtered, key=lambda k: k % BUCKETS), key_dtype)
        self.table = dict(zip(self.keys.tolist(), self.rows))

    def lookup(self, keys):
        """The answer by the documented rules (storage/table/table.h)."""
        out = np.empty(keys.shape + (self.dim,), self.rows.dtype)
        for i, key in np.ndenumerate(keys):
            row = self.table.get(int(key))
            if row is None and self.filter_freq > 0:
                row = np.full(self.dim, self.no_permission, self.rows.dtype)
            elif row is None:
                row = self.default_rows[int(key) % len(self.default_rows)]
            out[i] = row
        return out

    def read(self, keys):
        """The stand-in for a gather, to be replaced at export."""
        with tf.name_scope(self.name + "_read"):
            rows = tf.compat.v1.py_func(lambda k: self.lookup(k), [keys], self.rows.dtype, name="standin")
        rows.set_shape(keys.shape.concatenate([self.dim]))
        return rows

    def handle(self, asked):
        """The stand-in for its handle, which answers the keys `asked` once tables_initializer() has run."""
        raw, v1 = tf.raw_ops, tf.compat.v1
        table = raw.MutableHashTableOfTensorsV2(key_dtype=self.keys.dtype, value_dtype=tf.float32, value_shape=[self.dim],
                                                name=self.name)
        with tf.name_scope(self.name + ANSWERS):
            fill = raw.LookupTableImportV2(table_handle=table, keys=asked, values=self.lookup(asked))
        v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, fill)
        return table

    def gather(self, handle, keys):
        """The stand-in for a gather through a handle, also one that a function was given; other keys than those asked are NaN."""
        rows = tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=keys,
                                            default_value=tf.constant(np.full(self.dim, np.nan, np.float32)), name="gather")
        rows.set_shape(keys.shape.concatenate([self.dim]))
        return rows

    def checkpoint(self, empty=False):
        """Its tensors as DeepRec saves them."""
        keys, rows = (self.keys[:0], self.rows[:0]) if empty else (self.keys, self.rows)
        filtered = self.filtered[:0] if empty else self.filtered
        freqs = np.full(len(keys), max(self.filter_freq, 1), np.int64)
        return {"-keys": keys, "-values": rows, "-versions": np.full(len(keys), -1, np.int64), "-freqs": freqs,
                "-keys_filtered": filtered, "-versions_filtered": np.full(len(filtered), -1, np.int64),
                "-freqs_filtered": np.ones(len(filtered), np.int64), "-partition_offset": _offsets(keys),
                "-partition_filter_offset": _offsets(filtered)}

    def update(self, rows):
        """rows: {key: row} overwrite and add; what DeepRec's trainer does between two checkpoints."""
        self.table.update({key: np.asarray(row, np.float32) for key, row in rows.items()})
        keys = np.array(list(self.table), self.keys.dtype)
        self.keys = keys[np.argsort(keys % BUCKETS, kind="stable")]
        self.rows = np.stack([self.table[int(key)] for key in self.keys])

    def evict(self, keys):
        for key in keys:
            del self.table[key]
        self.update({})

    def delta(self, keys):
        """The tensors of a delta in which these keys have changed."""
        keys = np.array(sorted(keys, key=lambda key: key % BUCKETS), self.keys.dtype)
        rows = np.stack([self.table[int(key)] for key in keys]) if len(keys) else np.empty((0, self.dim), np.float32)
        return {self.name + "-sparse_incr_keys": keys, self.name + "-sparse_incr_values": rows,
                self.name + "-sparse_incr_versions": np.zeros(len(keys), np.int64),
                self.name + "-sparse_incr_freqs": np.full(len(keys), max(self.filter_freq, 1), np.int64),
                self.name + "-incr_partition_offset": _offsets(keys)}

    def tensors(self, empty=False):
        return {self.name + suffix: value for suffix, value in self.checkpoint(empty).items()}


def _offsets(keys):
    counts = np.bincount(np.asarray(keys % BUCKETS, np.int64), minlength=BUCKETS)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


class Operators:
    """Operators of DeepRec in a graph of TensorFlow: Python functions of numpy arrays, until put() puts the operators there."""

    def __init__(self):
        self.nodes = {}

    def add(self, op, compute, inputs, types, variables=(), **attrs):
        """The outputs; `compute` gets all inputs but the handles of the variables, which come first."""
        outputs = tf.compat.v1.py_func(compute, inputs, types, name=op)
        self.nodes[outputs[0].op.name] = op, [variable.name for variable in variables], attrs
        return outputs

    def put(self, graph_def):
        out = tf.compat.v1.GraphDef()
        out.CopyFrom(graph_def)
        for node in out.node:
            if node.name in self.nodes:
                node.op, handles, attrs = self.nodes[node.name]
                node.input[:] = handles + list(node.input)
                node.attr.clear()
                for name, value in attrs.items():
                    node.attr[name].CopyFrom(_attr_of(value))
        return out


def refusal(run, feed):
    """The error that TensorFlow answers."""
    try:
        run(feed)
    except tf.errors.OpError as error:
        return error
    raise AssertionError("TensorFlow answers %r" % feed)


def write_bundle(prefix, tensors):
    """A checkpoint of these tensors, by TensorFlow's own writer."""
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    names = sorted(tensors)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names),
                                 tensors=[tf.constant(tensors[name]) for name in names])
        session.run(save)


def _add(graph_def, name, op, inputs=(), **attrs):
    node = graph_def.node.add(name=name, op=op)
    node.input.extend(inputs)
    for key, value in attrs.items():
        node.attr[key].CopyFrom(value)
    return name


def _attr(**kwargs):
    return tf.compat.v1.AttrValue(**kwargs)


def _attr_of(value):
    if isinstance(value, tf.DType):
        return _attr(type=value.as_datatype_enum)
    if isinstance(value, str):
        return _attr(s=value.encode())
    return _attr(**{{bool: "b", int: "i", float: "f"}[type(value)]: value})


def _const(graph_def, name, array):
    proto = tf.make_tensor_proto(array)
    return _add(graph_def, name, "Const", dtype=_attr(type=proto.dtype), value=_attr(tensor=proto))


def _type(array):
    return _attr(type=tf.as_dtype(array.dtype).as_datatype_enum)


def _handle(graph_def, ev):
    shape = tf.TensorShape([ev.dim]).as_proto()
    return _add(graph_def, ev.name, "KvVarHandleOp", container=_attr(s=b""), shared_name=_attr(s=ev.name.encode()),
                dtype=_type(ev.rows), shape=_attr(shape=shape), Tkeys=_type(ev.keys))


def _import(graph_def, ev, prefix):
    value = _const(graph_def, ev.name + "/initial_value", ev.default_rows)
    empty_key = _const(graph_def, ev.name + "/empty_key", np.asarray(-1, ev.keys.dtype))
    name = _const(graph_def, "save/%s/tensor_names" % ev.name, np.asarray(ev.name))
    attrs = dict(Tkeys=_type(ev.keys), dtype=_type(ev.rows), shape=_attr(shape=tf.TensorShape([ev.dim]).as_proto()),
                 counter_type=_attr(type=23), default_value_dim=_attr(i=ev.default_row_count))
    if ev.filter_freq:
        attrs["filter_freq"] = _attr(i=ev.filter_freq)
    if ev.no_permission:
        attrs["default_value_no_permission"] = _attr(f=ev.no_permission)
    if ev.part:
        attrs["partition_id"], attrs["partition_num"] = _attr(i=ev.part[0]), _attr(i=ev.part[1])
    return _add(graph_def, "save/%s/import" % ev.name, "KvResourceImportV2",
                [prefix, ev.name, ev.name, value, name, empty_key], **attrs)


def _with_gathers(nodes):
    """Lookups in tables that stand in for handles become gathers, as do the names of their outputs in a function."""
    by_name = {node.name: node for node in nodes}
    lookups = [node for node in nodes if node.op == "LookupTableFindV2"]
    for node in lookups:
        unused_default = by_name[node.input[2].split(":")[0]]
        unused_default.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float32(1)))
        types = dict(dtype=_attr(type=node.attr["Tout"].type), Tkeys=_attr(type=node.attr["Tin"].type))
        node.op = "KvResourceGather"
        node.attr.clear()
        for name, value in types.items():
            node.attr[name].CopyFrom(value)
    return {node.name + ":values:0": node.name + ":output:0" for node in lookups}


def _with_gathers_in_functions(library):
    for function in library.function:
        renamed = _with_gathers(function.node_def)
        for node in function.node_def:
            node.input[:] = [renamed.get(name, name) for name in node.input]
        for name, value in function.ret.items():
            function.ret[name] = renamed.get(value, value)


def _stands_in_for_handle(node, evs):
    """The table itself, and what fills it."""
    return any(node.name == ev.name or node.name.startswith(ev.name + ANSWERS + "/") for ev in evs)


def with_embedding_ops(graph_def, evs, saver_def):
    """The graph with every stand-in replaced, and the restore operation importing the embeddings."""
    out = tf.compat.v1.GraphDef()
    out.versions.CopyFrom(graph_def.versions)
    if graph_def.library.function:
        out.library.CopyFrom(graph_def.library)
        _with_gathers_in_functions(out.library)
    for ev in evs:
        _handle(out, ev)
        _const(out, ev.name + "/unused_default", ev.rows.dtype.type(1))
    imports = [_import(out, ev, saver_def.filename_tensor_name.split(":")[0]) for ev in evs]
    ops = {"_read": "KvResourceGather", "_frequency": "EVGetFrequency", "_version": "EVGetVersion"}
    by_scope = {ev.name + suffix: (ev, op) for ev in evs for suffix, op in ops.items()}
    for node in graph_def.node:
        if _stands_in_for_handle(node, evs):
            continue
        ev, op = by_scope.get(node.name.rsplit("/", 1)[0].rstrip("_0123456789"), (None, None)) \
            if node.op in ("PyFunc", "PyFuncStateless") else (None, None)
        if ev is None:
            copy = out.node.add()
            copy.CopyFrom(node)
            if node.name == saver_def.restore_op_name:
                copy.input.extend("^" + name for name in imports)
            continue
        if op != "KvResourceGather":
            _add(out, node.name, op, [ev.name, node.input[0]],
                 Tvalues=_type(ev.rows), Tkeys=_type(ev.keys))
            continue
        _add(out, node.name, op, [ev.name, node.input[0], ev.name + "/unused_default"],
             dtype=_type(ev.rows), Tkeys=_type(ev.keys))
    _with_gathers(out.node)
    return out


def write_saved_model(folder, graph_def, saver_def, signatures):
    """signatures: {name: ({alias: tensor}, {alias: tensor})}."""
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.meta_info_def.tensorflow_version = "1.15.5"
    meta.graph_def.CopyFrom(graph_def)
    meta.saver_def.CopyFrom(saver_def)
    for name, (inputs, outputs) in signatures.items():
        signature = meta.signature_def[name]
        signature.method_name = "tensorflow/serving/predict"
        for side, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for alias, tensor in tensors.items():
                side[alias].name = tensor.name
                side[alias].dtype = tensor.dtype.as_datatype_enum
                side[alias].tensor_shape.CopyFrom(tensor.shape.as_proto())
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "saved_model.pb"), "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
