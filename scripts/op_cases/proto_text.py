"""DecodeProtoV2 of messages in protobuf's text format."""
import os

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2

from op_cases import Cases, decodes, texts

rng = np.random.default_rng(78)
cases = Cases("proto_text")
F = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": tf.float64, "float": tf.float32, "int64": tf.int64, "uint64": tf.uint64, "int32": tf.int32, "fixed64": tf.uint64,
         "fixed32": tf.uint32, "bool": tf.bool, "string": tf.string, "bytes": tf.string, "uint32": tf.uint32, "enum": tf.int32,
         "sfixed32": tf.int32, "sfixed64": tf.int64, "sint32": tf.int32, "sint64": tf.int64, "message": tf.string, "group": tf.string}


def add(message, name, number, kind, label="OPTIONAL", of=None, packed=None, oneof=None):
    field = message.field.add(name=name, number=number, type=getattr(F, "TYPE_" + kind.upper()), label=getattr(F, "LABEL_" + label))
    if of is not None or kind == "enum":
        field.type_name = of or ".t.Side"
    if packed is not None:
        field.options.packed = packed
    if oneof is not None:
        field.oneof_index = oneof
    return field


def any_file():
    file = descriptor_pb2.FileDescriptorProto(name="any.proto", package="google.protobuf", syntax="proto3")
    message = file.message_type.add(name="Any")
    add(message, "type_url", 1, "string")
    add(message, "value", 2, "bytes")
    return file


def describe(syntax):
    """A message of every kind of field, in a mixed order of numbers."""
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", package="t", syntax=syntax, dependency=["any.proto"])
    side = file.enum_type.add(name="Side")
    for name, number in (("ZERO", 0), ("LAST", -3), ("FOUR", 4), ("inf", 7)):
        side.value.add(name=name, number=number)
    m, inner = file.message_type.add(name="M"), file.message_type.add(name="Inner")
    number = 100
    for kind in list(KINDS)[:-2]:
        number -= 3
        add(m, "one_" + kind, number, kind)
        add(m, "many_" + kind, number + 1, kind, "REPEATED", packed=None if number % 2 else False)
        if kind not in ("string", "bytes"):
            add(m, "packed_" + kind, number + 2, kind, "REPEATED", packed=True)
    add(m, "inner", 7, "message", of=".t.Inner")
    add(m, "inners", 300, "message", "REPEATED", of=".t.Inner")
    add(m, "again", 6, "message", of=".t.M")
    for name in ("first", "second"):
        m.oneof_decl.add(name=name)
    add(m, "a_number", 20, "int32", oneof=0)
    add(m, "a_text", 21, "string", oneof=0)
    add(m, "a_message", 22, "message", of=".t.Inner", oneof=0)
    add(m, "b_side", 23, "enum", oneof=1)
    add(m, "any", 24, "message", of=".google.protobuf.Any")
    add(m, "f", 25, "float")
    add(inner, "number", 2, "int32", "OPTIONAL" if syntax == "proto3" else "REQUIRED")
    add(inner, "side", 1, "enum")
    add(inner, "texts", 5, "string", "REPEATED")
    for name, at, value in (("map", 30, "int64"), ("sides", 31, "enum"), ("tree", 34, "message"), ("reals", 35, "float")):
        entry = m.nested_type.add(name=name.capitalize() + "Entry")
        entry.options.map_entry = True
        add(entry, "key", 1, "string" if name in ("map", "tree") else "sint32")
        add(entry, "value", 2, value, of=".t.Inner" if name == "tree" else None)
        add(m, name, at, "message", "REPEATED", of=".t.M." + entry.name)
    m.reserved_name.extend(["gone", "away"])
    if syntax == "proto2":
        group = m.nested_type.add(name="Group")
        add(group, "number", 2, "int32")
        add(group, "numbers", 1, "int32", "REPEATED")
        add(m, "group", 32, "group", of=".t.M.Group")
        add(m.nested_type.add(name="Many"), "x", 1, "int32")
        add(m, "many", 33, "group", "REPEATED", of=".t.M.Many")
        add(m.nested_type.add(name="Odd"), "x", 1, "int32")
        add(m, "other", 36, "group", of=".t.M.Odd")
        m.extension_range.add(start=1000, end=2000)
        for name, kind, label, of, scope in (("more", "sint64", "REPEATED", None, file), ("one", "string", "OPTIONAL", None, inner),
                                             ("flank", "enum", "OPTIONAL", ".t.Side", inner), ("inner", "message", "OPTIONAL", ".t.Inner", file),
                                             ("packed", "float", "REPEATED", None, m), ("Extra", "group", "OPTIONAL", ".t.M.Many", inner)):
            field = scope.extension.add(name=name, number=1000 + len(file.extension) + 10 * len(inner.extension) + 50 * len(m.extension),
                                        type=getattr(F, "TYPE_" + kind.upper()), label=getattr(F, "LABEL_" + label), extendee=".t.M")
            if of:
                field.type_name = of
            if name == "packed":
                field.options.packed = True
    else:
        m.oneof_decl.add(name="_explicit")
        add(m, "explicit", 33, "int32", oneof=2).proto3_optional = True
    return file


