"""Concat, pack, split, tile, broadcast, transpose and their kin."""
import itertools

import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("array_join")
rng = np.random.default_rng(2)

DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
          tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]


def of(dtype, *shape, first=1):
    n = int(np.prod(shape))
    if dtype == tf.string:
        return np.array([b"s%d" % (first + i) if i % 3 else b"" for i in range(n)], dtype=object).reshape(shape), dtype
    if dtype == tf.bool:
        return (np.arange(first, first + n) % 3 == 0).reshape(shape), dtype
    return np.arange(first, first + n).reshape(shape) % 100, dtype


def several(dtype, shapes):
    return [of(dtype, *shape, first=1 + 20 * i) for i, shape in enumerate(shapes)]


# -------------------------------------------------------------------- concat


def concat(shapes, axis, dtype=tf.float32, index=np.int32, **how):
    cases.add("ConcatV2", {"values": several(dtype, shapes), "axis": np.array(axis, index)}, **how)


for dtype in DTYPES:
    concat([(2, 1), (2, 3)], 1, dtype)
    concat([(2, 2), (1, 2)], 0, dtype)
for index in [np.int32, np.int64]:
    for shapes, axis in [([(2,), (3,), (1,)], 0), ([(2,), (0,), (1,)], -1), ([(0,), (0,)], 0), ([(2, 3), (2, 0)], 1),
                         ([(2, 3), (2, 0)], -1), ([(0, 3), (2, 3)], 0), ([(0, 3), (0, 2)], 1), ([(2, 3, 4), (2, 1, 4)], 1),
                         ([(2, 3, 4), (2, 3, 4)], 0), ([(2, 3, 4), (2, 3, 1)], -1), ([(1, 1, 2, 2), (1, 5, 2, 2)], -3),
                         ([(3, 2), (3, 1), (3, 4), (3, 2), (3, 8), (3, 16)], 1)]:
        concat(shapes, axis, index=index)
concat([(2,), (3,)], [0])
concat([(1, 4)] * 40, 1)
concat([(5, 1)] * 40, 1)
for shapes, axis in [([(2,), (3,)], 1), ([(2,), (3,)], -2), ([(), ()], 0), ([(2, 3), (3, 3)], 1), ([(2, 3), (2,)], 0),
                     ([(2, 0), (3, 3)], 1), ([(2,), (3,)], [0, 0]), ([(2,), (2, 1)], 0)]:
    concat(shapes, axis, refuse=True)
for shapes, axis in [([(2, 1), (2, 3)], 1), ([(2,), (3,)], -1), ([(0,), (3,)], 0)]:
    cases.add("Concat", {"concat_dim": np.int32(axis), "values": several(tf.float32, shapes)})
    cases.add("Concat", {"concat_dim": np.int32(axis), "values": several(tf.string, shapes)})
cases.add("Concat", {"concat_dim": np.int32(2), "values": several(tf.float32, [(2,), (3,)])}, refuse=True)

for axis in [0, 1, -1]:
    shapes = [np.int32([2, 3]), np.int32([2, 3]), np.int32([2, 3])]
    shapes[1][axis] = 7
    cases.add("ConcatOffset", {"concat_dim": np.int32(axis), "shape": shapes})
cases.add("ConcatOffset", {"concat_dim": np.int32(0), "shape": [np.int32([2, 3]), np.int32([2, 4])]}, refuse=True)
cases.add("ConcatOffset", {"concat_dim": np.int32(2), "shape": [np.int32([2, 3]), np.int32([2, 3])]}, refuse=True)
cases.add("ConcatOffset", {"concat_dim": np.int32(0), "shape": [np.int32([2, 3]), np.int32([2])]}, refuse=True)

# ---------------------------------------------------------------------- pack

for dtype in DTYPES:
    cases.add("Pack", {"values": several(dtype, [(2, 3), (2, 3)])}, {"axis": 1})
    cases.add("Pack", {"values": several(dtype, [(), (), ()])})
for shape in [(), (2,), (0,), (2, 3), (2, 0, 3), (2, 3, 4)]:
    for axis in range(-len(shape) - 1, len(shape) + 1):
        cases.add("Pack", {"values": several(tf.float32, [shape] * 3)}, {"axis": axis})
        cases.add("Pack", {"values": several(tf.int64, [shape])}, {"axis": axis})
