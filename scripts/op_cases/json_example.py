"""DecodeJSONExample."""
import json

import numpy as np
import tensorflow as tf
from google.protobuf import json_format

from op_cases import Cases

cases = Cases("json_example")


def add(texts, **more):
    texts = [t.encode() if isinstance(t, str) else t for t in ([texts] if isinstance(texts, (str, bytes)) else texts)]
    cases.add("DecodeJSONExample", {"json_examples": (np.array(texts, object), tf.string)}, **more)


def holds(kind, values):
    kind, values = (x if isinstance(x, bytes) else x.encode() for x in (kind, values))
    return b'{"features":{"feature":{"a":{"' + kind + b'":{"value":' + values + b'}}}}}'


def named(key):
    return b'{"features":{"feature":{' + (key if isinstance(key, bytes) else key.encode()) + b':{}}}}'


def judged(text, **more):
    """TensorFlow says whether it is an answer or a refusal."""
    try:
        tf.raw_ops.DecodeJSONExample(json_examples=tf.constant([text]))
        add(text, **more)
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
        add(text, refuse=True, **more)


rng = np.random.default_rng(53)
examples = []
for k in range(12):
    example = tf.train.Example()
    feature = example.features.feature
    feature["floats"].float_list.value.extend(rng.normal(size=k).astype("f4"))
    feature["ids"].int64_list.value.extend(rng.integers(-2**62, 2**62, k).tolist())
    feature["words \u00fc\n\"%d" % k].bytes_list.value.extend([rng.bytes(n) for n in range(k)])
    examples.append(json_format.MessageToJson(example, indent=(None, 2)[k % 2], preserving_proto_field_name=k % 3 == 0))
add(examples, name="as protobuf writes them")
cases.add("DecodeJSONExample", {"json_examples": (np.array([examples[:2], examples[2:4]], object), tf.string)}, name="a matrix")
cases.add("DecodeJSONExample", {"json_examples": (np.array([], object), tf.string)}, name="none")
cases.add("DecodeJSONExample", {"json_examples": (np.array(b"{}", object), tf.string)}, name="scalar")
add(json.dumps({"features": {"feature": {"f%d" % i: {"int64List": {"value": [i]}} for i in range(500)}}}), name="many features")
add(["{}", "not JSON"], name="the second is wrong", refuse=True)

FLOATS = ['"0x10"', '"1e400"', '"1e39"', '"-1e39"', '"1."', '"1 "', '" 1"', '"+1"', '".5"', '"-"', '"1e"', '"infinity"', '"INF"', '"-inf"',
          '"+Infinity"', '"NAN"', '"NaN"', '"Infinity"', '"-Infinity"', '"1_0"', '"\\t1"', '"\\t"', '""', "1.", "1.e5", "1e", "-", "1-2", "1e+5", "-0", "-0.0",
          "00", "-01", "1.5.2", "1e400", "-1e400", "1e39", "3.4028235e38", "3.4028236e38", "3.40282357e38", "16777217", "33554435",
          "9223372036854775807", "18446744073709551615", "18446744073709551616", "0.1", '"0.1"', "1e-400", '"1e-400"', '"1e-46"', "1E5",
          "1.00000017881393432617187", "1.000000178813934326171876", "- 1", "+1", ".5", "0x10", "true", "nul", "nullx", "NaN", "a", "null"]
INTEGERS = ['"1.0"', '"1.5"', '"1."', '"+1"', '"+-1"', '"-0"', '"1e0"', '"007"', '"-9223372036854775808"', '"-9223372036854775809"',
            '"9223372036854775807"', '"9223372036854775808"', "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e18", "1e19",
            "9.2e18", "-9.3e18", "9223372036854775807.0", "-9223372036854775808.0", "-9223372036854775809", "99999999999999999999", "0.5e1", "-0.0",
            "-0", '""', '"1 "', '" 1"', '"-"', '"NaN"', "1.5", "true", "null", '"0x10"']
BYTES = ['"YWJj"', '""', '"YWJ"', '"YWJ="', '"YW=="', '"YWI=="', '"YWI="', '"YWI"', '"YQ=="', '"YQ"', '"YQ="', '"YWJjYQ="', '"===="', '"="', '"YR"',
         '"-/"', '"--//"', '"-_-_"', '"+/+/"', '"-_8="', '"YWJj\\n"', '"YWJjYQ==YWJj"', '"Y==="', '"YWJj="', '"Y"', '"\\u0059WJj"', '"YWI ="', "5", "true", "null"]
