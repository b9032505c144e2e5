"""StringLower and StringUpper of text in UTF-8."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(31)
cases = Cases("string_case")
CODES = [code for code in range(1, 0x20000) if not 0xd800 <= code < 0xe000]


def changed(function):
    """The characters that the function changes, and their neighbours."""
    answers = function([chr(code).encode() for code in CODES], encoding="utf-8").numpy()
    some = {code + d for code, answer in zip(CODES, answers) if answer != chr(code).encode() for d in (-1, 0, 1)}
    return [chr(code).encode() for code in sorted(some) if code > 0]


def both(texts, name):
    for op in ("StringLower", "StringUpper"):
        cases.add(op, {"input": np.array(texts, dtype=object)}, {"encoding": "utf-8"}, name=name)


for op, function in (("StringLower", tf.strings.lower), ("StringUpper", tf.strings.upper)):
    cases.add(op, {"input": np.array(changed(function), dtype=object)}, {"encoding": "utf-8"}, name="every character")

# Ends of words: letters, marks that are passed over and others, around a sigma.
marks = [0x27, 0x2e, 0x3a, 0x5e, 0xa8, 0xad, 0xb7, 0x2b0, 0x300, 0x345, 0x37a, 0x483, 0x5d0, 0x600, 0x1c5, 0x200d, 0x2019, 0x2160, 0x24b6,
         0x3042, 0xfe00, 0xfe13, 0xff07, 0x1f130, 0x1f1e6, 0x1f3fb, 0xe0001, 0xe0100, 0x20, 0x30, 0x61, 0x41, 0x3c3, 0x3a3]
pairs = [(b, c) for b in ["", *map(chr, marks)] for c in ["", *map(chr, marks)] if b in ("", c) or c == ""]
around = [a + b + "\u03a3" + c + d for a in ("", "a", " ") for b, c in pairs for d in ("", "a")]
both([text.encode() for text in around], "ends of words")
both(["\u039f\u0394\u039f\u03a3 \u039f\u0394\u039f\u03a3. \u03a3 \u03a3\u03a3 \u03a3\u0391\u03a3\u03a3\u0391".encode(), "I\u0130\u0131\u00df\ufb03\u0149".encode(), b""],
     "words")
broken = [b"A\0B", b"\0", b"\xc3", b"A\xedA\xa0\x80B", b"\xff\xfeQ", b"\xe2\x82A", b"\xf0\x9f\x98", b"\xef\xbb\xbfAB", b"\xc0\x80A", b"\xf4\x90\x80\x80Z",
          b"\xce\xa3\xff\xce\xa3", b"A\xce\xa3\xcc", b"A\xff\xce\xa3"]
both(broken + [bytes(rng.integers(0, 256, rng.integers(1, 12)).astype(np.uint8)) for _ in range(300)], "malformed")
both([[b"\xc3\x84", b"x"], [b"", b"\xc3\xa4"]], "a matrix")
both(np.array([], dtype=object), "none")
cases.write()
