"""Makes tests/golden/bundles and tests/golden/protos with TensorFlow 2.15.

    python scripts/make_bundle_fixtures.py

A bundle's folder holds b.index, b.data-... and expected.txt, a line per read:

    name TAB slice TAB dtype TAB dims TAB elements

`slice` is RestoreV2's shape_and_slices; dims are separated by commas; elements
are hexadecimal, little-endian, one run of digits, or a run per string with a
comma behind each.  protos/tensors.txt has a line per TensorProto, with the
message in hexadecimal in place of name and slice.

The corpora of the fuzz targets for bundles and sorted tables come from the same
bundles.
"""
import os
import shutil
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "tests", "golden")
random = np.random.default_rng(20)

PLAIN = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64,
         tf.bool, tf.bfloat16, tf.uint16, tf.complex128, tf.half, tf.uint32, tf.uint64]
QUANTIZED = [(tf.qint8, tf.int8), (tf.quint8, tf.uint8), (tf.qint32, tf.int32),
             (tf.qint16, tf.int16), (tf.quint16, tf.uint16)]


def noise(dtype, shape):
    """Any bits for integers, numbers for the rest."""
    if dtype == tf.bool:
        return tf.constant(random.integers(0, 2, shape).astype(bool))
    if dtype.is_integer:
        size = dtype.size * int(np.prod(shape))
        return tf.constant(np.frombuffer(random.bytes(size), dtype.as_numpy_dtype).reshape(shape))
    if dtype.is_complex:
        value = random.standard_normal(shape) + 1j * random.standard_normal(shape)
        return tf.constant(value.astype(dtype.as_numpy_dtype))
    return tf.cast(tf.constant(random.standard_normal(shape)), dtype)


def elements(tensor):
    if tensor.dtype == tf.string:
        return "".join(item.hex() + ","
                       for item in np.array(tensor.numpy(), object).reshape(-1))
    for quantized, plain in QUANTIZED:
        if tensor.dtype == quantized:
            tensor = tf.bitcast(tensor, plain)
    return np.ascontiguousarray(tensor.numpy()).tobytes().hex()


def line(first, tensor):
    dims = ",".join(str(d) for d in tensor.shape)
    return "\t".join(first + [str(tensor.dtype.as_datatype_enum), dims, elements(tensor)]) + "\n"


def fresh(name):
    path = os.path.join(GOLDEN, "bundles", name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def expect(path, reads):
    """What RestoreV2 answers for (name, slice, dtype)."""
    with open(os.path.join(path, "expected.txt"), "w") as out:
        for name, spec, dtype in reads:
            value, = tf.raw_ops.RestoreV2(prefix=os.path.join(path, "b"), tensor_names=[name],
                                          shape_and_slices=[spec], dtypes=[dtype])
            out.write(line([name, spec], value))


def save(prefix, tensors, specs=None):
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[name for name, _ in tensors],
                      shape_and_slices=specs or [""] * len(tensors),
                      tensors=[value for _, value in tensors])


def whole(tensors):
    return [(name, "", value.dtype) for name, value in tensors]


def dtypes():
    path = fresh("dtypes")
    tensors = []
    for dtype in PLAIN:
        tensors += [("%s/%s" % (dtype.name, kind), noise(dtype, shape))
                    for kind, shape in (("scalar", []), ("vector", [5]), ("cube", [2, 1, 3]),
                                        ("empty", [0]), ("flat", [2, 0, 3]))]
    for quantized, plain in QUANTIZED:
        tensors.append((quantized.name, tf.bitcast(noise(plain, [3]), quantized)))
    save(os.path.join(path, "b"), tensors)
    expect(path, whole(tensors))


def strings():
    path = fresh("strings")
    tensors = [("scalar", tf.constant("one")), ("empty", tf.constant([], tf.string)),
               ("blank", tf.constant([""])), ("flat", tf.zeros([3, 0], tf.string)),
               ("matrix", tf.constant([["a", "bc", ""], ["\0nul", b"\xff\xfe", "ü"]])),
               ("long", tf.constant(["x" * 127, "y" * 128, "z" * 300]))]
    save(os.path.join(path, "b"), tensors)
    expect(path, whole(tensors))


