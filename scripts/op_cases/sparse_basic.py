"""SparseReshape, SparseFillEmptyRows, SparseToDense."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

ALL = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
       "uint64", "bool", "complex64", "complex128"]

cases = Cases("sparse_basic")
rng = np.random.RandomState(3)
L = lambda *items: np.array(items, np.int64)
NONE = np.zeros((0, 2), np.int64)


def reshape(indices, shape, new, **more):
    cases.add("SparseReshape", {"input_indices": np.int64(indices), "input_shape": np.int64(shape),
                                "new_shape": np.int64(new)}, **more)


some = [[0, 1], [0, 3], [2, 0], [2, 3]]
reshape(some, [3, 4], [2, -1], name="infers one")
reshape(some, [3, 4], [12], name="flat")
reshape(some, [3, 4], [2, 3, 2, 1], name="rank 4")
reshape(some, [3, 4], [3, -1], name="same shape")
reshape(some, [3, 4], [3, 4], name="same shape, all given")
reshape([[0, 1], [99, 3]], [3, 4], [3, 4], name="same shape does not look at indices")
reshape([[0, 1], [99, 3]], [3, 4], [4, -1], name="outside")
reshape([[0, 1], [-2, 3]], [3, 4], [4, -1], name="negative")
reshape([[11], [3]], [12], [3, 2, 2], name="unordered")
reshape(NONE, [3, 4], [4, 3], name="no values")
reshape(NONE, [0, 4], [0, 5], name="no cells")
reshape(NONE, [0, 4], [-1, 5], name="no cells, inferred")
reshape([[0, 0]], [1, 1], [], name="to a scalar")
reshape(np.zeros((1, 0)), [], [1, 1], name="from a scalar")
reshape(NONE, [2**62, 1], [-1], name="huge")
reshape([[2**40, 5]], [2**41, 8], [8, -1], name="large cells")
reshape(rng.randint(0, 2, (9, 9)), [2] * 9, [4] * 4 + [2], name="rank 9")
for name, indices, shape, new in [
        ("two unknown", some, [3, 4], [-1, -1]), ("negative size", some, [3, 4], [-2, -1]),
        ("not a multiple", some, [3, 4], [5, -1]), ("other size", some, [3, 4], [5, 2]),
        ("unknown beside zero", NONE, [0, 4], [0, -1]), ("values without cells", [[0, 1]], [0, 4], [0, 5]),
        ("negative dimension", [[0, 1]], [-3, 4], [0, 4]), ("rank of indices", [[0, 1, 2]], [3, 4], [4, 3]),
        ("rank of indices below", [[1]], [3, 4], [4, 3]), ("input overflows", NONE, [2**40, 2**40], [-1]),
        ("output overflows", NONE, [2**40, 1], [2**40, 2**40]), ("indices are a vector", [0, 1], [3, 4], [4, 3]),
        ("shape is a matrix", [[0, 1]], [[3, 4]], [4, 3]), ("new shape is a scalar", [[0, 1]], [3, 4], 12)]:
    reshape(indices, shape, new, name=name, refuse=True)


def fill(indices, values, shape, default, **more):
    cases.add("SparseFillEmptyRows", {"indices": np.int64(indices), "values": values, "dense_shape": np.int64(shape),
                                      "default_value": default}, **more)


f = np.float32
for dtype in ALL:
    t = tf.as_dtype(dtype)
    fill([[0, 0], [2, 1], [2, 0]], ([1, 0, 1], t), [4, 2], (1, t), name=dtype)
fill([[0, 0], [2, 1]], np.array(["one", ""]), [4, 2], np.array("none"), name="string")
fill([[2, 1], [0, 0], [2, 0], [1, 7]], f([1, 2, 3, 4]), [5, 2], f(9), name="unordered")
fill([[1, 1], [0, 0]], f([1, 2]), [2, 2], f(9), name="full but unordered")
fill([[0, 5], [0, 4], [1, -3]], f([1, 2, 3]), [2, 2], f(9), name="full and ordered")
fill([[1]], np.array(["a"]), [3], np.array("d"), name="rank 1")
fill([[1, 0, 3, 2]], np.int64([7]), [3, 2, 4, 5], np.int64(-1), name="rank 4")
fill(NONE, f([]), [3, 2], f(9), name="all rows empty")
fill(NONE, f([]), [0, 2], f(9), name="no rows")
for name, indices, values, shape, default in [
        ("row too large", [[0, 0], [4, 1]], [1, 2], [4, 2], 9), ("negative row", [[0, 0], [-4, 1]], [1, 2], [4, 2], 9),
        ("values without rows", [[0, 0]], [1], [0, 2], 9), ("negative rows", NONE, [], [-1, 2], 9),
        ("no shape", NONE, [], [], 9), ("rank of shape", [[0, 0]], [1], [4], 9), ("too few values", [[0, 0], [2, 1]], [1], [4, 2], 9),
        ("default is a vector", [[0, 0]], [1], [4, 2], [9]), ("indices are a vector", [0, 0], [1, 2], [4, 2], 9),
        ("no columns", np.zeros((1, 0)), [1], [4, 2], 9), ("values are a matrix", [[0, 0]], [[1]], [4, 2], 9),
        ("shape is a matrix", [[0, 0]], [1], [[4, 2]], 9)]:
    fill(indices, f(values), shape, f(default), name=name, refuse=True)


def dense(indices, shape, values, default, validate=True, **more):
    cases.add("SparseToDense", {"sparse_indices": indices, "output_shape": shape, "sparse_values": values,
                                "default_value": default}, {"validate_indices": validate}, **more)


for dtype in ALL:
    t = tf.as_dtype(dtype)
    dense(L([0, 1], [1, 0]), L(2, 2), ([1, 1], t), (0, t), name=dtype)
    dense(np.int32([1, 3]), np.int32([5]), (1, t), (0, t), name=dtype + " one value")
i = np.int32
dense(L([0, 1], [1, 0]), L(2, 2), np.array(["a", "long enough to be on the heap"]), np.array("-"), name="string")
dense(i(3), i([5]), f(1), f(0), name="scalar index")
dense(i(3), i([5]), f([1]), f(0), name="scalar index, one value")
dense(i([3, 1, 1]), i([5]), f([1, 2, 3]), f(0), validate=False, name="unordered, repeated")
dense(L([0, 1, 0, 1], [1, 0, 1, 0]), L(2, 2, 2, 2), f([1, 2]), f(-1), name="rank 4")
dense(NONE, L(2, 2), f([]), f(7), name="no values")
dense(i([]), i([3]), f([]), f(7), name="no values, vector")
dense(np.zeros((1, 0), np.int64), L(), f([5]), f(7), name="scalar")
dense(np.zeros((0, 0), np.int64), L(), f([]), f(7), name="scalar without value")
dense(NONE, L(0, 4), f([]), f(7), name="no cells")
for name, indices, shape, values, default in [
        ("unordered", [3, 1], [5], 1, 0), ("repeated", [1, 1], [5], [1, 2], 0), ("outside", [3, 7], [5], [1, 2], 0),
        ("negative", [-1, 2], [5], [1, 2], 0), ("indices of rank 3", [[[1]]], [5], [1], 0),
        ("rank of shape", [1], [5, 5], [1], 0), ("too many values", [1], [5], [1, 2], 0), ("values are a matrix", [1], [5], [[1]], 0),
        ("default is a vector", [1], [5], [1], [0]), ("negative shape", [1], [-5], [1], 0),
        ("rows out of order", [[1, 0], [0, 1]], [2, 2], [1, 2], 0), ("shape is a scalar", [1], 5, [1], 0),
        ("into no cells", [[1, 0]], [2, 0], [1], 0)]:
    dense(i(indices), i(shape), f(values), f(default), name=name, refuse=True)
dense(i([3, 7]), i([5]), f([1, 2]), f(0), validate=False, refuse=True, name="outside, not validated")
dense(i([-1, 2]), i([5]), f([1, 2]), f(0), validate=False, refuse=True, name="negative, not validated")
dense(L([0, 0]), L(2**31, 2**31), f([1]), f(0), refuse=True, name="too large")
cases.write()