FILES = {syntax: describe(syntax) for syntax in ("proto2", "proto3")}
SETS = {syntax: descriptor_pb2.FileDescriptorSet(file=[any_file(), file]) for syntax, file in FILES.items()}
NAMES = {"double": "d", "int64": "l", "string": "s"}


def attrs_of(syntax):
    """All of the message's fields, and of its extensions."""
    fields = list(FILES[syntax].message_type[0].field)
    names, types = [f.name for f in fields], [KINDS[F.Type.Name(f.type)[5:].lower()] for f in fields]
    if syntax == "proto2":
        names += ["t.more", "t.Inner.one", "t.Inner.flank", "t.inner", "t.M.packed", "t.Inner.Extra"]
        types += [tf.int64, tf.string, tf.int32, tf.string, tf.float32, tf.string]
    return {"message_type": "t.M", "field_names": names, "output_types": types, "message_format": "text",
            "descriptor_source": b"bytes://" + SETS[syntax].SerializeToString()}


ATTRS = {syntax: attrs_of(syntax) for syntax in FILES}


def asked(attrs, names):
    types = dict(zip(attrs["field_names"], attrs["output_types"]))
    return dict(attrs, field_names=list(names), output_types=[types[n] for n in names])


def few(attrs, text):
    """Less asked for, and of the message's fields only those described whose names the text has."""
    attrs = asked(attrs, attrs["field_names"][:2])
    if "descriptor_source" not in attrs:
        return attrs
    kept = descriptor_pb2.FileDescriptorSet()
    kept.CopyFrom(SETS["proto2" if attrs["descriptor_source"] == ATTRS["proto2"]["descriptor_source"] else "proto3"])
    message = kept.file[1].message_type[0]
    fields = [f for f in message.field if f.name in attrs["field_names"] or f.HasField("oneof_index") or any(
        word.encode() in text.lower() for word in (f.name, f.type_name.split(".")[-1].lower()) if word)]
    nested = [n for n in message.nested_type if n.name.endswith("Many") or any(f.type_name.endswith("." + n.name) for f in fields)]
    del message.field[:], message.nested_type[:]
    message.field.extend(fields)
    message.nested_type.extend(nested)
    return dict(attrs, descriptor_source=b"bytes://" + kept.SerializeToString())


