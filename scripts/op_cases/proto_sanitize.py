"""DecodeProtoV2 with `sanitize`: what a parser of the whole message keeps of it."""
import os

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2

from op_cases import Cases, decodes, texts
from proto_wire import field, sized, spoiled, varint

rng = np.random.default_rng(77)
cases = Cases("proto_sanitize")
F = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": tf.float64, "float": tf.float32, "int64": tf.int64, "uint64": tf.uint64, "int32": tf.int32, "fixed64": tf.uint64,
         "fixed32": tf.uint32, "bool": tf.bool, "string": tf.string, "bytes": tf.string, "uint32": tf.uint32, "enum": tf.int32,
         "sfixed32": tf.int32, "sfixed64": tf.int64, "sint32": tf.int32, "sint64": tf.int64, "message": tf.string, "group": tf.string}
WIRE = {"double": 1, "fixed64": 1, "sfixed64": 1, "float": 5, "fixed32": 5, "sfixed32": 5, "string": 2, "bytes": 2, "message": 2,
        "group": 3}


class Type:
    """A message type with its fields in a mixed order, and messages of it."""

    def __init__(self, file, name):
        self.message, self.fields, self.package = file.message_type.add(name=name), [], file.package

    def add(self, name, number, kind, label="OPTIONAL", of=None, packed=None, oneof=None):
        type_name = {"enum": "Side", "message": of or "Outer", "group": of}.get(kind)
        field = self.message.field.add(name=name, number=number, type=getattr(F, "TYPE_" + kind.upper()),
                                       label=getattr(F, "LABEL_" + label))
        if type_name:
            field.type_name = ".%s.%s" % (self.package, type_name)
        if packed is not None:
            field.options.packed = packed
        if oneof is not None:
            field.oneof_index = oneof
        self.fields.append((name, number, kind))
        return field


