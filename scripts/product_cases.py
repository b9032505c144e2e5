#!/usr/bin/env python3
"""Writes what TensorFlow multiplies, to the bit: tests/unit/engine/kernels/product_cases.inc.

    product_cases.py FOLDER

Element i of a matrix is numbers(i, salt); of each product the bits of all elements are
made one FNV-1a digest.  TensorFlow cuts long sums by the size of the first-level cache: this is
for one of 48 KiB, a processor with AVX2 and oneDNN off.
"""
import os
import sys

if set(sys.argv[1:]) & {"-h", "--help", "help"}:
    sys.exit(print(__doc__))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

# rows, terms, columns, transpose_b, with a bias
CASES = [
    (1, 100, 40, 0, 0), (1, 300, 40, 0, 1), (1, 845, 33, 0, 1), (1, 100, 40, 1, 0), (1, 131, 7, 1, 0),
    (1, 17, 1, 0, 0), (1, 18, 1, 1, 0), (1, 429, 1, 0, 0), (1, 429, 1, 1, 0), (5, 13, 1, 0, 0), (5, 12, 1, 1, 0),
    (5, 64, 1, 0, 0), (5, 429, 1, 0, 0), (8, 900, 1, 0, 0),
    (4, 7, 1, 0, 1), (3, 16, 1, 0, 1), (5, 429, 1, 0, 1), (2, 609, 1, 1, 1), (8, 2500, 1, 0, 1), (1, 45, 1, 0, 1), (1, 429, 1, 0, 1),
    (2, 37, 3, 0, 1), (2, 300, 33, 0, 0), (7, 384, 64, 1, 1), (3, 400, 64, 0, 1), (3, 512, 65, 0, 0),
    # the last column is left over
    (2, 64, 49, 0, 0), (7, 64, 97, 1, 1), (64, 64, 49, 0, 0), (64, 64, 97, 0, 1), (200, 64, 193, 0, 1), (12, 580, 145, 1, 0),
    (7, 16, 145, 0, 0), (2, 64, 1057, 0, 0), (7, 64, 289, 0, 0), (200, 64, 49, 1, 0), (600, 8, 49, 0, 1), (20, 300, 577, 0, 0),
    # the last row
    (313, 424, 4, 0, 0), (217, 455, 15, 0, 1), (241, 1495, 2, 1, 0), (265, 580, 17, 1, 1), (121, 400, 23, 0, 0), (73, 1107, 14, 0, 1),
    (7, 845, 70, 0, 1), (2, 900, 17, 1, 0), (4, 2500, 8, 0, 1), (300, 609, 20, 0, 1),
]


def numbers(count, salt):
    i = np.arange(count, dtype=np.uint64)
    mixed = (i * np.uint64(2654435761) + np.uint64(salt * 40503)) & np.uint64(0xFFFFFFFF)
    mixed ^= mixed >> np.uint64(15)
    mixed = (mixed * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    return ((mixed >> np.uint64(8)).astype(np.float64) / 2**24 - 0.5).astype(np.float32)


def digest(values):
    state = 0xCBF29CE484222325
    for word in values.reshape(-1).view(np.uint32):
        state = ((state ^ int(word)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state


def product(m, k, n, transposed, biased):
    one = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Graph().as_default(), tf.Session(config=one) as session:
        x = tf.placeholder(tf.float32, [None, k])
        w = numbers(k * n, 2).reshape([n, k] if transposed else [k, n])
        y = tf.matmul(x, tf.constant(w), transpose_b=bool(transposed))
        if biased:
            y = tf.nn.bias_add(y, tf.constant(numbers(n, 3)))
        return session.run(y, {x: numbers(m * k, 1).reshape(m, k)})


def main():
    with open(os.path.join(sys.argv[1], "product_cases.inc"), "w") as out:
        out.write("/* By scripts/product_cases.py and TensorFlow %s. */\n" % tf.__version__)
        for case in CASES:
            out.write("{%d, %d, %d, %d, %d, 0x%016x},\n" % (*case, digest(np.ascontiguousarray(product(*case)))))


main()
