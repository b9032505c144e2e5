"""Ragged tensors made dense, made sparse, gathered, counted."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

ALL = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "complex64"]

cases = Cases("ragged")
rng = np.random.RandomState(6)
f = np.float32
L = lambda *items: np.array(items, np.int64)
v = f([1, 2, 3, 4, 5])
pairs = np.arange(10).reshape(5, 2).astype(f)
S, R, F = "ROW_SPLITS", "VALUE_ROWIDS", "FIRST_DIM_SIZE"


def dense(shape, values, default, partitions, types, index=np.int64, **more):
    cases.add("RaggedTensorToTensor", {"shape": index(shape), "values": values, "default_value": default,
                                       "row_partition_tensors": [index(p) for p in partitions]}, {"row_partition_types": types}, **more)


splits = [0, 2, 2, 5]
for dtype in ALL:
    t = tf.as_dtype(dtype)
    dense(-1, ([1, 0, 1, 0, 1], t), (1, t), [splits], [S], name=dtype)
dense(-1, np.array(["a", "b"]), np.array("z"), [[0, 0, 2]], [S], name="string")
for name, shape in [("any", -1), ("larger and narrower", [4, 2]), ("narrower", [-1, 2]), ("fewer rows", [2, -1]), ("wider", [3, 7]),
                    ("no columns", [-1, 0]), ("no rows", [0, 3])]:
    for index in (np.int32, np.int64):
        dense(shape, v, f(9), [splits], [S], index, name=name)
        dense(shape, v, f(9), [4, [0, 0, 2, 2, 2]], [F, R], index, name=name + ", row ids")
for name, default in [("scalar", f(7)), ("vector", f([7, 8])), ("one", f([7]))]:
    dense(-1, pairs, default, [splits], [S], name="default is a " + name)
dense(-1, np.arange(30).reshape(5, 2, 3).astype(f), f([[1, 2, 3], [4, 5, 6]]), [splits], [S], name="default is a matrix")
dense(-1, np.arange(30).reshape(5, 2, 3).astype(f), f([[1], [4]]), [splits], [S], name="default is stretched")
dense(-1, v, f(0), [[4], [0, 0, 2, 2, 2]], [F, R], name="size as a vector")
dense(-1, v, f(0), [4, [0, 0, 2]], [F, R], name="fewer row ids than values")
dense(-1, v, f(0), [[0, 2, 4]], [S], name="fewer than the values")
for name, shape in [("any", -1), ("given", [3, 1, 2]), ("mixed", [-1, 3, -1])]:
    dense(shape, v, f(0), [[0, 2, 3], [0, 1, 3, 5]], [S, S], name="two levels, " + name)
    dense(shape, v, f(0), [2, [0, 0, 1], [0, 1, 3, 5]], [F, R, S], name="two levels of two kinds, " + name)
    dense(shape, v, f(0), [2, [0, 0, 1], [0, 1, 1, 2, 2]], [F, R, R], name="two levels of row ids, " + name)
dense(-1, pairs, f(0), [[0, 1, 3], [0, 1, 1, 3], [0, 2, 3, 5]], [S, S, S], name="three levels")
dense(-1, v, f(0), [[0, 2, 5], [0, 1, 3, 5]], [S, S], name="outer splits reach further")
dense([-1, 2], v[:3], f(0), [[0, 1, 9]], [S], name="splits behind the values, cut off")
dense([2, 2], v[:3], f(0), [[0, 1, 3, 9]], [S], name="rows behind the values, cut off")
dense(-1, f([]), f(8), [[0]], [S], name="no rows at all")
dense(-1, f([]), f(8), [[0, 0, 0]], [S], name="empty rows")
dense([3, 4], f([]), f(8), [[0, 0, 0]], [S], name="empty rows, filled")
for name, shape, values, default, partitions, types in [
        ("rank of shape", [2, -1, -1], v, 9, [splits], [S]), ("rank of shape below", [-1], v, 9, [splits], [S]),
        ("shape below -1", [-2, 2], v, 9, [splits], [S]), ("scalar shape", 3, v, 9, [splits], [S]),
        ("inner dimension", [-1, 2, 3], pairs, 9, [splits], [S]), ("wide default", -1, pairs, [7, 8, 9], [splits], [S]),
        ("default of higher rank", -1, v, [[7]], [splits], [S]), ("default of the values' rank", -1, v, [7], [splits], [S]),
        ("row id too large", -1, v, 9, [2, [0, 0, 2, 2, 2]], [F, R]), ("negative row id", -1, v, 9, [2, [0, 0, -1, 1, 1]], [F, R]),
        ("decreasing splits", -1, v, 9, [[0, 4, 2, 5]], [S]), ("splits do not begin with 0", -1, v, 9, [[2, 4, 5]], [S]),
        ("negative splits", -1, v, 9, [[0, -2, 5]], [S]), ("no splits", -1, f([]), 9, [[]], [S]),
        ("inner splits of too many rows", -1, v, 9, [[0, 2], [0, 1, 3, 5]], [S, S])]:
    dense(shape, values, f(default), partitions, types, name=name, refuse=True)


def sparse(nested, values, index=np.int64, **more):
    cases.add("RaggedTensorToSparse", {"rt_nested_splits": [index(s) for s in nested], "rt_dense_values": values}, **more)


for index in (np.int32, np.int64):
    sparse([splits], v, index, name="one level")
    sparse([[0, 2, 3], [0, 1, 3, 5]], v, index, name="two levels")
sparse([[0, 0, 1, 3], [0, 1, 1, 3], [0, 2, 3, 5]], pairs, name="three levels")
sparse([splits], pairs, name="inner dimension")
sparse([splits], np.arange(30).reshape(5, 2, 3), name="two inner dimensions")
sparse([splits], np.array(list("abcde")), name="string")
sparse([splits], ([1, 0, 1, 1, 0], tf.bfloat16), name="bfloat16")
sparse([[0]], f([]), name="no rows")
sparse([[0, 0, 0]], f([]), name="empty rows")
sparse([[0, 0, 0]], np.zeros((0, 3), f), name="empty rows, inner dimension")
for name, nested, values in [("short outer", [[0, 2, 2], [0, 1, 3, 5]], v), ("short", [[0, 2]], v), ("long", [[0, 2, 9]], v),
                             ("decreasing", [[0, 4, 2, 5]], v), ("does not begin with 0", [[1, 4, 5]], v), ("empty", [[]], v),
                             ("scalar values", [[0, 0]], f(1))]:
    sparse(nested, values, name=name, refuse=True)


def gather(nested, values, indices, index=np.int64, **more):
    cases.add("RaggedGather", {"params_nested_splits": [index(s) for s in nested], "params_dense_values": values, "indices": indices},
              {"OUTPUT_RAGGED_RANK": len(nested) + np.ndim(indices) - 1}, **more)


two = [[0, 2, 3], [0, 1, 3, 5]]
i = np.int32
for index in (np.int32, np.int64):
    for ti in (np.int32, np.int64):
        gather([splits], v, ti([2, 0, 2]), index, name="rows")
        gather(two, v, ti([1, 0, 1]), index, name="two levels")
gather([splits], v, i(2), name="scalar")
gather(two, v, i(1), name="two levels, scalar")
gather([splits], v, i([[2, 0], [1, 1]]), name="matrix")
gather([splits], v, i([[[2, 0], [1, 1]]]), name="rank 3")
gather(two, v, i([[1, 0], [0, 0]]), name="two levels, matrix")
gather([splits], pairs, i([2, 0]), name="inner dimension")
gather([splits], np.array(list("abcde")), i([2, 0]), name="string")
gather([splits], v, i([]), name="nothing")
gather([splits], v, np.zeros((2, 0), i), name="rows of nothing")
gather([[0]], v, i([]), name="nothing from no rows")
gather([[1, 2, 5]], v, i([0, 1]), name="does not begin with 0")
gather([[0, 2, 4]], v, i([1]), name="does not reach the end")
for name, nested, values, indices in [("index too large", [splits], v, [3]), ("negative index", [splits], v, [-1]),
                                      ("decreasing", [[0, 4, 2, 5]], v, [0]), ("past the values", [[0, 2, 9]], v, [0]),
                                      ("past the inner rows", [[0, 2, 9], [0, 1, 3, 5]], v, [0]), ("negative splits", [[-1, 2, 5]], v, [0]),
                                      ("scalar values", [[0, 2, 5]], f(1), [0])]:
    gather(nested, values, i(indices), name=name, refuse=True)


def span(starts, limits, deltas, splits_type=tf.int64, **more):
    cases.add("RaggedRange", {"starts": starts, "limits": limits, "deltas": deltas}, {"Tsplits": splits_type}, **more)


for t in (np.int32, np.int64, np.float32, np.float64):
    for splits_type in (tf.int32, tf.int64):
        span(t([0, 5, 8]), t([3, 5, 12]), t([1, 1, 2]), splits_type, name=t.__name__)
        span(t(0), t([3, 5]), t(1), splits_type, name=t.__name__ + " of a scalar")
    span(t(0), t(3), t(1), name=t.__name__ + " of scalars")
    span(t(5), t(0), t(-2), name=t.__name__ + " down")
    span(t(5), t([0, 9]), t([2, -2]), name=t.__name__ + " the wrong way")
    span(t([]), t(3), t(1), name=t.__name__ + " of nothing")
    span(t(0), t(3), t(0), name=t.__name__ + " without a step", refuse=True)
    span(t([0, 1]), t([3, 4, 5]), t(1), name=t.__name__ + " of unlike vectors", refuse=True)
    span(t([0]), t([3, 4]), t(1), name=t.__name__ + " of a vector of one", refuse=True)
    span(t([[0, 1]]), t(3), t(1), name=t.__name__ + " of a matrix", refuse=True)
span(f(0), f([1, 2.5]), f(0.1), name="steps that are not exact")
span(np.float64([0, 1]), np.float64([1, -1]), np.float64([0.1, -0.3]), name="steps that are not exact, double")
for limit in (np.nan, np.inf):
    span(f(0), f(limit), f(1), name="to %s" % limit, refuse=True)


def count(nested, values, size, weights, binary=False, **more):
    cases.add("RaggedBincount", {"splits": np.int64(nested), "values": values, "size": values.dtype.type(size), "weights": weights},
              {"binary_output": binary}, **more)


for t in (np.int32, np.int64):
    numbers = t([1, 0, 1, 1, 7])
    for w in (np.float32, np.float64, np.int32, np.int64):
        for binary in (False, True):
            count(splits, numbers, 3, w([]), binary, name=w.__name__)
            count(splits, numbers, 8, w([1, 2, 3, 4, 5]), binary, name=w.__name__ + ", weighted")
    count([0, 2, 4], t([[1, 0], [1, 1]]), 3, f([]), name="values are a matrix")
    count(splits, numbers, 0, f([]), name="no bins")
    count([0], t([]), 3, f([]), name="no rows")
    count(splits, t([1, 0, 1, -1, 2]), 3, f([]), name="negative value", refuse=True)
    count(splits, numbers, -3, f([]), name="negative size", refuse=True)
    count([0, 2, 2, 4], numbers, 3, f([]), name="splits too short", refuse=True)
    count([0, 2, 2, 9], numbers, 3, f([]), name="splits too long", refuse=True)
    count([1, 2, 2, 5], numbers, 3, f([]), name="splits do not begin with 0", refuse=True)
    count([], numbers, 3, f([]), name="no splits", refuse=True)
cases.write()
