"""Writes operator test cases with TensorFlow as the judge.

A generator names an operator, its inputs and attributes; TensorFlow builds the
node, runs it, and says what comes out or that it refuses.  See README.md.
"""
import os
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:  # of the program that imports this
    sys.exit(print(sys.modules["__main__"].__doc__))

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import struct

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.framework import op_def_registry

MAGIC = b"SPCASES1"
KIND_BYTES, KIND_INT, KIND_FLOAT, KIND_BOOL, KIND_TYPE, KIND_SHAPE, KIND_TENSOR, KIND_LIST, KIND_FUNC = range(1, 10)


def _text(value):
    data = value.encode() if isinstance(value, str) else bytes(value)
    return struct.pack("<I", len(data)) + data


def _tensor(array, dtype):
    # A scalar text comes as bytes, whose last NULs numpy's own type for them would cut off.
    array = np.asarray(array, object if isinstance(array, bytes) else None)
    out = struct.pack("<BB", dtype.as_datatype_enum, array.ndim)
    out += struct.pack("<%dq" % array.ndim, *array.shape)
    if dtype == tf.string:
        items = array.reshape(-1).tolist()
        return out + b"".join(_text(item) for item in items)
    return out + np.ascontiguousarray(array).astype(dtype.as_numpy_dtype).tobytes()


def _shape(proto):
    if proto.unknown_rank:
        return struct.pack("<b", -1)
    return struct.pack("<b", len(proto.dim)) + struct.pack("<%dq" % len(proto.dim), *[d.size for d in proto.dim])


def _scalar(kind, value):
    if kind == KIND_BYTES:
        return _text(value)
    if kind == KIND_INT:
        return struct.pack("<q", value)
    if kind == KIND_FLOAT:
        return struct.pack("<f", value)
    if kind == KIND_BOOL:
        return struct.pack("<B", value)
    if kind == KIND_TYPE:
        return struct.pack("<B", value)
    if kind == KIND_SHAPE:
        return _shape(value)
    return _tensor(tf.make_ndarray(value), tf.as_dtype(value.dtype))


_FIELDS = {"s": KIND_BYTES, "i": KIND_INT, "f": KIND_FLOAT, "b": KIND_BOOL, "type": KIND_TYPE, "shape": KIND_SHAPE,
           "tensor": KIND_TENSOR}


def _attr(name, value, library):
    field = value.WhichOneof("value")
    if field == "func":
        return _text(name) + struct.pack("<B", KIND_FUNC) + _text(value.func.name) + _text(library)
    if field != "list":
        kind = _FIELDS[field]
        return _text(name) + struct.pack("<B", kind) + _scalar(kind, getattr(value, field))
    out = _text(name) + struct.pack("<B", KIND_LIST)
    for field, kind in _FIELDS.items():
        items = getattr(value.list, field)
        if len(items):
            return out + struct.pack("<BI", kind, len(items)) + b"".join(_scalar(kind, item) for item in items)
    return out + struct.pack("<BI", 0, 0)


def _library(graph):
    """The functions of a graph, without notes of where they came from."""
    library = graph.as_graph_def().library
    for function in library.function:
        function.attr.clear()
        function.arg_attr.clear()
        for node in function.node_def:
            node.ClearField("experimental_debug_info")
            node.attr.pop("_output_shapes", None)
    return tf.compat.v1.GraphDef(library=library).SerializeToString(deterministic=True)


def _is_default(op_def, name, value):
    for attr in op_def.attr:
        if attr.name == name and attr.HasField("default_value"):
            return attr.default_value == value
    return False


UNIT = {tf.float32: 2**-24, tf.float64: 2**-53, tf.half: 2**-11, tf.bfloat16: 2**-8}


def near(dtype, terms=0.0):
    """rtol and atol of docs/numbers.md, as arguments of Cases.add(); none for types that are exact.

    terms   a bound of the sum of the sizes of what an element is the sum of: where they cancel, an answer may be
            four rounding errors of that sum off (half and bfloat16: TensorFlow's own answer rounds at every term)
    """
    if dtype not in UNIT:
        return {}
    unit = UNIT[dtype]
    rtol, atol = {tf.float32: (1e-5, 1e-6), tf.float64: (1e-13, 1e-14)}.get(dtype, (4 * unit, 0))
    return {"rtol": rtol, "atol": max(atol, 4 * unit * terms)}