cases.add("Pack", {"values": several(tf.int64, [()] * 50)})
cases.add("Pack", {"values": several(tf.float32, [(2,), (3,)])}, refuse=True)
cases.add("Pack", {"values": several(tf.float32, [(2,), (2, 1)])}, refuse=True)
cases.add("Pack", {"values": several(tf.float32, [(2,), (2,)])}, {"axis": 2}, refuse=True)
cases.add("Pack", {"values": several(tf.float32, [(2,), (2,)])}, {"axis": -3}, refuse=True)

for dtype in DTYPES:
    cases.add("Unpack", {"value": of(dtype, 2, 3)}, {"num": 3, "axis": 1})
for shape in [(2,), (3, 2), (2, 0, 3), (2, 3, 4), (1, 1)]:
    for axis in range(-len(shape), len(shape)):
        if shape[axis]:
            cases.add("Unpack", {"value": of(tf.float32, *shape)}, {"num": shape[axis], "axis": axis})
cases.add("Unpack", {"value": of(tf.float32, 2, 3)}, {"num": 2, "axis": 1}, refuse=True)
cases.add("Unpack", {"value": of(tf.float32, 2, 3)}, {"num": 2, "axis": 2}, refuse=True)
cases.add("Unpack", {"value": of(tf.float32)}, {"num": 1, "axis": 0}, refuse=True)

# --------------------------------------------------------------------- split

for dtype in DTYPES:
    cases.add("Split", {"axis": np.int32(1), "value": of(dtype, 2, 6)}, {"num_split": 3})
    cases.add("SplitV", {"value": of(dtype, 2, 6), "size_splits": np.int32([1, 3, 2]), "axis": np.int32(1)},
              {"num_split": 3})
for shape, axis, n in [((6,), 0, 2), ((6,), -1, 6), ((6,), 0, 1), ((0,), 0, 3), ((4, 0), 0, 2), ((2, 3, 4), 0, 2),
                       ((2, 3, 4), 1, 3), ((2, 3, 4), 2, 2), ((2, 3, 4), -1, 4), ((2, 3, 4), -2, 1)]:
    cases.add("Split", {"axis": np.int32(axis), "value": of(tf.float32, *shape)}, {"num_split": n})
cases.add("Split", {"axis": np.int32([0]), "value": of(tf.float32, 4)}, {"num_split": 2}, refuse=True)
for shape, axis, n in [((6,), 0, 4), ((6,), 1, 2), ((6,), -2, 2), ((), 0, 1)]:
    cases.add("Split", {"axis": np.int32(axis), "value": of(tf.float32, *shape)}, {"num_split": n}, refuse=True)
for index in [np.int32, np.int64]:
    for shape, sizes, axis in [((6,), [1, 2, 3], 0), ((6,), [6], 0), ((6,), [2, -1, 3], -1),
                               ((6,), [0, 6, 0], 0), ((6,), [3, -1, 3], 0), ((0,), [0, 0], 0), ((0, 2), [1, 1], 1),
                               ((2, 3, 4), [1, 1], 0), ((2, 3, 4), [2, 1], 1), ((2, 3, 4), [1, -1], 2)]:
        cases.add("SplitV", {"value": of(tf.float32, *shape), "size_splits": np.array(sizes, index),
                             "axis": np.int32(axis)}, {"num_split": len(sizes)})
for shape, sizes, axis in [((6,), [1, 2], 0), ((6,), [-1, -1], 0), ((6,), [7, -1], 0), ((6,), [-2, 8], 0),
                           ((6,), [3, 3], 1), ((6,), [[3, 3]], 0), ((6,), [3, 4], 0)]:
    cases.add("SplitV", {"value": of(tf.float32, *shape), "size_splits": np.int32(sizes), "axis": np.int32(axis)},
              {"num_split": 2}, refuse=True)
cases.add("SplitV", {"value": of(tf.float32, 6), "size_splits": np.int64([2**63 - 1, 2**63 - 1]), "axis": np.int32(0)},
          {"num_split": 2}, refuse=True)

# ---------------------------------------------------------------------- tile

for dtype in [d for d in DTYPES if d not in (tf.uint16, tf.uint32, tf.uint64, tf.bfloat16)]:
    cases.add("Tile", {"input": of(dtype, 2, 3), "multiples": np.int32([2, 2])})
