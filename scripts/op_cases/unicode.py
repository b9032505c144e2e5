"""Texts in several encodings, and records of comma-separated values."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(41)
cases = Cases("unicode")

TEXTS = ["", "plain", "na\u00efve \u20ac", "\u4f60\u597d, \U0001f600!", "tab\tnul\0 \x1f end", "\ufeffmark", "\ufffe\ufdd0"]
GOOD = np.array([t.encode() for t in TEXTS], object)
# Leads without trails, trails without leads, overlong forms, surrogates, too large, cut off.
BAD = np.array([b"a\xffb", b"\xe4\xbdx", b"\xe4\xbd", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\x80", b"\xc0\xaf", b"\xe0\x80\x80",
                b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xc2", b"\xc2\x41", b"\xf1\x80\x41", b"\xf5\x80"] +
               [bytes(rng.integers(0, 256, 12, dtype=np.uint8)) for _ in range(20)] +
               [bytes(rng.choice([0xe0, 0xed, 0xf0, 0xf4, 0x80, 0x9f, 0xa0, 0xbf, 0x41], 10).astype(np.uint8)) for _ in range(30)],
               object)
for encoding, name in (("UTF-8", "utf-8"), ("UTF-16-BE", "utf-16-be"), ("UTF-16-LE", "utf-16-le"),
                       ("UTF-32-BE", "utf-32-be"), ("UTF-32LE", "utf-32-le"), ("US-ASCII", None), ("ISO-8859-1", None)):
    texts = GOOD if name is None else np.array([t.encode(name) for t in TEXTS], object)
    for op in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
        cases.add(op, {"input": texts}, {"input_encoding": encoding}, name=encoding)
    for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        cases.add("UnicodeTranscode", {"input": texts.reshape(1, -1)}, {"input_encoding": encoding, "output_encoding": output},
                  name=encoding)
for encoding in ("UTF-8", "UTF-16-BE", "UTF-16-LE", "UTF-32-BE", "US-ASCII"):
    for attrs in ({}, {"errors": "ignore"}, {"replacement_char": 33}, {"replace_control_characters": True}):
        cases.add("UnicodeDecodeWithOffsets", {"input": BAD}, dict(attrs, input_encoding=encoding), name="bad " + encoding)
        cases.add("UnicodeTranscode", {"input": BAD}, dict(attrs, input_encoding=encoding, output_encoding="UTF-8"),
                  name="bad " + encoding)
cases.add("UnicodeDecode", {"input": GOOD}, {"input_encoding": "UTF-8", "errors": "strict", "Tsplits": tf.int32})
cases.add("UnicodeDecode", {"input": GOOD[:0]}, {"input_encoding": "UTF-8"}, name="none")
cases.add("UnicodeDecode", {"input": np.asarray(GOOD[2], object)}, {"input_encoding": "utf8"}, name="scalar")
for op in ("UnicodeDecode", "UnicodeTranscode"):
    more = {"output_encoding": "UTF-8"} if op == "UnicodeTranscode" else {}
    cases.add(op, {"input": BAD}, dict(more, input_encoding="UTF-8", errors="strict"), name="strict", refuse=True)
    cases.add(op, {"input": GOOD}, dict(more, input_encoding="UTF-8", errors="strict", replace_control_characters=True),
              name="strict, controls", refuse=op == "UnicodeTranscode")
    cases.add(op, {"input": BAD}, dict(more, input_encoding="UTF-8", errors="ignore"), name="ignore")

# One of every kind of converter that ICU has, and names as people write them.
FOREIGN = (("UTF-16", "utf-16"), ("UTF-32", "utf-32"), ("utf_7", "utf-7"), ("CESU-8", None), ("SCSU", None), ("BOCU-1", None),
           ("IMAP-mailbox-name", None), ("Shift_JIS", "shift_jis"), ("sjis", "shift_jis"), ("windows-31j", "cp932"),
           ("EUC-JP", "euc_jp"), ("ISO-2022-JP", "iso2022_jp"), ("ISO-2022-JP-2", "iso2022_jp_2"), ("ISO-2022-KR", "iso2022_kr"),
           ("ISO-2022-CN", None), ("HZ-GB-2312", "hz"), ("GBK", "gbk"), ("gb2312", "gb2312"), ("GB18030", "gb18030"),
           ("Big5", "big5"), ("Big5-HKSCS", "big5hkscs"), ("EUC-TW", None), ("EUC-KR", "euc_kr"), ("ks_c_5601-1987", "cp949"),
           ("windows-1250", "cp1250"), ("windows-1251", "cp1251"), ("cp1252", "cp1252"), ("windows-1255", "cp1255"),
           ("windows-1256", "cp1256"), ("windows-874", "cp874"), ("KOI8-R", "koi8_r"), ("koi8-u", "koi8_u"), ("IBM437", "cp437"),
           ("cp850", "cp850"), ("IBM866", "cp866"), ("macintosh", "mac_roman"), ("x-mac-cyrillic", "mac_cyrillic"),
           ("ISO-8859-2", "iso8859_2"), ("latin5", "iso8859_9"), ("ISO_8859-5:1988", "iso8859_5"), ("cyrillic", "iso8859_5"),
           ("ISO-8859-7", "iso8859_7"), ("ISO-8859-8-I", "iso8859_8"), ("iso-8859-13", "iso8859_13"), ("ISO-8859-15", "iso8859_15"),
           ("TIS-620", "tis_620"), ("ibm-37", "cp037"), ("IBM1047", None), ("ibm-930", None), ("ISCII,version=0", None),
           ("LMBCS-1", None), ("ibm-37_P100-1995,swaplfnl", "cp037"), ("UTF-16,version=1", "utf-16-be"), ("gsm-03.38-2009", None))
WORDS = ["", "plain ~ \\ text", "na\u00efve", "\u20ac 5 \u2122", "\u4f60\u597d, \u4e16\u754c", "\u65e5\u672c\u8a9e \u30ab\u30ca", "\uff76\uff85",
         "\ud55c\uae00", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u0395\u03bb\u03bb", "\u05e9\u05dc\u05d5\u05dd", "\u0e44\u0e17\u0e22",
         "\u011e\u0130\u015f", "\U0001f600!", "\u6f22\U00020000"]
MIXED = [bytes(rng.integers(0, 256, 9, dtype=np.uint8)) for _ in range(12)] + [
    bytes(rng.integers(0x81, 256, 9, dtype=np.uint8)) for _ in range(6)] + [
        b"a\x81", b"\x81", b"\x81\x20", b"\xff\xfe", b"\x8e\xa2\xa1\xa1", b"\x81\x30\x81\x30", b"\x1b$B\x30\x21\x30", b"\x30\x21\x1b(B!",
        b"\x1b$)C\x0e\x21\x21\x0f", b"~{<:Ky~}.~", b"+2D0", b"+2D3eAA-x", b"&BEI-", b"\x1b", b"\xed\xa0\xbd\xed\xb8\x80"]
for encoding, python in FOREIGN:
    texts = np.array([w.encode(python, "ignore") if python else w.encode("ascii", "ignore") for w in WORDS] + MIXED, object)
    for attrs in ({"errors": "replace"}, {"errors": "ignore", "replace_control_characters": True}):
        cases.add("UnicodeDecodeWithOffsets", {"input": texts}, dict(attrs, input_encoding=encoding), name=encoding)
    cases.add("UnicodeTranscode", {"input": texts}, {"input_encoding": encoding, "output_encoding": "UTF-8"}, name=encoding)
    good = texts[1:2] if encoding not in ("LMBCS-1", "UTF-16,version=1") else texts[:1]
    cases.add("UnicodeDecode", {"input": good}, {"input_encoding": encoding, "errors": "strict"}, name=encoding + " strict")
for encoding, bad in (("Shift_JIS", b"a\x81"), ("GB18030", b"\x81\x30\x81"), ("EUC-JP", b"\xa1\x20"), ("UTF-16", b"\xd8\x00\x00\x20"),
                      ("ISO-2022-JP", b"\x1b$B\x30"), ("windows-1252", b"\x81"), ("UTF-7", b"+2D0-")):
    for op in ("UnicodeDecode", "UnicodeTranscode"):
        more = {"output_encoding": "UTF-8"} if op == "UnicodeTranscode" else {}
        for policy in ("strict", "ignore", "replace"):
            refused = policy == "strict" and encoding != "windows-1252" and encoding != "UTF-7"
            cases.add(op, {"input": np.array([b"x", bad], object)}, dict(more, input_encoding=encoding, errors=policy),
                      name=encoding + " " + policy, refuse=refused)
# Marks and shifts of one text decide how the next one is read; a tensor begins anew.
MARKED = [b"\xff\xfea\0", b"b\0", b"\xfe\xff\0c", b"\0d", b"\xff\xfe", b"\0e", b"\xfe\xff\xd8\x3d", b"\xde\0\0f"]
for encoding in ("UTF-16", "UTF-16,version=1", "UTF-32", "ISO-2022-JP", "SCSU"):
    for texts in (MARKED, MARKED[::-1], MARKED[2:], [b"\x1b$B0!", b"0!", b"\x1b(B0!", b"0!"]):
        texts = np.array(texts, object)
        cases.add("UnicodeDecodeWithOffsets", {"input": texts}, {"input_encoding": encoding}, name=encoding + " in order")
        for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
            cases.add("UnicodeTranscode", {"input": texts}, {"input_encoding": encoding, "output_encoding": output},
                      name=encoding + " in order")
for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
    for replacement in (0xd83d, 0xde00, 0xffff):
        for encoding in ("UTF-8", "UTF-7"):
            cases.add("UnicodeTranscode", {"input": np.array([b"\xff\xffa\xff", b"+2D0-\xff", b"\xff+3gA-"], object)},
                      {"input_encoding": encoding, "output_encoding": output, "replacement_char": replacement}, name="surrogates")
for name in ("u t f 8", "../../utf-8", "CP-1252"):
    cases.add("UnicodeDecode", {"input": np.array([b"\xc3\xa4"], object)}, {"input_encoding": name}, name=name)
for name in ("", "nope", "utf-9", "../nope", "windows-1259", "x" * 200, ","):
    for op in ("UnicodeDecode", "UnicodeTranscode"):
        more = {"output_encoding": "UTF-8"} if op == "UnicodeTranscode" else {}
        cases.add(op, {"input": GOOD[:1]}, dict(more, input_encoding=name), name=name, refuse=True)

VALUES = np.int32([72, 105, 0x20ac, 0x1f600, 0, 0xd800, 0xfffe, 0x110000, -1, 0xfdd0, 0x10ffff, 0x7ff, 0x800, 0xffff, 0x41])
for splits in ([0, 2, 2, 8, 15], [0, 15]):
    for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        for attrs in ({}, {"errors": "ignore"}, {"replacement_char": 63}):
            cases.add("UnicodeEncode", {"input_values": VALUES, "input_splits": np.int64(splits)},
                      dict(attrs, output_encoding=output), name=output)
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
