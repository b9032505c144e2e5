"""DecodeProtoV2 of message sets, whose extensions are written as items: in texts, and sanitized."""
import os

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2

from op_cases import Cases, decodes, texts
from proto_wire import field, sized, spoiled, varint

rng = np.random.default_rng(1209)
cases = Cases("proto_message_set")
F = descriptor_pb2.FieldDescriptorProto
LARGE = (1 << 31) - 2


def add(scope, name, number, kind, label="OPTIONAL", of=None, extendee=None):
    field = (scope.extension if extendee else scope.field).add(name=name, number=number, type=getattr(F, "TYPE_" + kind.upper()), label=getattr(F, "LABEL_" + label))
    if of:
        field.type_name = of
    if extendee:
        field.extendee = extendee


def describe(syntax="proto2"):
    """M holds a set, a set of which may hold an Inner by several numbers, an M and a set again."""
    file = descriptor_pb2.FileDescriptorProto(name="s.proto", package="s", syntax=syntax)
    of = {name: file.message_type.add(name=name) for name in ("M", "Set", "Inner", "Own")}
    of["Set"].options.message_set_wire_format = True
    of["Set"].extension_range.add(start=4, end=(1 << 31) - 1)
    of["Set"].reserved_name.append("gone")
    add(of["M"], "set", 1, "message", of=".s.Set")
    add(of["M"], "sets", 2, "message", "REPEATED", of=".s.Set")
    add(of["M"], "number", 3, "int32")
    add(of["Inner"], "number", 2, "int32", "REQUIRED")
    add(of["Inner"], "texts", 5, "string", "REPEATED")
    add(of["Own"], "inner", 1, "message", of=".s.Inner")
    for scope, name, number, kind in ((file, "low", 4, "Inner"), (file, "high", LARGE, "Inner"), (file, "whole", 1000, "M"), (of["Inner"], "again", 77, "Set"),
                                      (of["Own"], "own", 50, "Own"), (of["Own"], "earlier", 49, "Own"), (of["Own"], "inner_of", 51, "Inner")):
        add(scope, name, number, "message", of=".s." + kind, extendee=".s.Set")
    return file


def attrs_of(file, **more):
    source = b"bytes://" + descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    return {"message_type": "s.M", "field_names": ["set", "sets", "number"], "output_types": [tf.string, tf.string, tf.int32], "descriptor_source": source, **more}


ATTRS = attrs_of(describe(), sanitize=True)
OF_SET = dict(ATTRS, message_type="s.Set", field_names=["s.low", "s.Own.own", "s.high"], output_types=[tf.string] * 3)
TEXT = attrs_of(describe(), message_format="text")


def judge(messages, attrs, name, most=1 << 30):
    good = [m for m in messages if decodes(m, attrs)]
    bad = [m for m in messages if m not in good]
    print(name, len(good), "good", len(bad), "bad")
    for start in range(0, len(good), 50):
        cases.add("DecodeProtoV2", {"bytes": texts(good[start:start + 50])}, attrs, name="%s %d" % (name, start))
    for m in bad[:most]:
        cases.add("DecodeProtoV2", {"bytes": texts([m])}, attrs, name="%s %s" % (name, m[:30].hex()), refuse=True)


def number(at, longer=0):
    return b"\x10" + varint(at, longer)


def body(data):
    return b"\x1a" + sized(data)


def item(*parts):
    return b"\x0b" + b"".join(parts) + b"\x0c"


def in_set(data):
    return field(1, 2, sized(data))