def sliced():
    """Partitioned by rows, by columns, into a grid, and strings."""
    path = fresh("sliced")
    rows, columns = noise(tf.float32, [7, 4]), noise(tf.int64, [3, 10])
    grid = noise(tf.int16, [4, 6, 2])
    words = tf.constant([["w%d%d" % (i, j) * j for j in range(3)] for i in range(4)])
    parts = [("rows", "7 4 0,3:0,4", rows[:3]), ("rows", "7 4 3,2:0,4", rows[3:5]),
             ("rows", "7 4 5,2:0,4", rows[5:]),
             ("a/columns", "3 10 0,3:0,5", columns[:, :5]),
             ("a/columns", "3 10 0,3:5,5", columns[:, 5:]),
             ("grid", "4 6 2 0,2:0,4:-", grid[:2, :4]), ("grid", "4 6 2 0,2:4,2:-", grid[:2, 4:]),
             ("grid", "4 6 2 2,2:0,4:-", grid[2:, :4]), ("grid", "4 6 2 2,2:4,2:-", grid[2:, 4:]),
             ("words", "4 3 0,1:-", words[:1]), ("words", "4 3 1,3:-", words[1:])]
    big = noise(tf.uint8, [400, 1])
    parts += [("big", "400 1 0,300:0,1", big[:300]), ("big", "400 1 300,100:0,1", big[300:])]
    plain = noise(tf.float32, [5, 4])
    parts.append(("plain", "", plain))
    save(os.path.join(path, "b"), [(name, value) for name, _, value in parts],
         [spec for _, spec, _ in parts])
    expect(path, [("rows", "", tf.float32), ("rows", "7 4 -:-", tf.float32),
                  ("rows", "7 4 3,2:0,4", tf.float32), ("rows", "7 4 2,4:1,2", tf.float32),
                  ("a/columns", "", tf.int64), ("a/columns", "3 10 1,1:-", tf.int64),
                  ("a/columns", "3 10 -:4,2", tf.int64),
                  ("grid", "", tf.int16), ("grid", "4 6 2 1,2:3,2:1,1", tf.int16),
                  ("grid", "4 6 2 2,2:4,2:-", tf.int16),
                  ("big", "", tf.uint8), ("big", "400 1 299,2:0,1", tf.uint8),
                  ("plain", "", tf.float32), ("plain", "5 4 1,3:2,2", tf.float32)])
    # TensorFlow writes slices of strings, but does not read them.
    with open(os.path.join(path, "expected.txt"), "a") as out:
        out.write(line(["words", ""], words))
        out.write(line(["words", "4 3 0,2:1,1"], words[0:2, 1:2]))


def shards():
    path = fresh("shards")
    tensors = [("t%d" % i, noise(tf.float32, [i + 1])) for i in range(5)]
    prefixes = [os.path.join(path, "part%d" % i) for i in range(3)]
    save(prefixes[0], tensors[:2])
    save(prefixes[1], tensors[2:4] + [("s", tf.constant(["in", "shard", "one"]))])
    save(prefixes[2], tensors[4:])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes,
                                  destination_prefix=os.path.join(path, "b"),
                                  delete_old_dirs=False)
    expect(path, whole(tensors) + [("s", "", tf.string)])


def long_names():
    """Enough names that share their beginnings for several restarts."""
    path = fresh("names")
    tensors = [("scope/of/a/layer_%d/kernel" % i, tf.constant(i, tf.int32)) for i in range(100)]
    save(os.path.join(path, "b"), tensors)
    expect(path, whole(tensors))


