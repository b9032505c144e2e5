"""ParseExample, ParseExampleV2 and ParseSingleExample, from well formed to hostile."""
import struct

import numpy as np
import tensorflow as tf

from op_cases import Cases
from proto_wire import sized, varint

cases = Cases("parse_example")


# ---- a writer of messages, right or wrong

def delimited(field, data):
    return varint(field << 3 | 2) + sized(data)


def ints(*values, packed=True):
    if packed:
        return delimited(3, delimited(1, b"".join(varint(v) for v in values)))
    return delimited(3, b"".join(b"\x08" + varint(v) for v in values))


def floats(*values, packed=True):
    words = [struct.pack("<f", v) for v in values]
    if packed:
        return delimited(2, delimited(1, b"".join(words)))
    return delimited(2, b"".join(b"\x0d" + w for w in words))


def texts(*values):
    return delimited(1, b"".join(delimited(1, v) for v in values))


def entry(name, feature):
    return delimited(1, delimited(1, name) + delimited(2, feature))


def example(*entries, **features):
    entries = list(entries) + [entry(k.encode(), v) for k, v in features.items()]
    return delimited(1, b"".join(entries))


# ---- the three operators on one description of the features

def strings(values, shape=None):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array if shape is None else array.reshape(shape)


def add_case(op, inputs, attrs, refuse):
    try:
        cases.add(op, inputs, attrs, refuse=refuse)
    except ValueError as error:  # refused while the graph was built: there is nothing to replay
        assert refuse, error
        print("not a case: %s: %s" % (op, error))


def add(serialized, sparse=(), dense=(), ragged=(), names=None, refuse=False, ops="123"):
    """sparse: (key, dtype); dense: (key, dtype, shape, default); ragged: (key, dtype, split dtype)."""
    is_scalar = isinstance(serialized, bytes)
    data = strings([serialized], ()) if is_scalar else strings(serialized)
    defaults = [(np.array([] if d[3] is None else d[3], dtype=object if d[1] == tf.string else d[1].as_numpy_dtype), d[1])
                for d in dense]
    shapes = [d[2] for d in dense]
    types = {"sparse_types": [s[1] for s in sparse]}
    shape_attr = {"dense_shapes": shapes}
    name_data = strings([] if names is None else names)
    if is_scalar and names is not None:
        name_data = strings(names, ())
    if "1" in ops and not is_scalar and not ragged:
        add_case("ParseExample",
                  {"serialized": data, "names": name_data, "sparse_keys": [strings([s[0]], ()) for s in sparse],
                   "dense_keys": [strings([d[0]], ()) for d in dense], "dense_defaults": defaults},
                  {**types, **shape_attr}, refuse)
    if "2" in ops:
        add_case("ParseExampleV2",
                  {"serialized": data, "names": name_data, "sparse_keys": strings([s[0] for s in sparse]),
                   "dense_keys": strings([d[0] for d in dense]), "ragged_keys": strings([r[0] for r in ragged]),
                   "dense_defaults": defaults},
                  {**types, **shape_attr, "num_sparse": len(sparse), "ragged_value_types": [r[1] for r in ragged],
                   "ragged_split_types": [r[2] for r in ragged]}, refuse)
    if "3" in ops and is_scalar and not ragged and names is None:
        add_case("ParseSingleExample", {"serialized": data, "dense_defaults": defaults},
                  {**types, **shape_attr, "num_sparse": len(sparse), "sparse_keys": [s[0] for s in sparse],
                   "dense_keys": [d[0] for d in dense]}, refuse)


I, F, S = tf.int64, tf.float32, tf.string
FULL = example(i=ints(1, -2, 2**62), f=floats(0.5, -1.5), s=texts(b"x", b"", b"long text \xff\0"), other=ints(9))
THIN = example(i=ints(7), s=b"")
NONE = b""
ALL_SPARSE = [("i", I), ("f", F), ("s", S)]
ALL_RAGGED = [("i", I, tf.int64), ("f", F, tf.int32), ("s", S, tf.int64)]
VARIABLE = [("i", I, [None], -1), ("f", F, [None], 9.5), ("s", S, [None], b"pad")]

# well formed
for batch in ([FULL], [FULL, THIN, NONE, FULL], [NONE], [THIN] * 3, []):
    add(batch, sparse=ALL_SPARSE)
    add(batch, dense=VARIABLE)
    add(batch, ragged=ALL_RAGGED)
    add(batch, sparse=[("f", F)], dense=[("i", I, [None], 0)], ragged=[("s", S, tf.int32)])
    add(batch, sparse=[("absent", S)], dense=[("absent2", I, [2], [3, 4]), ("absent3", F, [], 1.5)], ragged=[("absent4", F, tf.int32)])