for value in FLOATS:
    judged(holds("floatList", "[%s]" % value), name="float " + value)
for value in INTEGERS:
    judged(holds("int64List", "[%s]" % value), name="integer " + value)
for value in BYTES:
    judged(holds("bytesList", "[%s]" % value), name="bytes " + value)
for values in ("5", "[]", "[[1,2],[3]]", "[[],[[]],1]", "[1,]", "[1,,2]", "[,1]", "[", "[1", "[1 2]", "[{}]", "{}", "null", "[1]]", "[[1]", '"7"', "[1,[2,],]",
               "[" * 90 + "1" + "]" * 90, "[" * 200 + "1" + "]" * 200, "[" * 5000):
    judged(holds("int64_list", values), name="list " + values[:20])
for key in ('"\\q"', '"\\0"', '"\\u0000"', '"\\x41"', '"\\v\\b\\f\\t\\r\\n"', '"\\/\\\\\\""', '"\\u00zz"', '"\\u12"', '"\\ude00"', '"\\ud83d"', '"\\ud83d\\u0041"', '"\\ud83d\\ude00"',
            '"\\uffff\\u20AC"', '"\xe9"', '"a\0b"', '"a\nb"', "a1_$", "$", "_x", "1a", "null", "true", "nullx", "a-b", "a.b", "'a\"b'", "'a\\'b'", '"a', "\xe9", '""',
            '"\\\n"', '"' + "long" * 100 + '"'):
    judged(named(key), name="name " + key[:30].replace("\0", "0"))
# TensorFlow quotes the bytes when it refuses these, which Python cannot show.
for key in (b'"\xff"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b'"\xc0\x80"', b'"\xe2\x82"'):
    add(named(key), refuse=True, name="not UTF-8")
for text in ("", "   ", "[]", "null", "true", "5", '"x"', "  { } ", "{,}", '{"features":{},,}', '{"features"}', '{"features":}', '{"features" : { } , }',
             '{"features":null}', '{"features":{}}', '{"features":{"feature":null}}', '{"features":{"feature":{}}}', "\x0b{\x0c}\r\n\t", "\0{}", "{}\0",
             "{} x", "{}{}", '{"features":{}}/*c*/', "{'features':{'feature':{'a':{}}}}", "{features:{feature:{a:{}}}}",
             '{"features":true}', '{"features":""}', '{"features":"x"}', '{"features":[]}', '{"features":[{}]}', '{"features":5}', '{"unknown":null}', '{"":1}',
             '{"features":{"x":null}}', '{"FEATURES":{}}', '{"@type":"x","features":{}}', '{"features" "x"}', '{"features":{}', '{"features":{}]', "{", '{"',
             '{"features":{},"features":{}}', '{"features":{"feature":{"a":{}},"feature":{"a":{}}}}', '{"features":{"feature":{"a":{},"b":{},"a":{}}}}',
             '{"features":{"feature":{"a":null,"a":null}}}', '{"features":{"feature":{"a":null}}}', '{"features":{"feature":{"a":5}}}',
             '{"features":{"feature":{"a":[]}}}', '{"features":{"feature":[]}}', '{"features":{"feature":""}}', '{"features":{"feature":[{"key":"a"}]}}',
             '{"features":{"feature":{"a":{"int64List":null,"floatList":{}}}}}', '{"features":{"feature":{"a":{"floatList":{},"int64List":null}}}}',
             '{"features":{"feature":{"a":{"floatList":{},"int64List":{}}}}}', '{"features":{"feature":{"a":{"floatList":{},"float_list":{}}}}}',
             '{"features":{"feature":{"a":{"Int64List":{}}}}}', '{"features":{"feature":{"a":{"int64List":[]}}}}', '{"features":{"feature":{"a":{"int64List":""}}}}',
             '{"features":{"feature":{"a":{"int64List":{"value":[1],"value":[2]}}}}}', '{"features":{"feature":{"a":{"int64List":{"x":[1]}}}}}', "\ufeff{}"):
    judged(text, name="text " + text[:40].replace("\0", "0"))
cases.write()