GOOD = b"\x10\x05"  # an Inner
SETS = [b"", item(), item(number(4)), item(body(GOOD)), item(number(4), body(GOOD)), item(body(GOOD), number(4)), item(number(4), body(b"")), item(body(b""), number(4)),
        item(number(4), body(b"\xff")), item(body(b"\xff"), number(4)), item(number(5), body(b"\xff")), item(body(b"\xff"), number(5)), item(number(5), body(b"")),
        item(number(0), body(b"a")), item(body(b"a"), number(0)), item(number(1), body(b"a")), item(number(3), body(b"a")), item(number(LARGE), body(GOOD)),
        item(body(GOOD), number(LARGE)), item(number(LARGE + 1), body(b"a")), item(number(1 << 31), body(b"a")), item(number((1 << 32) - 1), body(b"a")),
        item(body(b"a"), number((1 << 32) - 1)), item(number((1 << 32) + 4), body(GOOD)), item(number((1 << 63) + 4), body(GOOD)), item(number(4, 3), body(GOOD)),
        item(number(4, 9), body(GOOD)), item(b"\x10" + b"\xff" * 10, body(GOOD)), item(number(4), number(LARGE), body(GOOD)), item(number(4), body(GOOD), number(LARGE)),
        item(number(4), body(GOOD), body(b"\xff")), item(body(GOOD), body(b"\xff"), number(4)), item(body(GOOD), number(4), number(7), body(b"x")),
        item(number(4), b"\x20\x07", body(GOOD)), item(b"\x20\x07" + b"\x2a\x01a" + b"\x35abcd" + b"\x39abcdefgh" + b"\x43\x08\x01\x44", number(4), body(GOOD)),
        item(b"\x90\x00\x05", body(GOOD)), item(number(4), b"\x9a\x00\x00", body(GOOD)), item(b"\x12\x01a", number(4), body(GOOD)), item(b"\x18\x01", number(4), body(GOOD)),
        item(b"\x02\x00"), item(b"\x00"), item(b"\x0f"), item(b"\x14"), item(b"\x10"), item(b"\x1a\x05a"), b"\x0b", b"\x0b\x10\x04", b"\x0b\x14", b"\x0c", b"\x0b\x8c\x00", b"\x8b\x00\x0c",
        field(4, 2, sized(GOOD)), field(4, 2, b"\x00"), field(4, 0, b"\x01"), field(4, 3, field(4, 4, b"")), field(7, 0, b"\x01"), field(7, 2, b"\x01a"), field(7, 5, b"abcd"), field(7, 3, b"\x08\x01" + field(7, 4, b"")),
        field(1, 0, b"\x01"), field(1, 2, b"\x01a"), field(3, 2, b"\x01a"), field(1, 5, b"abc"), field((1 << 29) - 1, 2, b"\x01z"),
        item(number(4), body(GOOD)) + item(number(4), body(b"\x2a\x01a\x10\x07")), item(number(4), body(b"\x2a\x01a")) + item(body(GOOD), number(4)), item(number(4), body(b"")) + field(4, 2, sized(GOOD)),
        item(number(5), body(b"a")) + item(number(4), body(GOOD)) + item(number(5), body(b"b")), item(number(LARGE), body(GOOD)) + item(number(1000), body(b"\x18\x01")) + item(number(50), body(b"")),
        item(number(1000), body(in_set(item(number(4), body(GOOD))))), item(number(77), body(item(body(b"\x2a\x01z\x10\x01"), number(4)) + b"\x38\x01")), item(number(77), body(item(number(4), body(b"")))),
        item(number(50), body(b"\x0a\x02\x10\x01")), item(number(50), body(b"\x0a\x00")), item(number(51), body(GOOD + b"\x2a\x02\xff\xfe" + b"\x48\x01"))]
judge([in_set(s) for s in SETS], ATTRS, "set")
judge([in_set(a) + field(2, 2, sized(b)) + in_set(a) + field(2, 2, sized(a)) for a, b in zip(SETS, SETS[3:] + SETS[:3])], ATTRS, "sets", most=10)
judge(SETS, OF_SET, "the whole", most=10)
judge(SETS, dict(OF_SET, sanitize=False), "as it is", most=10)

COUNT = int(os.environ.get("SP_MESSAGE_SETS", "150"))


def some(depth=0):
    out = b""
    for _ in range(rng.integers(0, 5)):
        at = int(rng.choice([4, 5, LARGE, 1000, 77, 50, 51, 49, 0, 1 << 31]))
        data = {4: GOOD, LARGE: GOOD, 51: GOOD + b"\x2a\x01q", 50: b"\x0a\x02" + GOOD, 49: b""}.get(at, b"any") if rng.random() < 0.9 else b""
        if at in (77, 1000):
            data = some(depth + 1) if depth < 3 else b""
            data = in_set(data) if at == 1000 else data
        parts = [number(at), body(data)] + [b"\x20\x05", b"\x43\x44", number(9), body(b"9")][:rng.integers(0, 5)] * int(rng.random() < 0.2)
        out += item(*[parts[i] for i in rng.permutation(len(parts))]) if rng.random() < 0.9 or at > 1 << 29 or at == 0 else field(at, 2, sized(data))
    return out