for single in (FULL, THIN, NONE):
    add(single, sparse=ALL_SPARSE)
    add(single, dense=VARIABLE)
    add(single, ragged=ALL_RAGGED)
    add(single, sparse=[("absent", S)], dense=[("absent2", I, [2], [3, 4]), ("absent3", F, [], 1.5)], ragged=[("absent4", F, tf.int32)])
add([FULL], names=["first"], sparse=[("i", I)])
add([FULL, THIN], names=["first", b"\xff"], dense=[("i", I, [None], 0)])
add([FULL, NONE])
add(FULL)

# fixed shapes
six = example(i=ints(1, 2, 3, 4, 5, 6), f=floats(1, 2, 3, 4, 5, 6), s=texts(*[b"a", b"b", b"c", b"d", b"e", b"f"]))
one = example(i=ints(5), f=floats(2.5), s=texts(b"one"))
for form in ([six, six], six):
    add(form, dense=[("i", I, [2, 3], None), ("f", F, [6], None), ("s", S, [3, 1, 2], None)])
    add(form, dense=[("i", I, [None, 3], 0), ("f", F, [None, 2], 0.5), ("s", S, [None, 1, 2], b"p")])
for form in ([one, NONE], NONE, one):
    add(form, dense=[("i", I, [], 3), ("f", F, [1], [0.25]), ("s", S, [1, 1], [[b"def"]])])
add([one], dense=[("i", I, [2], None)], refuse=True)
add(one, dense=[("i", I, [2], None)], refuse=True)
add([one], dense=[("i", I, [None, 2], 0)], refuse=True)
add(one, dense=[("i", I, [None, 2], 0)], refuse=True)
add([six, one], dense=[("i", I, [None, 3], 0)], refuse=True)
add([one], dense=[("absent", I, [1], None)], refuse=True)
add(one, dense=[("absent", I, [1], None)], refuse=True)
add([example(i=ints())], dense=[("i", I, [0], None)])
add([NONE], dense=[("i", I, [0], None)], refuse=True)
add([NONE], dense=[("i", I, [2], [1])], refuse=True)
add([NONE], dense=[("i", I, [2], [[1, 2]])], refuse=True)
add([NONE], dense=[("i", I, [1, 2], [1, 2])], refuse=True)
add([NONE], dense=[("i", I, [None], [1, 2])], refuse=True)
add([NONE], dense=[("i", I, [None], None)], refuse=True)

# element types
for wrong in (example(i=floats(5)), example(i=texts(b"5"))):
    for form in ([wrong], wrong):
        add(form, dense=[("i", I, [1], [1])], refuse=True)
        add(form, dense=[("i", I, [None], 1)], refuse=True)
        add(form, sparse=[("i", I)], refuse=True)
        add(form, ragged=[("i", I, tf.int64)], refuse=True)

# encodings of a list
for data, count in ((ints(5, 6, packed=False), 2), (ints(), 0), (delimited(3, b""), 0), (ints(0, 127, 128, 2**63, -1), 5),
                    (delimited(3, delimited(1, varint(5)) + delimited(1, varint(6))), 1),
                    (delimited(3, delimited(1, varint(5)) + delimited(2, b"")), 1),
                    (delimited(3, delimited(1, b"\xff" * 9 + b"\x7f")), 1), (delimited(3, delimited(1, b"\x85\x00")), 1),
                    (ints(5) + floats(1), 1), (ints(5) + ints(6), 1), (ints(5) + b"\xff\0\0", 1)):
    for form in ([example(i=data)], example(i=data)):
        add(form, sparse=[("i", I)])
        add(form, ragged=[("i", I, tf.int32)])
        add(form, dense=[("i", I, [None], 0)])
        add(form, dense=[("i", I, [count], [8] * count if count else None)])
for data in (floats(1, 2, packed=False), floats(), delimited(2, b""), floats(float("inf"), float("nan"), -0.0)):
    add([example(f=data)], sparse=[("f", F)])
    add(example(f=data), dense=[("f", F, [None], 0.0)])
for kind, data in ((I, delimited(3, b"\x08\x05" + delimited(1, varint(6)))), (I, delimited(3, b"\x10\x05")),
                   (I, delimited(3, b"\x08\x05\x10\x01")), (I, delimited(3, b"\x08")), (I, delimited(3, delimited(1, b"\xff" * 10 + b"\x01"))),
                   (I, delimited(3, delimited(1, b"\x80"))), (I, b"\x18\x05"), (I, delimited(4, b"") + ints(5)), (I, b"\x9a\x00\x00"),
                   (F, delimited(2, b"\x0d\0\0")), (F, delimited(2, b"\x08\x05")), (F, delimited(2, delimited(2, b"\0\0\0\0"))),
                   (S, delimited(1, delimited(2, b"x"))), (S, delimited(1, b"\x08\x01")), (S, delimited(1, b"\x0a\x05ab"))):
    for form in ([example(x=data)], example(x=data)):
        add(form, sparse=[("x", kind)], refuse=True)
        add(form, ragged=[("x", kind, tf.int64)], refuse=True)
        add(form, dense=[("x", kind, [1], None)], refuse=True)
        add(form, dense=[("x", kind, [None], b"" if kind == S else 0)], refuse=True)

