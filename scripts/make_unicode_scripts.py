#!/usr/bin/env python3
"""Writes engine/ops/unicode_scripts.inc: the script of every character.

What TensorFlow's UnicodeScript answers is asked of it, character by character: ICU's
codes (UScriptCode) for the script property of the Unicode Character Database
(Scripts.txt), of the version that TensorFlow was built with.  A line is the first
character of a run and its script.

    PYTHON scripts/make_unicode_scripts.py      # PYTHON: tensorflow-cpu==2.15.1 'numpy<2'
"""
import os
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "engine/ops/unicode_scripts.inc")
PER_LINE = 6

scripts = tf.strings.unicode_script(np.arange(0x110000, dtype=np.int32)).numpy()
starts = np.concatenate([[0], np.flatnonzero(np.diff(scripts)) + 1])
assert scripts.min() >= 0 and scripts.max() < 256
runs = ["{0x%05x, %d}," % (start, scripts[start]) for start in starts]
with open(PATH, "w") as file:
    file.write("/* Made by scripts/make_unicode_scripts.py; not to be edited. */\n")
    for at in range(0, len(runs), PER_LINE):
        file.write(" ".join(runs[at:at + PER_LINE]) + "\n")
print("%s: %d runs" % (PATH, len(runs)))
