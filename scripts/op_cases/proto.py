"""DecodeProtoV2."""
import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from op_cases import Cases

cases = Cases("proto")
F = descriptor_pb2.FieldDescriptorProto
TYPES = {
    "double": (F.TYPE_DOUBLE, [tf.float64], "-1.25e-3"), "float": (F.TYPE_FLOAT, [tf.float32, tf.float64], "0.1"),
    "int64": (F.TYPE_INT64, [tf.int64], "-9223372036854775808"), "uint64": (F.TYPE_UINT64, [tf.uint64], "70000"),
    "int32": (F.TYPE_INT32, [tf.int32, tf.int64], "-7"), "fixed64": (F.TYPE_FIXED64, [tf.uint64], "12"),
    "fixed32": (F.TYPE_FIXED32, [tf.uint32, tf.uint64], "300"), "bool": (F.TYPE_BOOL, [tf.bool], "true"),
    "string": (F.TYPE_STRING, [tf.string], "text"), "bytes": (F.TYPE_BYTES, [tf.string], "\\001x\\n\\\"\\xff\\\\7"),
    "uint32": (F.TYPE_UINT32, [tf.uint32, tf.uint64], "4294967295"), "enum": (F.TYPE_ENUM, [tf.int32], "LAST"),
    "sfixed32": (F.TYPE_SFIXED32, [tf.int32, tf.int64], "-5"), "sfixed64": (F.TYPE_SFIXED64, [tf.int64], "-6"),
    "sint32": (F.TYPE_SINT32, [tf.int32, tf.int64], "-2147483648"), "sint64": (F.TYPE_SINT64, [tf.int64], "3"),
}


