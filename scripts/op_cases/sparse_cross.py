"""SparseCross, SparseCrossV2, SparseCrossHashed."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("sparse_cross")
rng = np.random.RandomState(5)
L = lambda *items: np.array(items, np.int64)
KEY = 0xDECAFCAFFE


def column(rows, batch, text):
    """A sparse column with that many features per row."""
    indices = [[r, k] for r, n in enumerate(rows) for k in range(n)]
    if text:
        values = np.array([rng.choice(list("abcdefgh")) * rng.randint(0, 15) for _ in indices], dtype=object)
    else:
        values = rng.randint(-2**62, 2**62, len(indices))
    return np.int64(indices).reshape(-1, 2), (values, tf.string if text else tf.int64), L(batch, max(list(rows) + [0]))


def dense(batch, width, text):
    if text:
        return np.array([["%d-%d" % (i, j) for j in range(width)] for i in range(batch)], dtype=object).reshape(batch, width), tf.string
    return rng.randint(-2**62, 2**62, (batch, width)), tf.int64


def split(sparse, dense_inputs):
    return {"indices": [c[0] for c in sparse], "values": [c[1] for c in sparse], "shapes": [c[2] for c in sparse],
            "dense_inputs": dense_inputs}


def v1(sparse, dense_inputs, hashed, buckets=1000, internal=tf.int64, key=KEY, **more):
    cases.add("SparseCross", split(sparse, dense_inputs),
              {"hashed_output": hashed, "num_buckets": buckets, "hash_key": key, "out_type": tf.int64 if hashed else tf.string,
               "internal_type": internal}, **more)


def v2(sparse, dense_inputs, separator="_X_", **more):
    cases.add("SparseCrossV2", {**split(sparse, dense_inputs), "sep": np.array(separator)}, **more)


def hashed(sparse, dense_inputs, buckets=1000, strong=False, salt=(137, 173), **more):
    cases.add("SparseCrossHashed", {**split(sparse, dense_inputs), "num_buckets": np.int64(buckets), "strong_hash": np.bool_(strong),
                                    "salt": np.int64(salt)}, **more)


for texts in ((True, True), (False, True), (False, False)):
    a, b = column([2, 0, 3, 1], 4, texts[0]), column([1, 2, 2, 3], 4, texts[1])
    d, e = dense(4, 2, texts[0]), dense(4, 1, texts[1])
    for name, sparse, side in [("one", [a], []), ("two", [a, b], []), ("sparse and dense", [a, b], [d, e]), ("dense", [], [d, e]),
                               ("dense before", [b], [d]), ("same twice", [a, a], [])]:
        name += " of %s and %s" % tuple("text" if t else "numbers" for t in texts)
        for buckets in (0, 7):
            v1(sparse, side, True, buckets, name=name)
            hashed(sparse, side, buckets, name=name)
        v1(sparse, side, False, name=name)
        v2(sparse, side, name=name)
        v2(sparse, side, "", name=name + ", no separator")
        if texts == (True, True):
            v1(sparse, side, True, internal=tf.string, name=name)
            v1(sparse, side, False, internal=tf.string, name=name)
            hashed(sparse, side, 0, True, name=name + ", strong")
            hashed(sparse, side, 1000, True, (2**63 - 1, -5), name=name + ", strong")

a = column([2, 0, 3, 1], 4, False)
v1([a], [], True, key=0, name="key 0")
v1([a], [], True, key=-1, name="negative key")
v1([a], [dense(4, 0, False)], True, name="a dense column without features")
v1([column([], 3, False)], [], True, name="a sparse column without features")
v1([column([], 0, False)], [], True, name="empty batch")
v1([(L([1, 0], [0, 0], [1, 1]), L(5, 6, 7), L(2, 2))], [], True, name="rows out of order")
v1([(L([0, 0], [5, 0], [1, 1]), L(5, 6, 7), L(2, 2))], [], True, name="row outside")
v2([a], [dense(4, 1, False)], " and ", name="long separator")

good = (L([0, 0], [1, 0]), L(5, 6), L(2, 1))
for name, sparse, side in [
        ("batch of dense", [good], [dense(3, 1, False)]), ("batch of sparse", [good, (good[0], good[1], L(3, 1))], []),
        ("too few values", [(good[0], L(5), good[2])], []), ("indices of rank 1", [(L(0, 1), good[1], good[2])], []),
        ("indices of three columns", [(L([0, 0, 0], [1, 0, 0]), good[1], good[2])], []),
        ("values are a matrix", [(good[0], L([5], [6]), good[2])], []), ("shape of rank 3", [(good[0], good[1], L(2, 1, 1))], []),
        ("shape is a matrix", [(good[0], good[1], L([2, 1]))], []), ("dense vector", [good], [L(1, 2)])]:
    v1(sparse, side, True, name=name, refuse=True)
    v2(sparse, side, name=name, refuse=True)
    hashed(sparse, side, name=name, refuse=True)
v1([good], [], True, internal=tf.string, name="numbers among texts", refuse=True)
v1([good], [], False, internal=tf.string, name="numbers among texts", refuse=True)
cases.add("SparseCrossV2", {**split([good], []), "sep": np.array(["a"])}, name="separator is a vector", refuse=True)
hashed([good], [], salt=(1,), name="one salt", refuse=True)
cases.write()