def texts(items):
    """Texts of any bytes as an input."""
    return (np.array(items, object), tf.string)


def decodes(message, attrs):
    """Whether TensorFlow's DecodeProtoV2 takes the message."""
    try:
        tf.raw_ops.DecodeProtoV2(bytes=tf.constant([message]), **attrs)
        return True
    except tf.errors.OpError:
        return False


class Cases:
    """Collects the cases of one family and writes cases/<family>.cases."""

    def __init__(self, family):
        self.family = family
        self.records = []
        options = config_pb2.GraphOptions(rewrite_options=rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True))
        self.config = config_pb2.ConfigProto(graph_options=options, intra_op_parallelism_threads=1)

    def add(self, op, inputs, attrs=None, *, name="", rtol=0.0, atol=0.0, refuse=False, keep_defaults=False,
            outputs=None, shaped=False, maker=None, compiled=False, fatal=False):
        """One case.

        op             TensorFlow's operator name
        inputs         {argument: value}; value is a numpy array, (array, tf dtype), or a list of them
                       for a list argument.  A Python str/bytes array is a string tensor.
        attrs          {attribute: value}, as tf.raw_ops takes them
        rtol, atol     how far float results may be off; 0 means the very bits (but any NaN equals any NaN)
        refuse         TensorFlow must refuse the inputs at run time; so must we
        keep_defaults  leave attributes in that equal their default (writers strip them)
        outputs        compare only that many of the outputs, where TensorFlow leaves the others to chance
        shaped         tell TensorFlow the shapes of the inputs, for the few operators that want to know them
        maker          what makes the node where tf.raw_ops lacks the operator
        fatal          TensorFlow itself ends on these inputs, so it is not asked; we must refuse them
        compiled       XLA's compiler says what comes out: operators that TensorFlow's CPU has no kernel for.
                       What makes a node that says the same, where XLA has none for this one either
        """
        graph = tf.Graph()
        feeds = {}
        with graph.as_default():
            arguments = {}
            for key, value in inputs.items():
                if isinstance(value, list):
                    arguments[key] = [self._placeholder(item, feeds, shaped) for item in value]
                else:
                    arguments[key] = self._placeholder(value, feeds, shaped)
            before = len(graph.get_operations())
            (maker or getattr(tf.raw_ops, op))(**arguments, **(attrs or {}))
            node = graph.get_operations()[before]
            assert node.type == op, (node.type, op)
        if fatal:
            expected = None
        elif compiled:
            expected = self._compile(compiled if callable(compiled) else maker or getattr(tf.raw_ops, op), inputs, attrs or {}, node, refuse, op, name)
        else:
            expected = self._run(graph, node, feeds, refuse, op, name)
        if expected is not None:
            expected = expected[:outputs]
        self._record(op, name, node, feeds, expected, rtol, atol, keep_defaults)

    def define(self, op, inputs, attrs, outputs, *, name="", rtol=0.0, atol=0.0):
        """One case of an operator that TensorFlow does not have.

        inputs   a list of numpy arrays, in order, or of (array, tf dtype)
        attrs    {attribute: bytes, bool, int, float, tf dtype or list of int}
        outputs  a list of numpy arrays; None: the inputs must be refused
        """
        out = _text(name) + _text(op) + struct.pack("<I", len(attrs))
        for key, value in sorted(attrs.items()):
            if isinstance(value, list):
                out += _text(key) + struct.pack("<BBI", KIND_LIST, KIND_INT, len(value)) + b"".join(_scalar(KIND_INT, x) for x in value)
                continue
            kind = {bytes: KIND_BYTES, bool: KIND_BOOL, int: KIND_INT, float: KIND_FLOAT}.get(type(value), KIND_TYPE)
            out += _text(key) + struct.pack("<B", kind)
            out += _scalar(kind, value.as_datatype_enum if kind == KIND_TYPE else value)
        out += struct.pack("<I", len(inputs)) + b"".join(self._defined(x) for x in inputs)
        out += struct.pack("<Bff", outputs is None, rtol, atol) + struct.pack("<I", len(outputs or []))
        out += b"".join(self._defined(x) for x in outputs or [])
        self.records.append(out)

    @staticmethod
    def _defined(value):
        array, dtype = value if isinstance(value, tuple) else (np.asarray(value), None)
        return _tensor(array, dtype or tf.as_dtype(array.dtype))

    @classmethod
    def _placeholder(cls, value, feeds, shaped):
        array, dtype = cls._typed(value)
        placeholder = tf.compat.v1.placeholder(dtype, shape=array.shape if shaped else None)
        feeds[placeholder.name] = (placeholder, array)
        return placeholder

    @staticmethod
    def _typed(value):
        array, dtype = value if isinstance(value, tuple) else (np.asarray(value), None)
        array = np.asarray(array)
        if dtype is None:
            dtype = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
        if dtype == tf.string:
            array = np.array([x.encode() if isinstance(x, str) else x for x in array.reshape(-1).tolist()],
                             dtype=object).reshape(array.shape)
        else:
            array = array.astype(dtype.as_numpy_dtype)
        return array, dtype

    def _compile(self, maker, inputs, attrs, node, refuse, op, name):
        """What the operator answers in a function that XLA compiles."""
        tensors = {}
        for key, value in inputs.items():
            pairs = [self._typed(item) for item in (value if isinstance(value, list) else [value])]
            made = [tf.constant(array, dtype) for array, dtype in pairs]
            tensors[key] = made if isinstance(value, list) else made[0]
        try:
            result = tf.nest.flatten(tf.function(lambda **given: maker(**given, **attrs), jit_compile=True)(**tensors))
        except (tf.errors.OpError, ValueError) as error:
            if not refuse:
                raise AssertionError("%s %s: XLA refuses: %s" % (op, name, error)) from error
            return None
        if refuse:
            raise AssertionError("%s %s: XLA does not refuse, it answers %r" % (op, name, result))
        return [(tensor.numpy(), output.dtype) for tensor, output in zip(result, node.outputs)]

    def _run(self, graph, node, feeds, refuse, op, name):
        with tf.compat.v1.Session(graph=graph, config=self.config) as session:
            try:
                # Copies: some operators change their inputs.
                result = session.run(list(node.outputs), {p: a.copy() for p, a in feeds.values()})
            except (tf.errors.OpError, ValueError) as error:
                if not refuse:
                    raise AssertionError("%s %s: TensorFlow refuses: %s" % (op, name, error)) from error
                return None
        if refuse:
            raise AssertionError("%s %s: TensorFlow does not refuse, it answers %r" % (op, name, result))
        return [(array, tensor.dtype) for array, tensor in zip(result, node.outputs)]

    def _record(self, op, name, node, feeds, expected, rtol, atol, keep_defaults):
        op_def = op_def_registry.get(op)
        attrs = [(key, value) for key, value in sorted(node.node_def.attr.items())
                 if not key.startswith("_") and (keep_defaults or not _is_default(op_def, key, value))]
        out = _text(name) + _text(op) + struct.pack("<I", len(attrs))
        library = _library(node.graph)
        out += b"".join(_attr(key, value, library) for key, value in attrs)
        out += struct.pack("<I", len(node.inputs))
        for tensor in node.inputs:
            out += _tensor(feeds[tensor.name][1], tensor.dtype)
        out += struct.pack("<Bff", expected is None, rtol, atol)
        out += struct.pack("<I", len(expected or []))
        out += b"".join(_tensor(array, dtype) for array, dtype in expected or [])
        self.records.append(out)

    def write(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.path.join(root, "tests/unit/engine/ops/cases", self.family + ".cases")
        with open(path, "wb") as file:
            file.write(MAGIC + struct.pack("<I", len(self.records)) + b"".join(self.records))
        print("%s: %d cases, %d bytes" % (path, len(self.records), os.path.getsize(path)))