made = [in_set(some()) + field(2, 2, sized(some())) for _ in range(COUNT)]
judge(made, ATTRS, "chance", most=20)
judge([in_set(spoiled(some(), rng)) for _ in range(COUNT)], ATTRS, "spoiled", most=40)
for levels in (48, 49, 50, 51):
    for parts in (lambda data: item(number(77), body(data)), lambda data: item(body(data), number(77))):
        for more in (0, 48, 49, 50):
            deep = b""
            for _ in range(levels):
                deep = parts(deep)
            for _ in range(more):
                deep = item(body(deep), number(77))
            judge([in_set(deep)], ATTRS, "%d and %d deep" % (levels, more))

NAMES = ["s.low", "s.high", "s.whole", "s.Inner.again", "s.Own.own", "s.Own.earlier", "s.Own.inner_of", "s.Own", "s.Inner", "s.M", "s.Set", "s.nothing", "low", ".s.low"]
WHOLES = ["set {}", "set <>", "set {gone: 1}", "set {low {number: 1}}", "set {4 {number: 1}}", "set {gone {x: [1, {}]} [s.low] {number: 3}}", "number: 1 set {[s.low] {number: 2}, [s.high]: <number: 3>; }",
          "set {[s.low] {number: 1} [s.low] {number: 1}}", "set {[s.high] {number: 1} [s.low] {number: 2} [s.Own] {inner {number: 3}}}", "set {[s.Own] {} [s.Own.own] {}}", "set {[s.Own] {} [s.Own.earlier] {}}",
          "sets {[s.low] {number: 1}} sets {} sets: [{[s.high] {number: 2 texts: ['a', 'b']}}, {}]", "set {[s.whole] {set {[s.Inner.again] {[s.low] {number: 1}}}}}", "set {[s.low] {texts: 'a'}}", "set {[s.low]: 1}",
          "set {[s.low]: [{number: 1}]}", "set {[s.low] {number: 1}", "set {[s.low] }", "set {[s.low {number: 1}}", "set {[s . low] {number: 1}}", "set {[type.googleapis.com/s.Inner] {number: 1}}", "set {[s.Own.inner_of] {number: 128}}",
          "set {[s.low] {number: 1}} number: 5 number: 6", "[s.low] {number: 1}", "set {[s.Inner.again] {} [s.Inner.again] {}}"]
judge([t.encode() for t in WHOLES] + [("set {[%s] %s}" % (name, value)).encode() for name in NAMES for value in ("{}", "{number: 1}", "{inner {number: 1}}")], TEXT, "text")
judge([t.encode() for t in ("", "[s.low] {number: 1}", "[s.Own] <>", "gone: 1", "x: 1")], dict(OF_SET, sanitize=False, message_format="text"), "a text of the whole")

# Files that protobuf does not take.
bad = {name: describe() for name in ("a field", "a number", "many", "a group", "too large", "an edition")}
bad["proto3"] = describe("proto3")
for message in bad["proto3"].message_type:
    for f in message.field:
        f.label = F.LABEL_OPTIONAL if f.label == F.LABEL_REQUIRED else f.label
add(bad["a field"].message_type[1], "x", 1, "int32")
add(bad["a number"], "x", 9, "int32", extendee=".s.Set")
add(bad["many"], "x", 9, "message", "REPEATED", of=".s.Inner", extendee=".s.Set")
add(bad["a group"].message_type[3], "x", 9, "group", of=".s.Inner", extendee=".s.Set")
bad["too large"].message_type[0].extension_range.add(start=100, end=1 << 29)
add(bad["too large"], "x", 1 << 29, "int32", extendee=".s.M")
bad["an edition"].syntax = "editions"
for name, file in bad.items():
    for more in ({"sanitize": True}, {"message_format": "text"}):
        judge([b""], attrs_of(file, **more), name)
cases.write()