def protos():
    """Constants as Python writes them, and as other writers may; parse_tensor is the judge."""
    messages = []
    for dtype in PLAIN:
        for shape in ([], [1], [4], [2, 3], [0], [3, 0]):
            messages.append(tf.make_tensor_proto(noise(dtype, shape).numpy(), dtype, shape))
        values = noise(dtype, [2]).numpy()
        messages.append(tf.make_tensor_proto(values[0], dtype, [3, 2]))
        typed = tf.make_tensor_proto(values[0], dtype, [])
        second = tf.make_tensor_proto(values[1], dtype, [])
        typed.MergeFrom(second)
        for size in (0, 1, 2, 5):
            message = TensorProto()
            message.CopyFrom(typed)
            message.tensor_shape.Clear()
            message.tensor_shape.dim.add().size = size
            messages.append(message)
        zeros = TensorProto(dtype=dtype.as_datatype_enum)
        zeros.tensor_shape.dim.add().size = 3
        messages.append(zeros)
    for texts in ("one", [], [""], ["a", "\0", b"\xff", ""], [["x" * 200], ["y"]]):
        messages.append(tf.make_tensor_proto(texts, tf.string))
    splat = tf.make_tensor_proto(["ab", "c"], tf.string)
    splat.tensor_shape.dim[0].size = 4
    messages.append(splat)
    os.makedirs(os.path.join(GOLDEN, "protos"), exist_ok=True)
    with open(os.path.join(GOLDEN, "protos", "tensors.txt"), "w") as out:
        for message in messages:
            data = message.SerializeToString()
            out.write(line([data.hex()], tf.io.parse_tensor(data, tf.as_dtype(message.dtype))))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def block(data, at):
    """Contents of the block that the handle at `at` names, and what is behind the handle."""
    offset, at = varint(data[0], at)
    size, at = varint(data[0], at)
    return data[1][offset:offset + size], at


def entries(contents):
    end = len(contents) - 4 - 4 * int.from_bytes(contents[-4:], "little")
    at, key = 0, b""
    while at < end:
        shared, at = varint(contents, at)
        rest, at = varint(contents, at)
        size, at = varint(contents, at)
        key = key[:shared] + contents[at:at + rest]
        yield key, contents[at + rest:at + rest + size]
        at += rest + size


def corpora():
    fuzz = os.path.join(HERE, "..", "tests", "fuzz", "corpus")
    for name in ("dtypes", "strings", "sliced"):
        prefix = os.path.join(GOLDEN, "bundles", name, "b")
        with open(prefix + ".index", "rb") as file:
            table = file.read()
        with open(prefix + ".data-00000-of-00001", "rb") as file:
            shard = file.read()
        footer = table[-48:]
        _, at = block((footer, table), 0)
        index, _ = block((footer, table), at)
        blocks = [block((handle, table), 0)[0] for _, handle in entries(index)]
        pairs = [pair for contents in blocks for pair in entries(contents)]
        out = bytes([len(pairs)])
        for key, value in pairs:
            out += bytes([len(key)]) + key + bytes([len(value)]) + value
        for target, data in (("bundle", out + shard), ("sorted_table", b"\0" + blocks[0])):
            os.makedirs(os.path.join(fuzz, target), exist_ok=True)
            with open(os.path.join(fuzz, target, name), "wb") as file:
                file.write(data)
        with open(os.path.join(fuzz, "sorted_table", name + "_file"), "wb") as file:
            file.write(table)
    # A block of one entry that snappy copies a part of: "abcabcabc" -> 7.
    plain = bytes([0, 9, 1]) + b"abcabcabc7" + bytes(4) + bytes([1, 0, 0, 0])
    packed = bytes([len(plain), 5 << 2]) + plain[:6] + bytes([1 | 2 << 2, 3, (len(plain) - 13) << 2])
    with open(os.path.join(fuzz, "sorted_table", "snappy"), "wb") as file:
        file.write(b"\1" + packed + plain[12:])


for make in (dtypes, strings, sliced, shards, long_names, protos, corpora):
    make()
