"""Texts in UTF-8, and records of comma-separated values."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(41)
cases = Cases("unicode")

GOOD = ["", "plain", "na\u00efve \u20ac", "\u4f60\u597d, \U0001f600!", "tab\tnul\0 \x1f end", "\ufeffmark", "\ufffe\ufdd0"]
GOOD = np.array([t.encode() for t in GOOD], object)
# Leads without trails, trails without leads, overlong forms, surrogates, too large, cut off.
BAD = np.array([b"a\xffb", b"\xe4\xbdx", b"\xe4\xbd", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\x80", b"\xc0\xaf", b"\xe0\x80\x80",
                b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xc2", b"\xc2\x41", b"\xf1\x80\x41", b"\xf5\x80"] +
               [bytes(rng.integers(0, 256, 12, dtype=np.uint8)) for _ in range(20)] +
               [bytes(rng.choice([0xe0, 0xed, 0xf0, 0xf4, 0x80, 0x9f, 0xa0, 0xbf, 0x41], 10).astype(np.uint8)) for _ in range(30)],
               object)
cases.add("UnicodeDecode", {"input": GOOD}, {"input_encoding": "UTF-8"})
cases.add("UnicodeDecode", {"input": GOOD.reshape(1, -1)}, {"input_encoding": "UTF-8"})
for attrs in ({}, {"errors": "ignore"}, {"replacement_char": 33}, {"replace_control_characters": True}):
    cases.add("UnicodeDecode", {"input": BAD}, dict(attrs, input_encoding="UTF-8"), name="bad")
cases.add("UnicodeDecode", {"input": GOOD}, {"input_encoding": "UTF-8", "errors": "strict", "Tsplits": tf.int32})
cases.add("UnicodeDecode", {"input": GOOD[:0]}, {"input_encoding": "UTF-8"}, name="none")
cases.add("UnicodeDecode", {"input": np.asarray(GOOD[2], object)}, {"input_encoding": "utf8"}, name="scalar")
cases.add("UnicodeDecode", {"input": BAD}, {"input_encoding": "UTF-8", "errors": "strict"}, name="strict", refuse=True)
cases.add("UnicodeDecode", {"input": GOOD}, {"input_encoding": "UTF-8", "errors": "strict", "replace_control_characters": True},
          name="strict, controls")
for replacement in (0xd83d, 0xde00, 0xffff):
    cases.add("UnicodeDecode", {"input": np.array([b"\xff\xffa\xff"], object)},
              {"input_encoding": "UTF-8", "replacement_char": replacement}, name="surrogates")
for name in ("utf8", "Utf_8"):
    cases.add("UnicodeDecode", {"input": np.array([b"\xc3\xa4"], object)}, {"input_encoding": name}, name=name)

VALUES = np.int32([72, 105, 0x20ac, 0x1f600, 0, 0xd800, 0xfffe, 0x110000, -1, 0xfdd0, 0x10ffff, 0x7ff, 0x800, 0xffff, 0x41])
for splits in ([0, 2, 2, 8, 15], [0, 15]):
    for attrs in ({}, {"errors": "ignore"}, {"replacement_char": 63}):
        cases.add("UnicodeEncode", {"input_values": VALUES, "input_splits": np.int64(splits)}, dict(attrs, output_encoding="UTF-8"))
cases.add("UnicodeEncode", {"input_values": VALUES[:5], "input_splits": np.int32([0, 5])},
          {"output_encoding": "UTF-8", "errors": "strict"})
cases.add("UnicodeEncode", {"input_values": VALUES[:0], "input_splits": np.int32([0])}, {"output_encoding": "UTF-8"}, name="none")
cases.add("UnicodeEncode", {"input_values": VALUES, "input_splits": np.int32([0, 15])},
          {"output_encoding": "UTF-8", "errors": "strict"}, name="strict", refuse=True)
for splits in ([1, 15], [0, 14], [0, 9, 3, 15], [0, 99]):
    cases.add("UnicodeEncode", {"input_values": VALUES, "input_splits": np.int64(splits)}, {"output_encoding": "UTF-8"},
              name="splits", refuse=True)


def csv(records, defaults, attrs=None, **more):
    inputs = [np.asarray(d[0], dtype=d[1]) if d[1] is not str else (np.array(d[0], object), tf.string) for d in defaults]
    cases.add("DecodeCSV", {"records": np.array(records, object), "record_defaults": inputs}, attrs, **more)


F, D, I, L, S = ((0.5, np.float32), (0.25, np.float64), (7, np.int32), (8, np.int64), ("none", str))
NEEDED = ([], np.float32)
csv(["1.5,2,3,4,x", ",,,,", "-1e3,nan,-7,9223372036854775807,two words"], [F, D, I, L, S])
csv([["1,a", "2,b"], ["3,", ",c"]], [F, S])
csv(np.array([], object), [F, S], name="none")
csv("5,five", [F, S], name="scalar")
csv(['1,"a,b"', '2,"say ""hi"""', '"3",""', '4,"line\nend"', '5,"\r"'], [F, S], name="quotes")
csv(['1,a"b', '"2",c'], [S, S], {"use_quote_delim": False}, name="quotes are text")
csv(["1;2", "3;4"], [F, F], {"field_delim": ";"})
csv(["1\t-\t3", "NA\tNA\t4"], [F, S, I], {"field_delim": "\t", "na_value": "NA"})
csv(["a,1,b,2,c", "d,3,e,4,f"], [F, S], {"select_cols": [1, 2]})
csv(["1,x,", "2,y,"], [F, S], {"select_cols": [0, 2]}, name="an empty one at the end")
csv(["\n1,\n2", "3,\r\n4"], [F, F], name="line ends before fields")
csv(["1,2,", "3,4,x"], [F, F, S])
csv(["1,2", "3,4"], [NEEDED, F])
csv(["1,2", ",4"], [NEEDED, F], name="needed", refuse=True)
for bad, what in ((["1"], "too few"), (["1,2,3"], "too many"), ([""], "nothing"), (["x,2"], "no number"), (['1,a"b'], "quote inside"),
                  (['1,"ab'], "no end"), (['1,"a"b'], "text behind"), (["1,2\n"], "line end"), (['"1"x,2'], "text behind the first"),
                  (["1,2,"], "an empty one too many"), (['1,"'], "only a quote")):
    csv(bad, [F, S], name=what, refuse=True)
csv(["99999999999,1"], [I, F], name="too large", refuse=True)
csv(["1,2"], [([1, 2], np.float32), F], name="two defaults", refuse=True)

cases.write()
