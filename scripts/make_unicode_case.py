#!/usr/bin/env python3
"""Writes engine/ops/string/unicode_case.inc: what every character becomes in lower and in upper case.

What TensorFlow's StringLower and StringUpper answer under encoding "utf-8" is asked
of them, character by character: ICU's full case mapping of the Unicode Character
Database (UnicodeData.txt, SpecialCasing.txt), of the version that TensorFlow was
built with.  Which characters have case, and which are passed over where the end of
a word is looked for, is seen from what becomes of a sigma behind them.

    PYTHON scripts/make_unicode_case.py      # PYTHON: tensorflow-cpu==2.15.1 'numpy<2'
"""
import os
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "engine/ops/string/unicode_case.inc")
CODES = [code for code in range(1, 0x110000) if not 0xd800 <= code < 0xe000]  # a text ends at U+0000
NONE, CASED, IGNORED = range(3)
SIGMA, FINAL = "\u03a3", "\u03c2"


def ask(function, texts):
    return [text.decode() for text in function([text.encode() for text in texts], encoding="utf-8").numpy()]


def runs_of(mapped):
    """(first, last, step, delta) of characters that become one other each, in steps of 1 or 2."""
    runs = []
    for code, to in mapped.items():
        delta = to - code
        if runs and runs[-1][3] == delta and runs[-1][2] in (0, code - runs[-1][1]) and code - runs[-1][1] <= 2:
            first, last, _, _ = runs[-1]
            runs[-1] = (first, code, code - last, delta)
        else:
            runs.append((code, code, 0, delta))
    return ["{0x%05x, 0x%05x, %d, %d}," % (first, last, max(step, 1), delta) for first, last, step, delta in runs]


def write(file, declaration, items):
    file.write("static const %s[] = {\n" % declaration)
    line = ""
    for item in items + [None]:
        if item is None or len(line) + len(item) > 110:
            file.write("\t%s\n" % line.rstrip())
            line = ""
        line += (item or "") + " "
    file.write("};\n")


def write_mapping(file, name, function):
    answers = dict(zip(CODES, ask(function, map(chr, CODES))))
    write(file, "case_run %s_runs" % name, runs_of({c: ord(a) for c, a in answers.items() if len(a) == 1 and a != chr(c)}))
    write(file, "case_expansion %s_expansions" % name,
          ["{0x%04x, %d, {%s}}," % (c, len(a), ", ".join("0x%04x" % ord(x) for x in a)) for c, a in answers.items() if len(a) > 1])


def class_of(after_letter, alone):
    if alone:
        return CASED
    return IGNORED if after_letter else NONE


def write_classes(file):
    after_letter = ask(tf.strings.lower, ["a" + chr(code) + SIGMA for code in CODES])
    alone = ask(tf.strings.lower, [chr(code) + SIGMA for code in CODES])
    classes = {code: class_of(a.endswith(FINAL), b.endswith(FINAL)) for code, a, b in zip(CODES, after_letter, alone)}
    starts, last = ["{0x00000, %d}," % NONE], NONE
    for code, kind in classes.items():
        if kind != last:
            starts.append("{0x%05x, %d}," % (code, kind))
            last = kind
    write(file, "class_run class_runs", starts)


with open(PATH, "w") as out:
    out.write("/* Made by scripts/make_unicode_case.py; not to be edited. */\n")
    write_mapping(out, "lower", tf.strings.lower)
    write_mapping(out, "upper", tf.strings.upper)
    write_classes(out)
print("%s: %d bytes" % (PATH, os.path.getsize(PATH)))