for index in [np.int32, np.int64]:
    for shape, multiples in [((), []), ((3,), [1]), ((3,), [4]), ((3,), [0]), ((0,), [4]), ((2, 3), [1, 2]),
                             ((2, 3), [3, 1]), ((2, 3, 2), [2, 1, 3]), ((1, 3, 1), [4, 1, 2]), ((2, 1, 2, 1), [1, 3, 1, 2]),
                             ((1, 1), [5, 7]), ((2, 2, 2, 1, 1), [1, 2, 1, 2, 1])]:
        cases.add("Tile", {"input": of(tf.float32, *shape), "multiples": np.array(multiples, index)})
for shape, multiples in [((3,), [-1]), ((3,), [1, 1]), ((3,), 2), ((), [1]), ((3,), [[2]])]:
    cases.add("Tile", {"input": of(tf.float32, *shape), "multiples": np.int32(multiples)}, refuse=True)

for dtype in [d for d in DTYPES if d != tf.string]:
    cases.add("BroadcastTo", {"input": of(dtype, 2, 1), "shape": np.int32([3, 2, 4])})
for index in [np.int32, np.int64]:
    for shape, to in [((), [3]), ((), []), ((), [2, 0]), ((3,), [3]), ((3,), [2, 3]), ((1,), [4]), ((1, 3), [2, 3]),
                      ((2, 1, 3), [2, 4, 3]), ((2, 1, 3), [5, 2, 4, 3]), ((1,), [0]), ((0,), [0]), ((0, 1), [0, 5]),
                      ((2, 3, 1, 2), [2, 3, 3, 2])]:
        cases.add("BroadcastTo", {"input": of(tf.float32, *shape), "shape": np.array(to, index)})
for shape, to in [((3,), [4]), ((2, 3), [3]), ((3,), []), ((3,), [3, 1]), ((3,), [-1]), ((3,), 3), ((0,), [1]), ((2,), [0])]:
    cases.add("BroadcastTo", {"input": of(tf.float32, *shape), "shape": np.int32(to)}, refuse=True)

for index in [np.int32, np.int64]:
    for a, b in [([2, 3], [3]), ([1], [5, 7]), ([], [2]), ([], []), ([2, 1, 3], [4, 1]), ([0], [1]), ([1], [0])]:
        cases.add("BroadcastArgs", {"s0": np.array(a, index), "s1": np.array(b, index)})
cases.add("BroadcastArgs", {"s0": np.int32([2, 3]), "s1": np.int32([2])}, refuse=True)

# ----------------------------------------------------------------- transpose

for dtype in DTYPES:
    cases.add("Transpose", {"x": of(dtype, 2, 3), "perm": np.int32([1, 0])})
    cases.add("Transpose", {"x": of(dtype, 2, 3, 2), "perm": np.int64([2, 0, 1])})
for rank, shape in [(1, (3,)), (2, (3, 2)), (3, (2, 3, 4)), (4, (2, 3, 1, 2))]:
    for perm in itertools.permutations(range(rank)):
        cases.add("Transpose", {"x": of(tf.float32, *shape), "perm": np.int32(perm)})
cases.add("Transpose", {"x": of(tf.float32), "perm": np.int32([])})
cases.add("Transpose", {"x": of(tf.float32, 2, 0, 3), "perm": np.int32([2, 1, 0])})
cases.add("Transpose", {"x": of(tf.float32, 2, 1, 2, 3, 2), "perm": np.int32([4, 2, 0, 1, 3])})
cases.add("Transpose", {"x": of(tf.float32, 37, 45), "perm": np.int32([1, 0])}, name="more than a tile")
cases.add("Transpose", {"x": of(tf.int8, 3, 17, 33), "perm": np.int32([0, 2, 1])}, name="tiles of bytes")
cases.add("Transpose", {"x": of(tf.float32, 20, 3, 18), "perm": np.int32([2, 1, 0])}, name="far apart")
for perm in [[0, 0], [0], [0, 2], [[1, 0]], 1, [0, 1, 2]]:
    cases.add("Transpose", {"x": of(tf.float32, 2, 3), "perm": np.int32(perm)}, refuse=True)
for dtype in [tf.float32, tf.int64, tf.string]:
    cases.add("ConjugateTranspose", {"x": of(dtype, 2, 3), "perm": np.int32([1, 0])})

cases.write()
