"""Hashes, printing, reading, joining, splitting and cutting of strings."""
import numpy as np
import tensorflow as tf

from op_cases import Cases


def texts(*items, shape=None):
    """A string array; numpy's own string types would drop trailing NULs."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape if shape is not None else array.shape)


NONE = np.empty([0], dtype=object)
MIXED = texts("", "a", b"\0", b"\xff\xfe", "user_42", "x" * 40, "\u00e9t\u00e9 \u20ac", "y" * 200)


def hashes():
    cases = Cases("string_hash")
    for count in (1, 2, 10, 1000, 2**31, 2**63 - 1):
        cases.add("StringToHashBucketFast", {"input": MIXED}, {"num_buckets": count})
        cases.add("StringToHashBucket", {"string_tensor": MIXED}, {"num_buckets": count})
        cases.add("StringToHashBucketStrong", {"input": MIXED}, {"num_buckets": count, "key": [count, -1]})
    for shaped in (texts("ab", shape=()), NONE, MIXED.reshape(2, 2, 2), MIXED.reshape(1, 8, 1, 1)):
        cases.add("StringToHashBucketFast", {"input": shaped}, {"num_buckets": 97})
        cases.add("StringToHashBucket", {"string_tensor": shaped}, {"num_buckets": 97})
        cases.add("StringToHashBucketStrong", {"input": shaped}, {"num_buckets": 97, "key": [0, 0]})
    cases.write()


def as_string():
    cases = Cases("as_string")
    numbers = {
        tf.int8: [0, 1, -1, 127, -128], tf.int16: [0, -1, 32767, -32768], tf.int32: [0, 10, -10, 2**31 - 1, -2**31],
        tf.int64: [0, 7, -7, 2**63 - 1, -2**63], tf.uint8: [0, 255], tf.uint16: [0, 65535], tf.uint32: [0, 2**32 - 1],
        tf.uint64: [0, 2**64 - 1],
    }
    for dtype, values in numbers.items():
        array = np.array(values, dtype.as_numpy_dtype)
        for attrs in ({}, {"width": 0}, {"width": 8}, {"width": 8, "fill": "0"}, {"width": 8, "fill": "-"},
                      {"width": 8, "fill": "+"}, {"width": 8, "fill": " "}, {"width": 8, "fill": "#"},
                      {"fill": "0"}, {"width": -3}, {"width": 600}):
            cases.add("AsString", {"input": (array, dtype)}, attrs)
    reals = [0.0, -0.0, 1.5, -2.25, 1e10, 1.0 / 3, 0.1, 123456.789, 1e-5, np.nan, np.inf, -np.inf, 65504.0]
    for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.complex64, tf.complex128):
        array = np.array(reals)
        if dtype.is_complex:
            array = array.astype(complex)
            array.imag = reals[::-1]
        for attrs in ({}, {"precision": 0}, {"precision": 3}, {"scientific": True}, {"shortest": True},
                      {"scientific": True, "precision": 2}, {"shortest": True, "precision": 12}, {"width": 14},
                      {"width": 14, "fill": "0"}, {"width": 14, "fill": "-"}, {"width": 14, "fill": "+", "precision": 1},
                      {"width": 14, "fill": "#", "precision": 0}, {"width": 14, "fill": " "}, {"precision": -4},
                      {"width": 700, "fill": "0"}, {"precision": 600}):
            with np.errstate(over="ignore"):
                cases.add("AsString", {"input": (array.astype(dtype.as_numpy_dtype), dtype)}, attrs)
    cases.add("AsString", {"input": np.float64([1e308, -1.7976931348623157e308, 5e-324, 2.2250738585072014e-308])})
    cases.add("AsString", {"input": np.float64([1e308, 5e-324])}, {"shortest": True, "precision": 17})
    for attrs in ({}, {"width": 9}, {"width": 9, "fill": "0"}):
        cases.add("AsString", {"input": np.array([[True, False]])}, attrs)
    for attrs in ({}, {"width": 5}, {"width": 5, "fill": "-"}, {"width": 5, "fill": "0"}, {"precision": 2},
                  {"shortest": True}):
        cases.add("AsString", {"input": texts("", "ab", b"a\0b", b"\xff", "\u00e9\u00e9\u00e9", "longer text")}, attrs)
    cases.add("AsString", {"input": np.int64(5)})
    cases.add("AsString", {"input": np.zeros([2, 0], np.float32)})
    for array, attrs in ((np.int32([1]), {"precision": 1}), (np.int32([1]), {"scientific": True}),
                         (np.array([True]), {"shortest": True}), (np.float32([1]), {"shortest": True, "scientific": True}),
                         (np.float32([1]), {"width": 5, "fill": "ab"}), (np.float32([1]), {"width": 5, "fill": "x"})):
        cases.add("AsString", {"input": array}, attrs, refuse=True)
    cases.write()


def numbers():
    cases = Cases("string_to_number")
    integers = ["0", "-0", "00", "-00012", " 7", "7 ", "\t\n\v\f\r 8 \t\n\v\f\r", "2147483647", "-2147483648"]
    reals = ["0", "-0", "1", " 1 ", "\v1\f", "1.5", "-1.5", "+1.5", "1.", ".5", "-.5", "1e5", "1E+5", "1e-5", "1.e2", ".5e1", "inf",
             "-inf", "+INF", " inf ", "nan", "-nan", "NaN", "0x10", "0X1f", "-0xAb", " 0xff ", "1e400", "-1e400", "1e-400", "00012",
             "  ", "0e99999999999999999999", "1e99999999999999999999", "1e-99999999999999999999",
             "123456789012345678901234567890", "9007199254740993", "9007199254740993.000000001", "16777217", "16777217.0000001",
             "3.40282357e+38", "3.4028234e38", "0.1", "3.14159265358979323846", "1234567.8901234567890123", "0x123456789abcdef01",
             "0x1000001", "0x20000000000001", "0x3000003", "7205759403792793200000e-23", "1" * 31]
    doubles = ["1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072014e-308"]
    wrong = ["", "x", "1 2", "--1", "1_000", "1,5", "1f", "- 1", "1\0", "\0", "+", "-", "\u0967", "1x", " x "]
    cases.add("StringToNumber", {"string_tensor": texts(*reals)})
    cases.add("StringToNumber", {"string_tensor": texts(*reals, *doubles)}, {"out_type": tf.float64})
    cases.add("StringToNumber", {"string_tensor": texts(*integers, "-" + "0" * 60)}, {"out_type": tf.int32})
    cases.add("StringToNumber", {"string_tensor": texts(*integers, "9223372036854775807", "-9223372036854775808")},
              {"out_type": tf.int64})
    random = np.random.default_rng(7)
    bits = random.integers(0, 2**63, 300).view(np.float64)
    spelled = [repr(x) for x in bits.tolist() if np.isfinite(x) and (x == 0 or abs(x) > 1e-300)]
    cases.add("StringToNumber", {"string_tensor": texts(*spelled)}, {"out_type": tf.float64}, name="random doubles")
    spelled = ["%.*e" % (int(random.integers(0, 20)), 10.0 ** random.uniform(-35, 38)) for _ in range(300)]
    cases.add("StringToNumber", {"string_tensor": texts(*spelled)}, name="random floats")
    for dtype in (tf.float32, tf.float64, tf.int32, tf.int64):
        cases.add("StringToNumber", {"string_tensor": texts("12", shape=())}, {"out_type": dtype})
        cases.add("StringToNumber", {"string_tensor": NONE.reshape(0, 3)}, {"out_type": dtype})
        for text in wrong:
            cases.add("StringToNumber", {"string_tensor": texts("1", text)}, {"out_type": dtype}, refuse=True)
    for text in (".", "e5", "1e", "1e+", "Infinity", "nan(1)", "0x", "0x1p3", "0x.8", "1.5e3.5", "1..", "infx", "in", "1" * 32, " " * 32):
        cases.add("StringToNumber", {"string_tensor": texts(text)}, refuse=True)
        cases.add("StringToNumber", {"string_tensor": texts(text)}, {"out_type": tf.float64}, refuse=True)
    for text in ("+5", "5.", "1e3", "0x10", " ", "2147483648", "-2147483649", "99999999999999999999"):
        cases.add("StringToNumber", {"string_tensor": texts(text)}, {"out_type": tf.int32}, refuse=True)
    for text in ("+5", "9223372036854775808", "-9223372036854775809"):
        cases.add("StringToNumber", {"string_tensor": texts(text)}, {"out_type": tf.int64}, refuse=True)
    cases.write()


def split():
    cases = Cases("string_split")
    lines = texts("a b  c", "", " lead", "trail ", "a,b;c", ",,", "\t\n", "one", b"\0x\0", ",a,,b,", "a--b----c--", "aaa")
    for delimiter in (" ", "", ",", ",;", "--", "a", b"\0", "abc"):
        for skip in (True, False):
            cases.add("StringSplit", {"input": lines, "delimiter": texts(delimiter, shape=())}, {"skip_empty": skip})
        for maxsplit in (-1, 0, 1, 2, 5, -7):
            cases.add("StringSplitV2", {"input": lines, "sep": texts(delimiter, shape=())}, {"maxsplit": maxsplit})
    space = texts(" ", shape=())
    cases.add("StringSplit", {"input": NONE, "delimiter": space})
    cases.add("StringSplitV2", {"input": NONE, "sep": space})
    for wrong in (texts("a", shape=()), texts("a", shape=(1, 1))):
        cases.add("StringSplit", {"input": wrong, "delimiter": space}, refuse=True)
        cases.add("StringSplitV2", {"input": wrong, "sep": space}, refuse=True)
    cases.add("StringSplit", {"input": texts("a"), "delimiter": texts(" ")}, refuse=True)
    cases.add("StringSplitV2", {"input": texts("a"), "sep": texts(" ", ",")}, refuse=True)
    cases.write()


def join():
    cases = Cases("string_join")
    pair, scalar = texts("a", ""), texts("x", shape=())
    for separator in ("", ",", "--", b"\0"):
        cases.add("StringJoin", {"inputs": [pair, scalar, texts("c", "d")]}, {"separator": separator})
        cases.add("StringJoin", {"inputs": [scalar, scalar]}, {"separator": separator})
        cases.add("StringJoin", {"inputs": [pair]}, {"separator": separator})
    cases.add("StringJoin", {"inputs": [MIXED.reshape(2, 4), scalar, MIXED[::-1].reshape(2, 4)]})
    cases.add("StringJoin", {"inputs": [NONE, scalar]})
    cases.add("StringJoin", {"inputs": [texts("z" * 5000, "y"), scalar]}, {"separator": "-" * 5000})
    cases.add("StringJoin", {"inputs": [pair, texts("x")]}, refuse=True)
    cases.add("StringJoin", {"inputs": [pair, scalar, pair.reshape(1, 2)]}, refuse=True)

    letters = texts(*[chr(97 + i) for i in range(24)], shape=(2, 3, 4))
    for axes in ([0], [1], [2], [-1], [-3], [0, 1], [1, 0], [2, 0], [0, 2], [0, 1, 2], [2, 1, 0], [1, -1], []):
        for keep in (False, True):
            for separator in ("", ", "):
                cases.add("ReduceJoin", {"inputs": letters, "reduction_indices": np.int32(axes)},
                          {"keep_dims": keep, "separator": separator})
    cases.add("ReduceJoin", {"inputs": letters, "reduction_indices": np.int32(1)})
    cases.add("ReduceJoin", {"inputs": letters, "reduction_indices": np.int32([[0, 1]])})
    for shape in ((0, 2), (2, 0), (0, 0)):
        for axis in (0, 1):
            cases.add("ReduceJoin", {"inputs": NONE.reshape(shape), "reduction_indices": np.int32([axis])}, {"separator": "-"})
    cases.add("ReduceJoin", {"inputs": scalar, "reduction_indices": np.int32([])})
    for inputs, axes in ((letters, [3]), (letters, [-4]), (letters, [0, 0]), (letters, [0, -3]), (scalar, [0]), (scalar, [-1])):
        cases.add("ReduceJoin", {"inputs": inputs, "reduction_indices": np.int32(axes)}, refuse=True)

    square = texts("a", "b", "c", "d", shape=(2, 2))
    for dtype in (np.int32, np.int64):
        for inputs, ids, count in ((texts("a", "b", "c"), [0, 1, 0], 2), (texts("a", "b", "c"), [2, 2, 0], 4), (square, [1, 0], 2),
                                   (square, [0, 0], 3), (square, [[1, 0], [0, 0]], 2), (NONE, [], 2), (NONE, [], 0),
                                   (letters, [0, 0], 1), (letters, [[0, 1, 0], [1, 1, 2]], 3),
                                   (texts("", "a", "", "b", "", ""), [0] * 6, 1), (texts("", "", "a", "", "b"), [0, 1, 0, 1, 1], 3)):
            for separator in ("", "+"):
                cases.add("UnsortedSegmentJoin", {"inputs": inputs, "segment_ids": dtype(ids), "num_segments": dtype(count)},
                          {"separator": separator})
        for inputs, ids, count in ((texts("a", "b"), [0, -1], 2), (texts("a", "b"), [0, 2], 2), (texts("a", "b"), [0], 2),
                                   (scalar, 0, 1), (texts("a"), [[0]], 1), (texts("a", "b"), 0, 1), (texts("a"), [0], -1),
                                   (texts("a"), [0], [1]), (texts("a"), [0], 0), (square, [[0], [0]], 1)):
            cases.add("UnsortedSegmentJoin", {"inputs": inputs, "segment_ids": dtype(ids), "num_segments": dtype(count)}, refuse=True)
    cases.write()


def shape_of_text():
    """Operators that look at one string at a time."""
    cases = Cases("string_unary")
    lines = texts("Hello World", "", " \t\n\v\f\r both \t\n\v\f\r ", b"\0 a \0", "   ", "\u00c9T\u00c9 \u00e9t\u00e9", b"\xff[@`{\x7f",
                  "\u00a0nbsp", b"\x80\x80", b"\xe2\x82", "\u20ac\U0001f600")
    for op in ("StringLower", "StringUpper", "StringStrip", "StringLength"):
        for shaped in (lines, NONE, texts("Ab ", shape=()), lines[:4].reshape(2, 1, 2), texts("Xy" * 3000, "a")):
            cases.add(op, {"input": shaped})
    for shaped in (lines, NONE, texts("Ab ", shape=())):
        cases.add("StringLength", {"input": shaped}, {"unit": "UTF8_CHAR"})
    cases.add("StringLower", {"input": lines}, {"encoding": "latin1"}, refuse=True)
    cases.add("StringUpper", {"input": lines}, {"encoding": "UTF-8"}, refuse=True)
    cases.write()


def substr():
    cases = Cases("substr")
    words = texts("hello", "h\u00e9l\u20aco", b"\x80\x80ab\xe2\x82")
    for dtype in (np.int32, np.int64):
        for unit in ("BYTE", "UTF8_CHAR"):
            for pos, length in ((0, 2), (1, 1), (-2, 1), (3, 100), (-3, 100), (2, 0), (-1, 0), (0, -1), (2, -3),
                                (0, np.iinfo(dtype).max), (0, np.iinfo(dtype).min), (1, np.iinfo(dtype).max)):
                cases.add("Substr", {"input": words, "pos": dtype(pos), "len": dtype(length)}, {"unit": unit})
            for pos in (100, -100, np.iinfo(dtype).max, np.iinfo(dtype).min):
                cases.add("Substr", {"input": words, "pos": dtype(pos), "len": dtype(1)}, {"unit": unit}, refuse=True)
            cases.add("Substr", {"input": words, "pos": dtype([1, 2, 0]), "len": dtype([3, 1, 9])}, {"unit": unit})
            cases.add("Substr", {"input": words, "pos": dtype([1]), "len": dtype([2])}, {"unit": unit})
            cases.add("Substr", {"input": words, "pos": dtype([[0], [1]]), "len": dtype([[1], [2]])}, {"unit": unit})
            cases.add("Substr", {"input": words.reshape(3, 1), "pos": dtype([[0, 1]]), "len": dtype([[1, 2]])}, {"unit": unit})
            cases.add("Substr", {"input": texts("hello", shape=()), "pos": dtype([0, 1, 5]), "len": dtype([1, 2, 3])}, {"unit": unit})
            cases.add("Substr", {"input": NONE, "pos": dtype(0), "len": dtype(1)}, {"unit": unit})
            cases.add("Substr", {"input": NONE, "pos": dtype([0]), "len": dtype([1])}, {"unit": unit})
            cases.add("Substr", {"input": texts("a", shape=(1, 1)), "pos": np.zeros([0, 1], dtype), "len": np.zeros([0, 1], dtype)},
                      {"unit": unit})
    cases.add("Substr", {"input": words, "pos": np.int32([1, 2]), "len": np.int32([1])}, refuse=True)
    cases.add("Substr", {"input": words, "pos": np.int32([1, 2]), "len": np.int32([1, 1])}, refuse=True)
    cases.add("Substr", {"input": words, "pos": np.int32(-2), "len": np.int32(-1)}, {"unit": "UTF8_CHAR"}, refuse=True)
    cases.write()


def ngrams():
    cases = Cases("string_ngrams")
    data = texts(*"abcdef")

    def add(data, splits, widths=(2,), left="", right="", pads=0, short=False, separator="|", refuse=False):
        for dtype in (np.int32, np.int64):
            cases.add("StringNGrams", {"data": data, "data_splits": dtype(splits)},
                      {"ngram_widths": list(widths), "left_pad": left, "right_pad": right, "pad_width": pads,
                       "preserve_short_sequences": short, "separator": separator}, refuse=refuse)

    for widths in ([1], [2], [3], [7], [1, 3], [2, 2], [4, 2], [5, 6], []):
        for pads in (0, 1, 2, 5, -1):
            for short in (False, True):
                add(data, [0, 4, 4, 6], widths, "LL", "R", pads, short, refuse=not widths and short and pads < 0)
    add(data, [0, 1, 6], [3], separator="")
    add(data, [0, 1, 6], [3], "", "", 2, separator=" and ")
    for splits in ([], [0], [0, 0]):
        add(NONE, splits, [2], "L", "R", 1)
        add(NONE, splits, [2], "L", "R", -1, True)
    for splits in ([0, 7], [1, 6], [0, 4, 2], [0, 4], [-1, 6], [6], [0, 6, 3, 6]):
        add(data, splits, refuse=True)
    add(data, [0, 6], [0], refuse=True)
    cases.write()


hashes()
as_string()
numbers()
split()
join()
shape_of_text()
substr()
ngrams()
