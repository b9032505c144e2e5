#!/usr/bin/env python3
"""Writes tests/unit/base/hash_cases.inc: what TensorFlow answers for one text per length.

Byte i of the text of length n is (i * 131 + n * 7 + 3) mod 256, so that texts of
neighbouring lengths share nothing.  The strong and the legacy hash come out of
TensorFlow only modulo a bucket count; 2^63 - 1 is the largest it takes.
"""
import os
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf  # noqa: E402

LENGTHS = range(301)
BUCKETS = 2**63 - 1
KEY = [0x0123456789ABCDEF, 0x0FEDCBA987654321]


def text(n):
    return bytes((i * 131 + n * 7 + 3) % 256 for i in range(n))


def main():
    texts = tf.constant([text(n) for n in LENGTHS])
    fingerprints = tf.fingerprint(texts).numpy()
    strong = tf.raw_ops.StringToHashBucketStrong(input=texts, num_buckets=BUCKETS, key=KEY).numpy()
    legacy = tf.raw_ops.StringToHashBucket(string_tensor=texts, num_buckets=BUCKETS).numpy()
    with open(sys.argv[1], "w") as out:
        out.write("/* Made by scripts/hash_cases.py with TensorFlow %s: " % tf.__version__)
        out.write("fingerprint, strong and legacy hash. */\n")
        for n in LENGTHS:
            fingerprint = int.from_bytes(bytes(fingerprints[n]), "little")
            out.write("{0x%016x, 0x%016x, 0x%016x},\n" % (fingerprint, strong[n], legacy[n]))


main()