def describe(syntax):
    file = descriptor_pb2.FileDescriptorProto(name=syntax + ".proto", package="test." + syntax, syntax=syntax)
    side = file.enum_type.add(name="Side")
    for name, number in (("ZERO", 0), ("LAST", -3), ("FOUR", 4)):
        side.value.add(name=name, number=number)
    outer, inner = Type(file, "Outer"), Type(file, "Inner")
    for name, number in (("first", 0), ("second", 1)):
        outer.message.oneof_decl.add(name=name)
    number = 100
    for kind in KINDS:
        if kind in ("message", "group"):
            continue
        number -= 3
        outer.add("one_" + kind, number, kind)
        outer.add("many_" + kind, number + 1, kind, "REPEATED")
        if kind not in ("string", "bytes"):
            outer.add("packed_" + kind, number + 2, kind, "REPEATED", packed=syntax == "proto2")
    outer.add("inner", 7, "message", of="Inner")
    outer.add("inners", 300, "message", "REPEATED", of="Inner")
    outer.add("again", 6, "message")
    outer.add("a_number", 20, "int32", oneof=0)
    outer.add("a_text", 21, "string", oneof=0)
    outer.add("a_message", 22, "message", of="Inner", oneof=0)
    outer.add("b_side", 23, "enum", oneof=1)
    outer.add("b_message", 24, "message", of="Inner", oneof=1)
    inner.add("number", 2, "int32", "OPTIONAL" if syntax == "proto3" else "REQUIRED")
    inner.add("side", 1, "enum")
    inner.add("texts", 5, "string", "REPEATED")
    inner.add("sides", 3, "enum", "REPEATED")
    entry = outer.message.nested_type.add(name="MapEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=F.TYPE_INT64, label=F.LABEL_OPTIONAL)
    outer.add("map", 30, "message", "REPEATED", of="Outer.MapEntry")
    if syntax == "proto2":
        group = Type(file, "Group")
        group.add("number", 2, "int32")
        group.add("numbers", 1, "int32", "REPEATED")
        outer.message.nested_type.add().CopyFrom(group.message)
        del file.message_type[-1]
        outer.add("group", 31, "group", of="Outer.Group")
        outer.add("groups", 32, "group", "REPEATED", of="Outer.Group")
    else:
        outer.message.oneof_decl.add(name="_explicit")
        outer.add("explicit", 33, "int32", oneof=2).proto3_optional = True
    return outer, inner, descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def number(kind):
    return int(rng.choice([0, 1, 4, -3, 9, 300, -1, 1 << 31, -(1 << 31), 1 << 32, (1 << 40) + 5, -(1 << 63), int(rng.integers(0, 1 << 62))]))


def value(field, depth):
    """A value as it stands behind its tag."""
    _, at, kind = field
    wire = WIRE.get(kind, 0)
    if wire == 0:
        return varint(number(kind), int(rng.random() < 0.1))
    if wire in (1, 5):
        size = 8 if wire == 1 else 4
        return bytes(size) if rng.random() < 0.3 else bytes(rng.integers(0, 256, size, dtype=np.uint8))
    if kind == "message":
        body = message(INNER if field[0] != "again" else OUTER, depth + 1) if field[0] != "map" else entry()
    elif kind == "group":
        return b"".join(varint(2 << 3) + varint(number(kind)) for _ in range(rng.integers(0, 3))) + varint(at << 3 | 4)
    else:
        body = [b"", b"a", b"text", "\u00e4\u20ac".encode(), b"\xff\x80" if rng.random() < BAD_TEXTS else b"x"][rng.integers(5)]
    return sized(body)


def entry():
    return b"".join([b"\x0a\x01k", b"\x10\x05", b"\x0a\x00", b"\x18\x01"][i] for i in rng.permutation(4)[:rng.integers(0, 4)])


def packed(field):
    body = b"".join(value(field, 9) for _ in range(rng.integers(0, 4)))
    return sized(body)


def unknown():
    at = int(rng.choice([1000, 1, 2 << 20, 999]))
    return [b"\xdd\x9c\xff\xbd\x15abcd", varint(at << 3) + varint(number(""), 1), varint(at << 3 | 2) + b"\x02ab", varint(at << 3 | 5) + b"abcd",
            varint(at << 3 | 1) + b"abcdefgh", varint(at << 3 | 3) + varint(8) + varint(5, 2) + varint(at << 3 | 4)][rng.integers(6)]


def message(of, depth=0):
    parts = []
    for _ in range(rng.integers(0, 7 if depth else 30)):
        field = of.fields[rng.integers(len(of.fields))]
        wire = WIRE.get(field[2], 0)
        if field[2] == "message" and depth > 2:
            continue
        if rng.random() < 0.06:
            parts.append(unknown())
        elif rng.random() < 0.3 and wire not in (2, 3):
            parts.append(varint(field[1] << 3 | 2) + packed(field))
        else:
            parts.append(varint(field[1] << 3 | wire, int(rng.random() < 0.03)) + value(field, depth))
    if of is INNER and rng.random() < 0.97:
        parts.append(b"\x10" + varint(number("int32")))
    return b"".join(parts)


COUNT = int(os.environ.get("SP_SANITIZE_MESSAGES", "60"))
for syntax in ("proto2", "proto3"):
    OUTER, INNER, source = describe(syntax)
    BAD_TEXTS = 0.3 if syntax == "proto2" else 0.03
    attrs = {"message_type": "test.%s.Outer" % syntax, "field_names": [f[0] for f in OUTER.fields],
             "output_types": [KINDS[f[2]] for f in OUTER.fields], "descriptor_source": b"bytes://" + source, "sanitize": True}
    made = [b""] + [message(OUTER) for _ in range(COUNT)]
    made += [spoiled(m, rng) for m in made]
    made += [made[i] + made[i + 1] for i in range(0, COUNT, 3)]
    good = [m for m in made if decodes(m, attrs)]
    print(syntax, len(good), "of", len(made))
    for start in range(0, len(good), 40):
        cases.add("DecodeProtoV2", {"bytes": texts(good[start:start + 40])}, attrs, name="%s %d" % (syntax, start))
    bad = [m for m in made if not decodes(m, attrs)]
    for number_of, m in enumerate(bad[:max(10, COUNT // 4)]):
        cases.add("DecodeProtoV2", {"bytes": texts([b"", m])}, attrs, name="%s bad %d" % (syntax, number_of), refuse=True)
    for depth, refuse in ((100, False), (101, True), (5000, True)):
        deep = b""
        for _ in range(depth):
            deep = varint(6 << 3 | 2) + sized(deep)
        cases.add("DecodeProtoV2", {"bytes": texts([deep])}, dict(attrs, field_names=["again"], output_types=[tf.string]),
                  name="%s %d deep" % (syntax, depth), refuse=refuse)
        cases.add("DecodeProtoV2", {"bytes": texts([b"\xc3\x3e" * depth + b"\xc4\x3e" * depth])}, attrs,
                  name="%s %d groups deep" % (syntax, depth), refuse=refuse)


def few_cases(name, file, names, types, messages):
    """Those that TensorFlow takes, and each of the others."""
    found = {"message_type": "m.M", "field_names": names, "output_types": types, "sanitize": True,
             "descriptor_source": b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()}
    taken = [m for m in messages if decodes(m, found)]
    if taken:
        cases.add("DecodeProtoV2", {"bytes": texts(taken)}, found, name=name)
    for m in messages:
        if m not in taken:
            cases.add("DecodeProtoV2", {"bytes": texts([m])}, found, name="%s %s" % (name, m.hex()), refuse=True)


def extended(syntax="proto2"):
    """A type with extensions, some of which nobody describes, and a map of messages that require something."""
    file = descriptor_pb2.FileDescriptorProto(name="m.proto", package="m", syntax=syntax)
    file.enum_type.add(name="Side").value.add(name="ONLY", number=4)
    outer, inner = Type(file, "M"), Type(file, "Inner")
    outer.add("first", 5, "int32")
    outer.add("last", 3000, "int32")
    inner.add("number", 1, "int32", "REQUIRED")
    entry = outer.message.nested_type.add(name="MapEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".m.Inner")
    outer.add("map", 6, "message", "REPEATED", of="M.MapEntry")
    outer.message.extension_range.add(start=100, end=2000)
    for at, (name, kind, label, scope) in enumerate((("number", "sint32", "OPTIONAL", file), ("numbers", "int64", "REPEATED", inner.message),
                                                     ("side", "enum", "REPEATED", file), ("inner", "message", "OPTIONAL", outer.message),
                                                     ("text", "string", "OPTIONAL", inner.message))):
        field = scope.extension.add(name=name, number=110 - at, type=getattr(F, "TYPE_" + kind.upper()), label=getattr(F, "LABEL_" + label), extendee=".m.M")
        if kind in ("enum", "message"):
            field.type_name = ".m.Side" if kind == "enum" else ".m.Inner"
        if name == "numbers":
            field.options.packed = True
    return file


NUMBER, NUMBERS, SIDE, INNER_AT, TEXT = 110, 109, 108, 107, 106
extensions = [field(NUMBER, 0, b"\x05") + field(5, 0, b"\x01"), field(NUMBER, 0, b"\x05") + field(NUMBER, 0, b"\x06"), field(NUMBER, 0, b"\x00"),
              field(NUMBERS, 0, b"\x01") + field(1500, 0, b"\x02") + field(NUMBERS, 2, b"\x02\x03\x04"), field(NUMBERS, 2, b"\x00"),
              field(SIDE, 0, b"\x04") + field(SIDE, 0, b"\x05") + field(SIDE, 2, b"\x02\x04\x06"), field(INNER_AT, 2, b"\x00"),
              field(INNER_AT, 2, b"\x02\x08\x01") + field(3000, 0, b"\x07") + field(INNER_AT, 2, b"\x02\x08\x02"), field(TEXT, 2, b"\x02\xff\xfe"),
              field(1999, 2, b"\x01a") + field(100, 5, b"abcd") + field(5, 0, b"\x03"), field(TEXT, 0, b"\x01") + field(NUMBER, 2, b"\x01\x01"), field(INNER_AT, 2, b"\x05a")]
few_cases("extensions", extended(), ["first", "last", "m.number", "m.Inner.numbers", "m.side", "m.M.inner", "m.Inner.text"],
          [tf.int32, tf.int32, tf.int32, tf.int64, tf.int32, tf.string, tf.string], extensions)
few_cases("a map's absent value", extended(), ["map"], [tf.string], [b"\x32\x00", b"\x32\x02\x08\x01", b"\x32\x02\x12\x00", b"\x32\x04\x12\x02\x08\x01"])
few_cases("an edition", extended("editions"), ["first"], [tf.int32], [b""])
for name, data in (("Feature", b"\x0a\x00\x1a\x04\x0a\x02\x01\x02"), ("Features", b"\x0a\x00\x0a\x03\x0a\x01a"), ("Feature", b"\x1a\x02\x08\x01")):
    cases.add("DecodeProtoV2", {"bytes": texts([data])}, {"message_type": "tensorflow." + name, "field_names": ["feature" if name == "Features" else "int64_list"],
                                                         "output_types": [tf.string], "sanitize": True}, name="local " + name)
cases.write()