# a feature given twice, in one or two maps
for twice in (example(entry(b"i", ints(5)), entry(b"i", ints(6, 7))), example(entry(b"i", floats(5)), entry(b"i", ints(6, 7))),
              example(entry(b"i", ints(6, 7)), entry(b"i", b"")),
              example(entry(b"i", b""), entry(b"i", ints(6, 7))), example(i=ints(5)) + example(i=ints(6, 7)),
              example(i=ints(6, 7)) + example(b=ints(5))):
    for form in ([twice], twice, [twice, NONE, twice]):
        add(form, sparse=[("i", I)])
        add(form, ragged=[("i", I, tf.int64)])
        add(form, dense=[("i", I, [None], 0)])
    add([twice], dense=[("i", I, [2], None)])
for twice in (example(entry(b"i", ints(5)), entry(b"i", floats(6))), example(entry(b"i", b"\xff\xff"), entry(b"i", ints(6, 7)))):
    add([twice], sparse=[("i", I)], refuse=True)
    add(twice, dense=[("i", I, [None], 0)], refuse=True)

# the map's entries and what stands beside the map
good = ints(5)
body = entry(b"i", good)
for data in (delimited(1, delimited(1, delimited(2, good) + delimited(1, b"i"))), delimited(2, b"zz") + example(i=good),
             example(i=good) + delimited(2, b"zz"), example(i=good) + b"\x18\x05", b"\x1d\0\0\0\0" + example(i=good),
             b"\x19" + b"\0" * 8 + example(i=good), b"\x0a" + bytes([0x80 | len(body), 0]) + body):
    add([data], dense=[("i", I, [1], None)])
    add(data, sparse=[("i", I)])
add([b"\x8a\x00" + example(i=good)[1:]], sparse=[("i", I)])
for data in (delimited(1, delimited(1, delimited(1, b"b") + delimited(1, b"i") + delimited(2, good))),
             delimited(1, delimited(1, delimited(1, b"i") + delimited(2, good) + delimited(2, good))),
             delimited(1, delimited(1, delimited(2, good))), delimited(1, delimited(1, delimited(1, b"i"))),
             delimited(1, delimited(1, b"")), delimited(1, delimited(1, delimited(1, b"i") + delimited(2, good) + delimited(3, b"x"))),
             delimited(1, delimited(1, delimited(3, b"x") + delimited(1, b"i") + delimited(2, good))),
             b"\x1b\x1c" + example(i=good), example(i=good) + b"\0", b"\x0f" + example(i=good),
             delimited(1, delimited(2, b"zz") + body), delimited(1, body + b"\x18\x05"), example(i=good)[:-1], b"\x0a", b"\xff",
             b"not an example", b"\x0a" + b"\xff" * 10 + b"\x01"):
    add([data], sparse=[("i", I)], refuse=True)
    add(data, sparse=[("i", I)], refuse=True)
    add([FULL, data], dense=[("i", I, [None], 0)], refuse=True)

# shapes of the inputs
add(np.array([[FULL]], dtype=object).tolist()[0], sparse=[("i", I)])
cases.add("ParseExampleV2",
          {"serialized": strings([FULL], (1, 1)), "names": strings([]), "sparse_keys": strings(["i"]), "dense_keys": strings([]),
           "ragged_keys": strings([]), "dense_defaults": []},
          {"sparse_types": [I], "dense_shapes": [], "num_sparse": 1, "ragged_value_types": [], "ragged_split_types": []},
          refuse=True)
add([FULL, FULL], names=["only one"], sparse=[("i", I)], refuse=True)

# what tf.train.Example writes
rng = np.random.default_rng(3)
batch = []
for _ in range(12):
    feature = {}
    if rng.random() < 0.8:
        feature["i"] = tf.train.Feature(int64_list=tf.train.Int64List(value=rng.integers(-2**62, 2**62, rng.integers(0, 6))))
    if rng.random() < 0.8:
        feature["f"] = tf.train.Feature(float_list=tf.train.FloatList(value=rng.normal(size=rng.integers(0, 6))))
    if rng.random() < 0.8:
        values = [rng.bytes(rng.integers(0, 12)) for _ in range(rng.integers(0, 6))]
        feature["s"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    feature["label"] = tf.train.Feature(float_list=tf.train.FloatList(value=[rng.random()]))
    batch.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
add(batch, sparse=ALL_SPARSE, dense=[("label", F, [1], None)])
add(batch, dense=VARIABLE + [("label", F, [], None)])
add(batch, ragged=ALL_RAGGED)
add(batch, sparse=[("s", S), ("i", I)], dense=[("f", F, [None], -1.0), ("label", F, [1, 1], None)])

cases.write()
