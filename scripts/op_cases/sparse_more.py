"""Sparse tensors cut, joined, put in order, reduced, and met with dense ones."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

REAL = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64"]
ALL = REAL + ["bool", "complex64", "complex128"]

cases = Cases("sparse_more")
rng = np.random.RandomState(4)
f = np.float32
NONE = np.zeros((0, 2), np.int64)
SOME = [[0, 0], [0, 3], [1, 1], [2, 4]]
SHAPE = [3, 5]


def typed(values, dtype):
    return values, tf.as_dtype(dtype)


def random_indices(shape, count, ordered=True):
    cells = rng.choice(int(np.prod(shape)), count, replace=False)
    if ordered:
        cells = np.sort(cells)
    return np.stack(np.unravel_index(cells, shape), 1)


# ------------------------------------------------------------------ reordering


def reorder(indices, values, shape, **more):
    cases.add("SparseReorder", {"input_indices": np.int64(indices), "input_values": values, "input_shape": np.int64(shape)},
              **more)


for dtype in ALL:
    reorder([[2, 4], [0, 1], [0, 0]], typed([1, 0, 1], dtype), SHAPE, name=dtype)
reorder([[2, 1], [0, 1]], np.array(["a", "b"]), SHAPE, name="string")
reorder([[2, 4], [0, 1], [0, 1]], f([1, 2, 3]), SHAPE, name="repeated")
reorder([[2, 7], [0, 1]], f([1, 2]), SHAPE, name="outside")
reorder(NONE, f([]), SHAPE, name="empty")
reorder(SOME, f([1, 2, 3, 4]), SHAPE, name="in order")
reorder(random_indices([5, 6, 7], 90, False), rng.rand(90).astype(f), [5, 6, 7], name="rank 3")
reorder([[2, 1]], f([1]), [3], refuse=True, name="rank of shape")
reorder([[2, 1], [0, 1]], f([1]), SHAPE, refuse=True, name="too few values")
reorder([[2, 1]], f([[1]]), SHAPE, refuse=True, name="values are a matrix")
reorder([1], f([1]), [3], refuse=True, name="indices are a vector")

# ---------------------------------------------------------------- slice, split


def cut(indices, values, shape, start, size, **more):
    cases.add("SparseSlice", {"indices": np.int64(indices), "values": values, "shape": np.int64(shape),
                              "start": np.int64(start), "size": np.int64(size)}, **more)


v = f([1, 2, 3, 4])
for dtype in ALL:
    cut(SOME, typed([1, 0, 1, 1], dtype), SHAPE, [0, 1], [2, 3], name=dtype)
cut([[2, 4], [0, 0]], np.array(["a", "b"]), SHAPE, [0, 0], [3, 4], name="string")
cut(SOME, v, SHAPE, [1, 1], [20, 30], name="beyond the shape")
cut(SOME, v, SHAPE, [1, 1], [2**62, 2**62], name="far beyond the shape")
cut(SOME, v, SHAPE, [-1, 1], [2, 3], name="negative start")
cut(SOME, v, SHAPE, [5, 1], [1, 3], name="start beyond the shape")
cut(SOME, v, SHAPE, [1, 1], [0, 3], name="nothing")
cut(NONE, f([]), SHAPE, [1, 1], [3, 3], name="empty")
cut([[2, 4], [0, 0]], f([1, 2]), SHAPE, [0, 0], [3, 5], name="unordered")
cut([[2, 9], [0, 0]], f([1, 2]), SHAPE, [0, 0], [3, 5], name="index outside")
cut(random_indices([4, 5, 6], 40), rng.rand(40).astype(f), [4, 5, 6], [1, 0, 2], [2, 4, 3], name="rank 3")
for name, shape, start, size in [("negative size", SHAPE, [1, 1], [-1, 3]), ("rank of start", SHAPE, [1], [3]),
                                 ("rank of shape", [3], [1], [3]), ("start is a matrix", SHAPE, [[1, 1]], [3, 3])]:
    cut(SOME, v, shape, start, size, refuse=True, name=name)
cut(SOME, v[:1], SHAPE, [0, 0], [3, 5], refuse=True, name="too few values")


def split(axis, indices, values, shape, parts, **more):
    cases.add("SparseSplit", {"split_dim": np.int64(axis), "indices": np.int64(indices), "values": values,
                              "shape": np.int64(shape)}, {"num_split": parts}, **more)


for parts in (1, 2, 3, 5):
    split(1, SOME, v, SHAPE, parts, name="into %d" % parts)
split(0, SOME, v, SHAPE, 2, name="rows")
split(-1, SOME, v, SHAPE, 2, name="last axis")
split(1, [[2, 4], [0, 0], [0, 4]], np.array(["a", "b", "c"]), SHAPE, 2, name="unordered strings")
split(1, random_indices([3, 7, 4], 50), rng.rand(50), [3, 7, 4], 4, name="rank 3")
split(1, NONE, f([]), SHAPE, 2, name="empty")
for name, axis, indices, parts in [("too many parts", 1, SOME, 6), ("axis too large", 2, SOME, 2), ("axis too small", -3, SOME, 2),
                                   ("axis is a vector", [1], SOME, 2), ("index outside", 1, [[0, 0], [0, 1], [0, 2], [0, 9]], 2),
                                   ("negative index", 1, [[0, 0], [0, 1], [0, 2], [0, -1]], 2)]:
    split(axis, indices, v, SHAPE, parts, refuse=True, name=name)

# ---------------------------------------------------------------------- concat


def concat(axis, *parts, **more):
    cases.add("SparseConcat", {"indices": [np.int64(p[0]) for p in parts], "values": [p[1] for p in parts],
                               "shapes": [np.int64(p[2]) for p in parts]}, {"concat_dim": axis}, **more)


a, b, c = ([[0, 0], [1, 1]], f([1, 2]), [2, 2]), ([[0, 1], [1, 0]], f([3, 4]), [2, 3]), ([[0, 1], [2, 0]], f([3, 4]), [3, 2])
concat(1, a, b, name="columns")
concat(-1, a, b, a, name="three by the last axis")
concat(0, a, c, name="rows")
concat(-2, a, c, name="rows from the end")
concat(1, ([[1, 1], [0, 0]], f([1, 2]), [2, 2]), b, name="columns, unordered")
concat(0, ([[1, 1], [0, 0]], f([1, 2]), [2, 2]), c, name="rows, unordered")
concat(1, ([[0, 0], [0, 0]], f([1, 2]), [2, 2]), b, name="repeated")
concat(1, (NONE, f([]), [2, 2]), b, name="one empty")
concat(1, (NONE, f([]), [2, 2]), (NONE, f([]), [2, 1]), name="all empty")
concat(0, ([[0, 0]], np.array(["a"]), [2, 2]), ([[0, 0]], np.array(["b"]), [2, 2]), name="string")
for dtype in ALL:
    concat(1, (a[0], typed([1, 0], dtype), a[2]), (b[0], typed([0, 1], dtype), b[2]), name=dtype)
concat(1, *[(random_indices([4, n, 3], 8, False), rng.rand(8).astype(f), [4, n, 3]) for n in (2, 4, 3)], name="rank 3")
for name, axis, parts in [("other rows", 0, [a, b]), ("axis too large", 2, [a, b]), ("axis too small", -3, [a, b]),
                          ("other rank", 0, [a, ([[0]], f([1]), [2])]),
                          ("too many values", 0, [a, ([[0, 0]], f([1, 2]), [2, 2])]),
                          ("rank of shape", 0, [([[0, 0]], f([1]), [2, 2, 2]), a]),
                          ("negative shape", 0, [([[0, 0]], f([1]), [-2, 1]), ([[0, 0]], f([1]), [2, 1])])]:
    concat(axis, *parts, refuse=True, name=name)

# ---------------------------------------------------------------------- reduce


def reduce(op, indices, values, shape, axes, keep=False, **more):
    cases.add("SparseReduce" + op, {"input_indices": np.int64(indices), "input_values": values,
                                    "input_shape": np.int64(shape), "reduction_axes": np.int32(axes)},
              {"keep_dims": keep}, **more)


ordered = random_indices([4, 3, 5], 30)
for op in ("Sum", "Max"):
    for axes in (0, 1, -1, [0], [0, 1], [], [1, 0], [0, 0], [-1, 1]):
        for keep in (False, True):
            reduce(op, SOME, f([-1, 2, -4, 3]), SHAPE, axes, keep, name="axes %s" % axes)
    for axes in ([1], [0, 2], [0, 1, 2]):
        reduce(op, ordered, rng.rand(30).astype(f), [4, 3, 5], axes, name="rank 3", rtol=1e-6)
    for dtype in REAL + (["complex64", "complex128"] if op == "Sum" else []):
        reduce(op, SOME, typed([1, 2, 4, 3], dtype), SHAPE, 1, name=dtype)
    reduce(op, NONE, f([]), SHAPE, 1, name="empty")
    reduce(op, NONE, f([]), SHAPE, [0, 1], name="empty, all axes")
    reduce(op, [[1, 1], [0, 0]], f([1, 2]), SHAPE, 1, name="unordered")
    reduce(op, [[0, 0], [1, 7]], f([1, 2]), SHAPE, 1, name="outside along a reduced axis")
    reduce(op, SOME, v, SHAPE, 2, refuse=True, name="axis too large")
    reduce(op, SOME, v, SHAPE, -3, refuse=True, name="axis too small")
    reduce(op, SOME, v, SHAPE, [[1]], refuse=True, name="axes are a matrix")
    reduce(op, [[0, 0], [7, 1]], f([1, 2]), SHAPE, 1, refuse=True, name="outside")
    reduce(op, [[-1, 0]], f([1]), SHAPE, 1, refuse=True, name="negative index")
    reduce(op, SOME, v[:1], SHAPE, 1, refuse=True, name="too few values")
    reduce(op, SOME, v, [2, 3, 4], 1, refuse=True, name="rank of shape")
    reduce(op, SOME, v, [-2, 3], 1, refuse=True, name="negative shape")

# ------------------------------------------------------------ with dense sides


def softmax(indices, values, shape, **more):
    cases.add("SparseSoftmax", {"sp_indices": np.int64(indices), "sp_values": values, "sp_shape": np.int64(shape)}, **more)


softmax(SOME, v, SHAPE, name="float", rtol=1e-6)
softmax(SOME, np.float64([1, 2, 3, 4]), SHAPE, name="double", rtol=1e-12)
softmax(SOME, np.float16([1, 2, 3, 4]), SHAPE, name="half", rtol=2e-3)
softmax(random_indices([3, 4, 5], 40), rng.randn(40).astype(f) * 5, [3, 4, 5], name="rank 3", rtol=1e-5)
softmax(random_indices([3, 4, 5], 40, False), rng.randn(40).astype(f), [3, 4, 5], name="unordered", rtol=1e-6)
softmax(NONE, f([]), SHAPE, name="empty")
softmax([[1, 9]], f([1]), SHAPE, name="outside")
for x in (np.nan, np.inf):
    softmax([[0, 0], [0, 1], [1, 0]], f([x, 1, 1]), SHAPE, name=str(x))
softmax([[0, 0], [0, 1]], f([-np.inf, -np.inf]), SHAPE, name="all -inf")
softmax([[1]], f([1]), [3], refuse=True, name="rank 1")
softmax(SOME, v[:1], SHAPE, refuse=True, name="too few values")


def matmul(indices, values, shape, side, adjoint_a=False, adjoint_b=False, index=np.int64, **more):
    cases.add("SparseTensorDenseMatMul", {"a_indices": index(indices), "a_values": values, "a_shape": np.int64(shape), "b": side},
              {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}, **more)


for dtype in ["float32", "float64", "float16", "bfloat16", "int32", "complex64", "complex128"]:
    for adjoint_a in (False, True):
        for adjoint_b in (False, True):
            t = tf.as_dtype(dtype)
            left, right = rng.randint(-9, 9, 6), rng.randint(-9, 9, (3, 4))
            if t.is_complex:
                left, right = left + 1j * rng.randint(-9, 9, 6), right + 1j * rng.randint(-9, 9, (3, 4))
            i = random_indices([5, 3], 6)
            if adjoint_a:
                i = i[:, ::-1]
            matmul(i, (left, t), [3, 5] if adjoint_a else [5, 3], (right.T if adjoint_b else right, t), adjoint_a, adjoint_b, name=dtype)
m = f([[1, 2, 3], [4, 5, 6]])
matmul([[0, 1], [1, 0]], f([2, 3]), [2, 2], m, index=np.int32, name="int32 indices")
matmul([[0, 1], [0, 1]], f([2, 3]), [2, 2], m, name="repeated")
matmul(random_indices([9, 40], 60), rng.rand(60).astype(f), [9, 40], rng.rand(40, 50).astype(f), name="wide", rtol=1e-6)
matmul(NONE, f([]), [2, 2], m, name="empty")
matmul(NONE, f([]), [2, 0], np.zeros((0, 3), f), name="no inner")
matmul([[0, 1]], f([1]), [2, 2], np.zeros((2, 0), f), name="no columns")
matmul([[0, 1]], f([0]), [2, 2], f([[1], [np.inf]]), name="zero times infinity")
for name, indices, values, shape, side in [
        ("inner dimensions", [[0, 1]], [2], [2, 3], m), ("column outside", [[0, 2]], [2], [2, 2], m),
        ("row outside", [[2, 0]], [2], [2, 2], m), ("negative row", [[-1, 0]], [2], [2, 2], m),
        ("too many values", [[0, 1]], [2, 3], [2, 2], m), ("rank 3", [[0, 1, 1]], [2], [2, 2, 2], m),
        ("b is a vector", [[0, 1]], [2], [2, 2], m[0, :2])]:
    matmul(indices, f(values), shape, side, refuse=True, name=name)
cases.write()