def describe():
    """A message with a field of each type in each manner, nested names, an extension."""
    file = descriptor_pb2.FileDescriptorProto(name="kinds.proto", package="test.kinds", syntax="proto2")
    enum = file.enum_type.add(name="Side")
    for name, number in (("FIRST", 4), ("LAST", -3)):
        enum.value.add(name=name, number=number)
    outer = file.message_type.add(name="Outer")
    inner = outer.nested_type.add(name="Inner")
    inner.enum_type.add(name="Deep").value.add(name="ONLY", number=9)
    inner.field.add(name="number", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    inner.field.add(name="deep", number=2, type=F.TYPE_ENUM, label=F.LABEL_OPTIONAL, type_name=".test.kinds.Outer.Inner.Deep")
    outer.nested_type.add(name="Group").field.add(name="number", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    outer.extension_range.add(start=1000, end=2000)
    file.extension.add(name="more", number=1000, type=F.TYPE_SINT64, label=F.LABEL_REPEATED, extendee=".test.kinds.Outer")
    number = 1
    for name, (kind, _, default) in TYPES.items():
        for manner in ("one", "defaulted", "many", "packed"):
            if manner == "packed" and kind in (F.TYPE_STRING, F.TYPE_BYTES):
                continue
            field = outer.field.add(name="%s_%s" % (name, manner), number=number, type=kind)
            field.label = F.LABEL_REPEATED if manner in ("many", "packed") else F.LABEL_OPTIONAL
            if manner == "defaulted":
                field.default_value = default
            if manner == "packed":
                field.options.packed = True
            if kind == F.TYPE_ENUM:
                field.type_name = ".test.kinds.Side"
            number += 3
    outer.field.add(name="inner_one", number=500, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".test.kinds.Outer.Inner")
    outer.field.add(name="inner_many", number=501, type=F.TYPE_MESSAGE, label=F.LABEL_REPEATED, type_name=".test.kinds.Outer.Inner")
    outer.field.add(name="group", number=502, type=F.TYPE_GROUP, label=F.LABEL_REPEATED, type_name=".test.kinds.Outer.Group")
    outer.field.add(name="nan", number=503, type=F.TYPE_FLOAT, label=F.LABEL_OPTIONAL, default_value="nan")
    outer.field.add(name="inf", number=504, type=F.TYPE_DOUBLE, label=F.LABEL_OPTIONAL, default_value="-inf")
    other = descriptor_pb2.FileDescriptorProto(name="plain.proto", syntax="proto3")
    other.message_type.add(name="Plain").field.add(name="numbers", number=1, type=F.TYPE_INT32, label=F.LABEL_REPEATED)
    return file, other


file, other = describe()
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
pool.Add(other)
Outer = message_factory.GetMessageClass(pool.FindMessageTypeByName("test.kinds.Outer"))
ATTRS = {"message_type": "test.kinds.Outer"}


def described(attrs, names):
    """The attributes with a descriptor of the fields asked for, and of a few others."""
    if "descriptor_source" in attrs:
        return attrs
    small = descriptor_pb2.FileDescriptorProto()
    small.CopyFrom(file)
    fields = [f for f in small.message_type[0].field if f.name in names or f.number in (1, 4, 7)]
    del small.message_type[0].field[:]
    small.message_type[0].field.extend(fields)
    kept = descriptor_pb2.FileDescriptorSet(file=[other, small])
    return dict(attrs, descriptor_source=b"bytes://" + kept.SerializeToString())


def texts(items):
    return (np.array(items, object), tf.string)


def decode(messages, names, types, attrs=None, **more):
    cases.add("DecodeProtoV2", {"bytes": texts(messages)},
              dict(described(attrs or ATTRS, names), field_names=names, output_types=types), **more)


def sample(name, n):
    """The n-th of some values of a type."""
    if name in ("string", "bytes"):
        return [b"", b"abc", b"x" * 200, b"q"][n % 4] if name == "bytes" else ["", "abc", "\u20ac" * 70, "q"][n % 4]
    if name == "enum":
        return (4, -3)[n % 2]
    if name == "bool":
        return bool(n % 2)
    if name in ("double", "float"):
        return [0.1, -2.5, 3e30, 0.0][n % 4]
    bits = 64 if "64" in name else 32
    low = 0 if name.startswith(("u", "fixed")) else -2**(bits - 1)
    return [low, low + 2**bits - 1, 0, 5][n % 4]


def filled(counts):
    """A message with counts[0], counts[1] ... values in its fields, round and round."""
    message = Outer()
    for i, field in enumerate(Outer.DESCRIPTOR.fields):
        name, n = field.name.split("_")[0], counts[i % len(counts)]
        if name not in TYPES or n == 0:
            continue
        if field.label == field.LABEL_REPEATED:
            getattr(message, field.name).extend([sample(name, k) for k in range(n)])
        else:
            setattr(message, field.name, sample(name, n))
    return message


messages = [filled(c).SerializeToString() for c in ([0], [1], [1, 2, 3], [0, 3, 1, 0, 5], [4])]
for name, (kind, dtypes, _) in TYPES.items():
    manners = ("one", "defaulted", "many") + (("packed",) if name not in ("string", "bytes") else ())
    names = ["%s_%s" % (name, manner) for manner in manners]
    for dtype in dtypes:
        decode(messages, names, [dtype] * len(names), name="%s as %s" % (name, dtype.name))
everything = [f.name for f in Outer.DESCRIPTOR.fields][:10:-1]
decode(np.array(messages[:4], object).reshape(2, 2), everything,
       [TYPES[n.split("_")[0]][1][0] if n.split("_")[0] in TYPES else {"nan": tf.float32, "inf": tf.float64}.get(n, tf.string)
        for n in everything], name="all fields")
decode(messages[2], ["int32_many"], [tf.int32], name="scalar")
decode([b""], ["nan", "inf", "inner_one", "group"], [tf.float32, tf.float64, tf.string, tf.string], name="defaults")

nested = Outer()
nested.inner_one.number = 7
for k in range(3):
    nested.inner_many.add().number = k - 1
    nested.group.add(number=k)
nested.Extensions[pool.FindExtensionByName("test.kinds.more")].extend([5, -6])
decode([nested.SerializeToString(), b""], ["inner_many", "inner_one", "group", "test.kinds.more"],
       [tf.string, tf.string, tf.string, tf.int64], name="nested")
decode([nested.inner_one.SerializeToString()], ["number", "deep"], [tf.int32, tf.int32],
       dict(ATTRS, message_type="test.kinds.Outer.Inner"), name="a nested type")
decode([b"\x08\x01\x0a\x02\x03\x04"], ["numbers"], [tf.int32], dict(ATTRS, message_type="Plain"), name="no package")

numbers = {f.name: f.number for f in Outer.DESCRIPTOR.fields}


def tag(name, wire):
    value, out = numbers.get(name, name) << 3 | wire, b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


M, P, O, S, G = "int32_many", "int32_packed", "int32_defaulted", "string_many", "group"
asked = ([O, M, P, S, G], [tf.int32, tf.int64, tf.int64, tf.string, tf.string])
MINUS = b"\xff" * 9 + b"\x01"
good = {
    "packed and not": tag(M, 2) + b"\x0b\x01" + MINUS + tag(M, 0) + MINUS + tag(M, 2) + b"\x01\x05",
    "interleaved": tag(M, 0) + b"\x01" + tag(S, 2) + b"\x01a" + tag(M, 0) + b"\x02" + tag(O, 0) + b"\x03" + tag(S, 2) + b"\x00",
    "another wire type": tag(M, 5) + b"abcd" + tag(O, 1) + b"abcdefgh" + tag(S, 0) + b"\x01" + tag(M, 0) + b"\x09",
    "the last one counts": tag(O, 0) + b"\x01" + tag(O, 0) + b"\x02",
    "one from a packed block": tag(O, 2) + b"\x02\x01\x02",
    "an empty packed block first": tag(M, 2) + b"\x00" + tag(M, 0) + b"\x01",
    "unknown fields": tag(900, 0) + MINUS + tag(901, 1) + b"abcdefgh" + tag(902, 2) + b"\x02ab" + tag(903, 5) + b"abcd" + tag(M, 0) + b"\x01",
    "unknown groups": tag(900, 3) + tag(901, 3) + b"\x08\x01" + tag(901, 4) + tag(900, 4) + tag(M, 0) + b"\x01",
    "a group": tag(G, 3) + b"\x08\x05" + tag(7, 3) + tag(7, 4) + tag(G, 4) + tag(G, 3) + tag(G, 4),
    "wide varints": tag(M, 0) + b"\x81\x82\x83\x84\x85\x86\x87\x08",
    "99 groups": b"".join(tag(900, 3) for _ in range(99)) + b"".join(tag(900, 4) for _ in range(99)),
}
for name, message in good.items():
    decode([message, b""], *asked, name=name)
bad = {
    "cut off in a tag": tag(S, 2)[:1], "cut off in a varint": tag(M, 0) + b"\x80", "eleven bytes": tag(M, 0) + b"\x80" * 10 + b"\x01",
    "cut off in a text": tag(S, 2) + b"\x05abc", "cut off in a length": tag(S, 2) + b"\x80", "cut off in a block": tag(M, 2) + b"\x02\x01",
    "a block of half a varint": tag(M, 2) + b"\x02\x01\x80", "tag 0": tag(M, 0) + b"\x01\x00", "field 0": b"\x02\x00",
    "wire type 6": tag(M, 6) + b"\x01", "wire type 7": tag(900, 7), "the end of no group": tag(900, 4),
    "the end of another group": tag(900, 3) + tag(901, 4), "a group without end": tag(G, 3) + b"\x08\x01",
    "a group in a block": tag(G, 2) + b"\x02\x08\x01", "a packed block behind the last": tag(M, 0) + b"\x01" + tag(M, 2) + b"\x00",
    "a block for one that is there": tag(O, 0) + b"\x01" + tag(O, 2) + b"\x01\x02",
    "too many groups": b"".join(tag(900, 3) for _ in range(200)) + b"".join(tag(900, 4) for _ in range(200)),
    "fixed, cut off": tag("double_packed", 2) + b"\x09123456789", "an unknown one, cut off": tag(900, 1) + b"abc",
}
for name, message in bad.items():
    decode([b"", message], asked[0] + ["double_packed"], asked[1] + [tf.float64], name=name, refuse=True)
decode(np.zeros(0, object), [M], [tf.int32], name="no messages", refuse=True)
decode([b""], ["nothing"], [tf.int32], name="no such field", refuse=True)
decode([b""], [M], [tf.float32], name="another type", refuse=True)
decode([b""], [M], [tf.int32], dict(ATTRS, message_type="test.kinds.Nothing"), name="no such message", refuse=True)
decode([b""], [M], [tf.int32], dict(ATTRS, message_type="test.kinds.Side"), name="an enum", refuse=True)
decode([b""], [M], [tf.int32], dict(ATTRS, message_type="kinds.Outer"), name="half a name", refuse=True)
decode([b""], [M], [tf.int32], dict(ATTRS, descriptor_source=b"bytes://\x0a\x05abc"), name="a broken descriptor", refuse=True)

LOCAL = "local://"
example = tf.train.Example()
example.features.feature["a"].int64_list.value.extend([1, -2, 3])
lists = tf.train.SequenceExample()
lists.feature_lists.feature_list["b"].feature.add().float_list.value.append(0.5)
local = {
    "Example": (example, ["features"], [tf.string]), "Features": (example.features, ["feature"], [tf.string]),
    "Feature": (example.features.feature["a"], ["bytes_list", "float_list", "int64_list"], [tf.string] * 3),
    "Int64List": (example.features.feature["a"].int64_list, ["value"], [tf.int64]),
    "BytesList": (tf.train.BytesList(value=[b"x", b""]), ["value"], [tf.string]),
    "FloatList": (tf.train.FloatList(value=[1, 2]), ["value"], [tf.float32]),
    "SequenceExample": (lists, ["context", "feature_lists"], [tf.string] * 2),
    "FeatureLists": (lists.feature_lists, ["feature_list"], [tf.string]),
    "FeatureList": (lists.feature_lists.feature_list["b"], ["feature"], [tf.string]),
}
for name, (message, names, types) in local.items():
    for source in ("", LOCAL):
        decode([message.SerializeToString(), b""], names, types,
               {"message_type": "tensorflow." + name, "descriptor_source": source}, name=name)

# What TensorFlow Ranking's ExampleListWithContext is read with.
serving = descriptor_pb2.FileDescriptorProto(name="input.proto", package="tensorflow.serving", syntax="proto3")
for name in ("Example", "Features", "Feature"):
    serving.message_type.add(name=name)
elwc = serving.message_type.add(name="ExampleListWithContext")
elwc.field.add(name="examples", number=1, type=F.TYPE_MESSAGE, label=F.LABEL_REPEATED, type_name=".tensorflow.serving.Example")
elwc.field.add(name="context", number=2, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".tensorflow.serving.Example")
ranked = b"\x0a\x05\x0a\x03abc" + b"\x0a\x00" + b"\x12\x04\x0a\x02xy"
decode([ranked, b"", ranked[:7]], ["examples", "context"], [tf.string] * 2,
       {"message_type": "tensorflow.serving.ExampleListWithContext",
        "descriptor_source": b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[serving]).SerializeToString()}, name="ranking")
cases.write()
