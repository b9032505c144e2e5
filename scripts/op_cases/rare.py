"""Operators that few models have: losses, approximate top-k."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

FLOATING = ["float32", "float64", "float16", "bfloat16"]
REAL = FLOATING + ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ALL = REAL + ["bool", "complex64", "complex128"]
NEAR = {"float32": 1e-5, "float64": 1e-6, "float16": 5e-3, "bfloat16": 4e-2}

cases = Cases("rare")
rng = np.random.RandomState(10)
f = np.float32


def typed(values, dtype):
    return np.asarray(values), tf.as_dtype(dtype)


# ---------------------------------------------------------------------- losses


def cross(features, labels, near=1e-5, **more):
    cases.add("SoftmaxCrossEntropyWithLogits", {"features": features, "labels": labels}, rtol=near, atol=near, **more)


logits = rng.normal(size=(5, 7)) * 3
labels = rng.dirichlet(np.ones(7), 5)
for dtype in FLOATING:
    cross(typed(logits, dtype), typed(labels, dtype), NEAR[dtype], name=dtype)
for name, a, b in [("one row of labels", logits, labels[:1]), ("one row of logits", logits[:1], labels), ("one class of labels", logits, labels[:, :1]),
                   ("large", logits * 1e4, labels), ("no rows", logits[:0], labels[:0]), ("one class", logits[:, :1], np.ones((5, 1))),
                   ("no classes", logits[:, :0], labels[:, :0]), ("not a distribution", logits, labels * 3 - 1)]:
    cross(f(a), f(b), name=name)
cross(f([[1, -np.inf, 2]]), f([[.5, .25, .25]]), name="minus infinity")
cross(f([[1, np.nan, 2]]), f([[.5, .25, .25]]), name="NaN")
for name, a, b in [("vectors", logits[0], labels[0]), ("rank 3", logits[None], labels[None]), ("classes", logits, labels[:, :3]), ("rows", logits, labels[:2])]:
    cross(f(a), f(b), name=name, refuse=True)

# ----------------------------------------------------------------------- top-k


def approximate(values, k, **more):
    cases.add("ApproxTopK", {"input": values}, {"k": k, "reduction_dimension": -1, "is_max_k": True}, shaped=True, **more)


distinct = rng.permutation(60).reshape(3, 20)
for dtype in ("float32", "float16", "bfloat16"):
    approximate(typed(distinct, dtype), 4, name=dtype)
for k in (1, 2, 20):
    approximate(f(distinct), k, name="%d of 20" % k)
approximate(f(distinct.reshape(3, 4, 5)), 3, name="rank 3")
approximate(f(distinct[0]), 5, name="vector")

# ------------------------------------------------------------------- the others

for dtype in ALL:
    cases.add("Empty", {"shape": np.int32([2, 3])}, {"dtype": tf.as_dtype(dtype), "init": True}, name=dtype)
cases.add("Empty", {"shape": np.int32([2])}, {"dtype": tf.string, "init": True}, name="string")
cases.add("Empty", {"shape": np.int32([])}, {"dtype": tf.float32, "init": True}, name="scalar")
cases.add("Empty", {"shape": np.int32([2, 0])}, {"dtype": tf.float32}, name="no elements")
cases.add("Empty", {"shape": np.int32([-2])}, {"dtype": tf.float32}, name="negative", refuse=True)
cases.add("Empty", {"shape": np.int32([[2]])}, {"dtype": tf.float32}, name="shape is a matrix", refuse=True)
for dtype in REAL + ["complex64", "complex128"]:
    cases.add("ScatterNdNonAliasingAdd", {"input": typed([1, 2, 3], dtype), "indices": np.int32([[2], [0], [2]]), "updates": typed([1, 1, 5], dtype)},
              name=dtype)
cases.add("ScatterNdNonAliasingAdd", {"input": np.array([True, False, False, False]), "indices": np.int32([[0], [1], [1], [2]]),
                                      "updates": np.array([False, True, False, False])}, name="bool")
cases.add("ScatterNdNonAliasingAdd", {"input": f([1]), "indices": np.int32([[2]]), "updates": f([1])}, name="outside", refuse=True)
for op in ("Copy", "CopyHost"):
    cases.add(op, {"input": f([1, 2])})
    cases.add(op, {"input": np.array(["a"])}, name="string")

cases.write()