def judge(items, attrs, name, most=1 << 30):
    """Those that TensorFlow takes together, each of the others alone."""
    items = [t.encode() if isinstance(t, str) else t for t in items]
    good = [t for t in items if decodes(t, attrs)]
    bad = [t for t in items if t not in good]
    print(name, len(good), "good", len(bad), "bad")
    for start in range(0, len(good), 60):
        for first in range(0, len(attrs["field_names"]), 40):
            cases.add("DecodeProtoV2", {"bytes": texts(good[start:start + 60])}, asked(attrs, attrs["field_names"][first:first + 40]),
                      name="%s %d %d" % (name, start, first))
    for text in bad[::max(1, -(-len(bad) // most))] if most else []:
        cases.add("DecodeProtoV2", {"bytes": texts([text])}, few(attrs, text), name="%s: %s" % (name, text[:40].decode("latin-1")), refuse=True)


# ---------------------------------------------------------------- what a person would think of
NUMBERS = ["0", "1", "-1", "- 1", "--1", "+1", "00", "-0", "0x10", "0X1f", "0xg", "0x", "-0x80000000", "010", "-017", "08", "0x1.", "017.5",
           "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "0xffffffff", "037777777777",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
           "18446744073709551616", "0xffffffffffffffff", "0x10000000000000000", "01777777777777777777777", "02000000000000000000000",
           "99999999999999999999999", "0x00000000000000000000001", "1.5", "1.", ".5", "1e3", "1E+3", "1e-3", "1e", "1.5.", "1..5", "1f", "1.5F",
           "1e3f", "1ff", "1f2", "0f", "0.f", ".f", "1_", "1a", "\"1\"", "true", "inf", "-inf", "INF", "Infinity", "-infinity", "inff", "nan", "-nan",
           "NaN", "nanx", "-", "- inf", "-true", "0x1p3", "1e400", "-1e400", "1e-400", "1e99999999999999999999", "1e-99999999999999999999",
           "3.4028235e38", "3.4028235677973366e+38", "3.4028235677973367e38", "-3.4028236e38", "1e-46", "1.1754943508222875e-38",
           "1.1754943157898259e-38", "1.17549424e-38", "1.17549431e-38", "1.4e-45", "2.2250738585072011e-308", "5e-324", "0.1", "16777217", "9007199254740993",
           "0.1000000014901161193847656250000000000000000000000000000001", "1" + "0" * 400, "0." + "0" * 400 + "1", "1" * 400 + "e-390",
           "1.00000017881393432617187499", "1.00000017881393432617187500000000000000000000001", "'1'", "t", "[1]", "{}", "", "ZERO", "LAST", "Last", "four", "_", "5",
           "-3", "-4", "True", "TRUE", "f", "False", "tt", "1 2", "1,", "1;", "1,,", "1;,", ",", ";", ":1", "1#", "#c\n1", "01", "0x0", "2", "/", "."]
TEXTS = ['"abc"', "'abc'", '"a\'b"', "'a\"b'", '"a" "b"', "'a'\"b\"", '"a"\n#c\n"b"', '"a""b"', '"abc', '"abc\'', '"a\nb"', '"a\rb"', '"a\tb"', '""', "''", '"" ""',
         r'"\a\b\f\n\r\t\v\\\?\'\""', r'"\0"', r'"\7\77\377\400\777\1234\08"', r'"\8"', r'"\x1"', r'"\x41\xfF\x123"', r'"\x"', r'"\xg"', r'"\X41"',
         r'"\u00e4\u20ac\u0041"', r'"\u12"', r'"\u123g"', r'"\ud83d\ude00"', r'"\ud83d"', r'"\ude00"', r'"\ud83dx\ude00"', r'"\ud83d\u0041"',
         r'"\ud83d" "\ude00"', r'"\U0001f600\U00000041\U0010ffff"', r'"\U00110000\U001fffff"', r'"\U00200000"', r'"\U0000d83d\ude00"', r'"\U0000d83d\U0000de00"',
         r'"\U1234"', r'"\q"', r'"\ "', '"\\\n"', '"\\', '"\u00e4\u20ac"', b'"\xff\xfe"', b'"\x01\x1f\x7f"', b'"a\x00b"', r'"\x00"', "abc", "1", "true", "[]", "['a']", '"a", "b"',
         '"a" + "b"', '"a"x', '"' + "x" * 300 + '"', " ".join('"%d\\n"' % i for i in range(200)), r'"\1\12\123"', r'"\x1\x12"', r'"\'"', r"'\"'", r"'\''", "\"'\"",
         r'"\\"', r'"\\\"', r'"\\\\"', "'a'b'c'", '"#"', '"a"#b"c"\n', "`a`", "\u00ab\u00bb", '"a"\x0b\x0c"b"']
LISTS = ["[]", "[ ]", "[,]", "[1,]", "[,1]", "[1 2]", "[1;2]", "[1, 2]", "[1,2,3]", "[1,\n#c\n2]", "[[1]]", "[1", "[", "]", "[1]]", "[1],", "[1];", "[1] [2]", "[-1,- 2]", "[01,0x2]"]
MESSAGES = ["{}", "<>", "{ }", "{>", "<}", "{", "<", "}", ">", "{}}", "{{}}", "{number: 1}", "<number: 1>", "{number: 1 number: 2}", "{number: 1,}", "{number: 1;}", "{,}",
            "{number: 1,,}", "{number: 1 side: FOUR texts: 'a' texts: 'b'}", "{side: FOUR number: 1}", "{number 1}", "{number: {}}", "{Number: 1}", "{number: 1 nothing: 2}",
            "{number: 1}{number: 1}", "{number: 1 texts: []}", "{number: 0}", "1", "'a'", "inf", "()", "{number: 1}# c", "{# c\nnumber: 1}", "{number: 1 texts: ['a', \"b\" 'c']}",
            "{2: 1}", "{number: 1 2: 3}", "{[t.more]: 1}", "{number: 1 side: 0}", "{number: -1}", "[{number: 1}]", "[{number: 1}, <number: 2>]", "[{number: 1} {number: 2}]",
            "[{number: 1},]", "[]", "[{]", "[{number: 1}", "[{number: 1}]]", "[{number: 1}],", "[{number: 1};{number: 2}]", "[]{}", "{}[]"]
WHOLES = ["", " ", "\n", "#", "# only a comment", "#\n#\n", "\t\r\v\f", "one_int32: 1", "one_int32 : 1", "one_int32 :1", "one_int32:1", "one_int32\n#c\n:\n#d\n1", "one_int32#c\n:1", "one_int32 #c\n #d\n : #e\n 1",
          "one_int32 1", "one_int32", "one_int32:", "ONE_INT32: 1", "One_int32: 1", "nothing: 1", "one_int32: 1 one_int32: 1", "one_int32: 0 one_int32: 1", "one_int32: 1 one_int32: 0", "one_int32: 0 one_int32: 0",
          "one_int32: 1 one_int64: 2", "one_int32: 1, one_int64: 2", "one_int32: 1; one_int64: 2", "one_int32: 1,; one_int64: 2", ", one_int32: 1", "one_int32: 1}", "{one_int32: 1}", "one_string: '' one_string: 'a'",
          "one_double: -0.0 one_double: 1", "one_double: 0.0 one_double: 1", "one_float: -0", "one_float: 1e-46 one_float: 1", "one_bool: false one_bool: true", "one_bool: true one_bool: false", "one_enum: ZERO one_enum: FOUR",
          "one_int32: [1]", "one_int32: []", "one_string: ['a']", "many_int32: 1 many_int32: 2 one_bool: 1 many_int32: [3, 4] many_int32: []", "packed_int32: 1 one_bool: 1 packed_int32: [2, 3]",
          "many_int32: [1,2] packed_sint64: [-1, 2] many_int32: 3 packed_sint64: 4", "a_number: 1", "a_number: 0", "a_number: 1 a_text: 'x'", "a_text: '' a_number: 0", "a_number: 1 a_number: 2", "a_message {number: 1} a_text: 'x'",
          "a_number: 1 b_side: FOUR", "b_side: 0 a_text: ''", "b_side: 0 b_side: 4", "inner {number: 1} inner {number: 2}", "inner: {number: 1} inners {number: 2} inners: <number: 3>",
          "again {again {again {one_int32: 1}}}", "again <again {again <>}>", "again {again {again {}}", "again { a_number: 1 again { a_number: 2 } }", "again { a_number: 1 again { a_text: 'x' } a_text: 'y' }",
          "map {key: 'a' value: 1}", "map {value: 1 key: 'a'}", "map {}", "map: [{}, {key: 'a'}]", "map {key: 'a' value: 1} map {key: 'a' value: 2}", "map {key: 'a' key: 'b'}", "map {key: '' key: 'b'}", "map {value: 0 value: 1}",
          "map {value: 1 value: 1}", "map {other: 1}", "map [{key: 'b'} , {key: 'a' value: -1}]", "sides {}", "sides {key: -1}", "sides {value: LAST}", "sides {value: 9}", "sides {key: 0 key: 1 value: FOUR}", "tree {}", "tree {key: 'a'}",
          "tree {value {}}", "tree {value {number: 1}}", "tree {value {number: 1} value {number: 2}}", "reals {}", "reals {value: inf key: 0x7}", "tree: {key: 'z' value: <number: 1 texts: 'q'>}",
          "gone: 1", "gone: 1 one_int32: 2", "gone: 1, one_int32: 2", "gone: 1; one_int32: 2", "gone: 'a' 'b' one_int32: 2", "gone: []", "gone: [1]", "gone: [1, 2.5, 'a' 'b', inf, -inf, - nan, {}, <x: 1, y: [2];>]", "gone: [1 2]",
          "gone: [[1], [2, [{}]]]", "gone: [[]]", "gone {}", "gone: {}", "gone <>", "gone {>", "gone 1", "gone", "gone:", "gone { a: 1 b: 2, c: 3; d { e: 4 } f < > }", "gone { a: 1,, b: 2 }", "gone { , }", "gone { [a.b]: 1 [c/d.e] {} }",
          "gone { [a]: [{}, <>] 'b': 1 }", "gone { a 1 }", "gone { a: -x }", "gone { a: -inf b: -Infinity c: -NAN }", "gone: -inff", "gone: - 1", "gone: --1", "gone: -'a'", "gone { a: [1], b: [-x] }", "gone: x away: y", "gone: x gone: y",
          "gone { a { b { c: [ { d: 1 } ] } } } one_int32: 3", "gone: [{a: 1}; {}]", "gone { a: {} , b: <> ; }", "gone: {}, one_int32: 1", "gone: 08", "gone: 'a", "gone: 1a", "gone { 1: 2 }", "gone: 1f2", "gone: [1,]", "gone: [,]", "gone: ]",
          "gone { a: 1 ] }", "gone: [1}", "away:#c\n1", "Gone: 1", "gone: { a : 1 } one_int32 : 2", "gone { [a . b] : 1 [c / d] : 2 [/a]: 1 }", "gone { [a//b]: 1 }", "gone { [a.]: 1 }", "gone { [.5]: 1 }",
          "any {}", "any { type_url: 'x' value: 'y' }", "any { [type.googleapis.com/t.Inner] { number: 1 } }", "any { [type.googleprod.com/t.Inner]: < number: 1 side: FOUR > }", "any { [type.googleapis.com/t.Inner] {} }",
          "any { [type.googleapis.com/t.M] {} }", "any { [type.googleapis.com/t.M] {} value: 'x' }", "any { [type.googleapis.com/t.M] {} type_url: 'x' }", "any { [type.googleapis.com/t.M] {} type_url: '' }",
          "any { type_url: '' [type.googleapis.com/t.M] {} }", "any { type_url: 'x' [type.googleapis.com/t.M] {} }", "any { value: 'x' [type.googleapis.com/t.M] {} }", "any { value: '' [type.googleapis.com/t.M] { one_int32: 7 } }",
          "any { [type.googleapis.com/t.M] {} [type.googleapis.com/t.M] {} }", "any { [type.googleapis.com/t.M] {}, }", "any { [type.googleapis.com/t.M] {}; }", "any { [example.com/t.M] {} }", "any { [type.googleapis.com/t.Nothing] {} }",
          "any { [type.googleapis.com/M] {} }", "any { [t.M] {} }", "any { [type.googleapis.com/t.M] }", "any { [type.googleapis.com/t.M]: 1 }", "any { [type.googleapis.com/t.M}", "any { [type . googleapis . com / t . M ] : {} }",
          "any { [ type.googleapis.com/t.Side] {} }", "any { [type.googleapis.com/t.M.MapEntry] { key: 'a' } }", "any { [type.googleapis.com/google.protobuf.Any] { [type.googleapis.com/t.M] { any { type_url: 'q' } one_string: 'x' } } }",
          "any { [type.googleapis.com/t.M] { one_int32: 1 one_int32: 1 } }", "any { [type.googleapis.com/t.M] { a_number: 1 a_text: '' } }", "any { [] {} }", "any { [type.googleapis.com/] {} }", "any { [/t.M] {} }", "any [{}]", "any: {[type.googleapis.com/t.M] <>}",
          "inners [{number: 1}, {number: 2}] inners { number: 3 }, inners [] inners: [<number: 4>];", "inners: {number: 1} one_int32: 1 inners: {number: 2}", "explicit: 0", "explicit: 1", "explicit: 0 explicit: 1", "one_enum: inf", "one_enum: FOUR",
          "one_enum: 4", "one_enum: 5", "one_enum: -3", "one_enum: 0x4", "one_enum: 'FOUR'", "one_enum: 4.0", "many_enum: [ZERO, 4, LAST]", "many_enum: [ZERO, 5]", "packed_enum: [FOUR, -3, 0]",
          "Group {number: 1}", "group {number: 1}", "GROUP {number: 1}", "Group: {number: 1 numbers: [1, 2]}", "Group {} Group {}", "Many {} Many {x: 1} Many [{x: 2}, <x: 3>]", "many {}", "Odd {x: 1}", "other {x: 1}", "Other {x: 1}", "odd {}",
          "[t.more]: 5", "[t.more]: [1, -2] [t.more]: 3", "[ t . more ] : 5", "[t#c\n.more]: 5", "[t.Inner.one]: 'x'", "[t.Inner.one]: 'x' [t.Inner.one]: ''", "[t.Inner.one]: ''", "[t.Inner.flank]: FOUR", "[t.Inner.flank]: 5", "[t.inner] {number: 1}", "[t.inner]: {}",
          "[t.inner] {number: 1} [t.inner] {number: 1}", "[t.M.packed]: [1.5, 2] [t.M.packed]: inf", "[t.Inner.Extra] {x: 1}", "[t.nothing]: 1", "[more]: 1", "[.t.more]: 1", "[t.more: 1", "[t.more] 1", "[t..more]: 1", "[]: 1", "[t.more.]: 1", "[t/more]: 1",
          "[t.more]: 5, [t.Inner.one]: 'a'; one_int32: 1", "[t.M]: 1", "[t.Inner.extra] {x: 1}", "t.more: 1", "[1000]: 1", "1000: 1", "again { [t.more]: 1 }", "inner { number: 1 [t.more]: 1 }", "one_int32: 1\x00", "\x00", "one_int32: 1 #\x00\n", "one_int32\x01: 1", "\x7f", "\u00e4: 1", "# \u00e4\none_int32: 1",
          "one_int32: 1 \x1f", "#c\x01d\none_int32: 1", "one_int32: 1 @", "f: 1f", "f: f", "f: 1 f: 2", "\ufeffone_int32: 1", "one_int32: 1 . one_int64: 2", "one_int32: 1.one_int64: 2", "one_string: 'a'one_int32: 1", "one_enum: FOUR.5", "one_bool: true.5"]


def by_hand(syntax):
    attrs, is_first = ATTRS[syntax], syntax == "proto2"
    judge(["%s: %s" % (name, number) for number in NUMBERS for name in ("one_int32", "one_double")], attrs, syntax + " numbers", 1000 * is_first)
    judge(["%s: %s" % (name, number) for number in NUMBERS[:50] for name in ("one_uint32", "one_int64", "one_fixed64")], attrs, syntax + " more numbers", 30 * is_first)
    judge(["%s: %s" % (name, number) for number in NUMBERS for name in ("one_float", "one_bool", "one_enum")], attrs, syntax + " float, bool, enum", 90 if is_first else 10)
    judge([b"one_string: " + (t if isinstance(t, bytes) else t.encode()) for t in TEXTS], attrs, syntax + " texts", 1000 * is_first)
    judge([b"many_bytes: [" + (t if isinstance(t, bytes) else t.encode()) + b"]" for t in TEXTS], attrs, syntax + " lists of texts", 15 * is_first)
    judge(["%s: %s" % (name, text) for text in LISTS for name in ("many_int32", "packed_int32")], attrs, syntax + " lists", 1000 * is_first)
    judge(["%s %s" % (name, text) for text in MESSAGES for name in ("inner", "inners")] + ["inner: " + text for text in MESSAGES], attrs, syntax + " messages", 90 if is_first else 20)
    judge(WHOLES, attrs, syntax + " wholes", 1000 if is_first else 80)


# -------------------------------------------------------------------------------- random ones
def space():
    return ["", " ", "\n", " # c\n", "\t "][rng.integers(5)] if rng.random() < 0.4 else " "


def real(kind):
    return ["0", "-0.0", "1.5", "1e10", "-2.5e-7f", "inf", "-nan", "0.1", "1e39", str(rng.standard_normal() * 10.0 ** rng.integers(-50, 50)), "7"][rng.integers(11)]


def scalar(kind):
    if kind in ("float", "double"):
        return real(kind)
    if kind == "bool":
        return ["true", "f", "1", "0", "False", "0x1"][rng.integers(6)]
    if kind == "enum":
        return ["ZERO", "FOUR", "-3", "4", "LAST", "0"][rng.integers(6)]
    if kind in ("string", "bytes"):
        return ['""', "'a'", '"\\303\\244\\n"', "'x' \"y\"", '"\\u20ac\\x41"', "'" + "z" * int(rng.integers(0, 200)) + "'"][rng.integers(6)]
    bits = 64 if "64" in kind else 32
    low = 0 if kind.startswith(("u", "fixed")) else -2**(bits - 1)
    value = int([0, 1, low, low + 2**bits - 1, 300, 1 << int(rng.integers(0, bits - 1)), 5][rng.integers(7)])
    return ("-" if value < 0 else "") + ["%d", "0x%x", "0%o"][rng.integers(3)] % abs(value)


def message(syntax, of, depth):
    types = {"M": FILES[syntax].message_type[0], "Inner": FILES[syntax].message_type[1]}
    types.update({"M." + n.name: n for n in types["M"].nested_type})
    out, seen = [], set()
    fields = [f for f in types[of].field if f.name not in ("any", "other")]
    for _ in range(rng.integers(0, 14 if depth == 0 else 4)):
        field = fields[rng.integers(len(fields))]
        repeated = field.label == F.LABEL_REPEATED
        group = field.oneof_index + 1000 if field.HasField("oneof_index") else field.name
        if not repeated and (group in seen) and rng.random() < 0.98:
            continue
        seen.add(group)
        out.append(one(syntax, field, repeated, depth) + ["", ",", ";"][rng.integers(3)])
    if of == "Inner" and "number" not in seen and rng.random() < 0.97:
        out.append("number: 3")
    rng.shuffle(out)
    return space().join(out)


def one(syntax, field, repeated, depth):
    kind = F.Type.Name(field.type)[5:].lower()
    name = field.type_name.split(".")[-1] if kind == "group" else field.name
    if kind not in ("message", "group"):
        if repeated and rng.random() < 0.5:
            return name + ":" + space() + "[" + ("," + space()).join(scalar(kind) for _ in range(rng.integers(0, 5))) + "]"
        return name + space() + ":" + space() + scalar(kind)
    begin, end = ["{}", "<>"][rng.integers(2)]

    def body():
        return begin + space() + (message(syntax, field.type_name[3:], depth + 1) if depth < 3 else "number: 1" if field.type_name == ".t.Inner" else "") + space() + end
    if repeated and rng.random() < 0.4:
        return name + " [" + ", ".join(body() for _ in range(rng.integers(0, 3))) + "]"
    return name + [" ", ": ", ":"][rng.integers(3)] + body()


def spoiled(text):
    data = bytearray(text.encode())
    for _ in range(rng.integers(1, 3)):
        if data:
            at = rng.integers(len(data))
            data[at:at + rng.integers(0, 2)] = [b"", b"{", b"}", b"[", b"]", b":", b",", b"'", b"-", b"1", b"\\", b"a", b"#", b">"][rng.integers(14)]
    return bytes(data)


COUNT = int(os.environ.get("SP_TEXT_MESSAGES", "60"))
for syntax in FILES:
    by_hand(syntax)
    attrs = ATTRS[syntax]
    made = [message(syntax, "M", 0) for _ in range(COUNT)]
    judge(made, attrs, syntax + " random", COUNT // 10)
    judge([spoiled(text) for text in made], attrs, syntax + " spoiled", COUNT // 3)
    for depth in (10, 101, 3000):
        deep = ["again {" * depth + "one_int32: 1" + "}" * depth]
        cases.add("DecodeProtoV2", {"bytes": texts(deep)}, asked(attrs, ["one_int32", "again"]), name="%s %d deep" % (syntax, depth))
        cases.add("DecodeProtoV2", {"bytes": texts(["gone: " + "[" * depth + "1" + "]" * depth])}, asked(attrs, ["one_int32"]), name="%s %d lists" % (syntax, depth))
cases.add("DecodeProtoV2", {"bytes": texts(["one_int32: 1"])}, dict(asked(ATTRS["proto2"], ["one_double"]), message_format="json"), name="another format", refuse=True)
for sanitize in (False, True):
    cases.add("DecodeProtoV2", {"bytes": texts([["one_double: 1"], ["one_double: 2"]])}, dict(asked(ATTRS["proto2"], ["one_double"]), sanitize=sanitize), name="a matrix")

# ------------------------------------------------------------------- types that are linked in
EXAMPLE = 'features { feature { key: "a" value { int64_list { value: [1, -2, 3] } } } feature: { key: "b" value: < bytes_list { value: "x" value: "y" } > } }'
LISTS_TEXT = 'feature_lists { feature_list { key: "b" value { feature { float_list { value: 0.5 } } feature {} } } } context { feature { value { bytes_list {} } } }'
for name, fields, text in (("Example", ["features"], EXAMPLE), ("SequenceExample", ["context", "feature_lists"], LISTS_TEXT),
                           ("Feature", ["bytes_list", "float_list", "int64_list"], "int64_list { value: 7 }"), ("Features", ["feature"], "feature [{}, {key: 'x'}]")):
    attrs = {"message_type": "tensorflow." + name, "field_names": fields, "output_types": [tf.string] * len(fields), "message_format": "text"}
    judge([text, "", "nothing: 1", "features {} features {}"], attrs, "local " + name)
judge(["int64_list {} float_list {}", "float_list { value: [1, 2.5] }"], {"message_type": "tensorflow.Feature", "field_names": ["float_list"],
                                                                          "output_types": [tf.string], "message_format": "text"}, "local oneof")
cases.write()
