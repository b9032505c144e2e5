"""Fill, ranges, one-hot, gather, scatter, where."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("array_select")
rng = np.random.default_rng(3)

DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
          tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]
NUMBERS = [d for d in DTYPES if d not in (tf.bool, tf.string)]
INDICES = [np.int32, np.int64]
NAN, INF = np.nan, np.inf


def of(dtype, *shape, first=1):
    n = int(np.prod(shape))
    if dtype == tf.string:
        return np.array([b"s%d" % (first + i) if i % 3 else b"" for i in range(n)], dtype=object).reshape(shape), dtype
    if dtype == tf.bool:
        return (np.arange(first, first + n) % 3 == 0).reshape(shape), dtype
    return np.arange(first, first + n).reshape(shape) % 100, dtype


# ---------------------------------------------------------- fill and ranges

for dtype in DTYPES:
    cases.add("Fill", {"dims": np.int32([2, 3]), "value": of(dtype, first=3)})
for index in INDICES:
    for dims in [[], [0], [5], [2, 0, 3], [1, 2, 3, 1, 2], [600]]:
        cases.add("Fill", {"dims": np.array(dims, index), "value": np.float32(1.5)})
cases.add("Fill", {"dims": np.int32(3), "value": np.float32([2])})
cases.add("Fill", {"dims": np.int32([3000]), "value": of(tf.complex128, first=7)}, name="more than a page")
for dims, value in [([-1], 1), ([2], [1, 2]), ([[2]], 1)]:
    cases.add("Fill", {"dims": np.int32(dims), "value": np.float32(value)}, refuse=True)


def range_(dtype, start, limit, delta, **how):
    cases.add("Range", {"start": np.array(start, dtype), "limit": np.array(limit, dtype), "delta": np.array(delta, dtype)},
              **how)


for dtype in [np.float32, np.float64, np.int32, np.int64]:
    for start, limit, delta in [(0, 5, 1), (0, 5, 2), (5, 0, -2), (3, 3, 1), (3, 3, -1), (-4, 4, 3), (0, 1, 7), (0, -1, -7)]:
        range_(dtype, start, limit, delta)
    for start, limit, delta in [(0, 5, 0), (5, 0, 1), (0, 5, -1)]:
        range_(dtype, start, limit, delta, refuse=True)
for dtype in [np.float32, np.float64]:
    for start, limit, delta in [(0, 1, 0.1), (0.5, -2, -0.3), (0.7, 30, 0.9), (1e30, 2e30, 1e29), (-0.5, 0.5, 0.25)]:
        range_(dtype, start, limit, delta)
    for start, limit, delta in [(0, 1, NAN), (NAN, 1, 1), (0, INF, 1)]:
        range_(dtype, start, limit, delta, refuse=True)
range_(np.int32, 2**31 - 3, 2**31 - 1, 1)
range_(np.int32, -2**30, 2**30 - 1, 2**29)
range_(np.int64, -2**62, 2**62 - 1, 2**61)
range_(np.int64, 2**62, -2**62, -2**61)
range_(np.int64, 2**63 - 2, 2**63 - 1, 5)
range_(np.int32, [1], [4], [1])
range_(np.int32, [1, 2], [4, 4], [1, 1], refuse=True)

for dtype in [np.float32, np.float64]:
    for index in INDICES:
        for start, stop, num in [(0, 1, 2), (0, 1, 11), (1, -1, 7), (3, 5, 1), (2, 2, 4), (0, 1e-3, 5)]:
            cases.add("LinSpace", {"start": np.array(start, dtype), "stop": np.array(stop, dtype),
                                   "num": np.array(num, index)})
    for num in [0, -3]:
        cases.add("LinSpace", {"start": np.array(0, dtype), "stop": np.array(1, dtype), "num": np.int32(num)}, refuse=True)
    cases.add("LinSpace", {"start": np.array([0, 1], dtype), "stop": np.array(1, dtype), "num": np.int32(3)}, refuse=True)

# ------------------------------------------------------------------ one-hot


def one_hot(indices, depth, on, off, axis=-1, **how):
    cases.add("OneHot", {"indices": indices, "depth": np.int32(depth), "on_value": on, "off_value": off}, {"axis": axis},
              **how)


for dtype in DTYPES:
    one_hot(np.int32([0, 2, 5, -1]), 3, of(dtype, first=3), of(dtype, first=4))
for dtype in [np.uint8, np.int8, np.int32, np.int64]:
    for axis in [-1, 0, 1, 2]:
        one_hot(np.array([[0, 1, 2], [3, 4, 1]], dtype), 4, np.float32(1), np.float32(0), axis)
one_hot(np.int8([-1, -128, 127]), 3, np.float32(1), np.float32(0))
one_hot(np.uint8([200, 255]), 256, np.float32(1), np.float32(-1))
one_hot(np.int64([2**62, -2**63, 1]), 2, np.float32(1), np.float32(0))
one_hot(np.int32(1), 3, np.float32(1), np.float32(0))
one_hot(np.int32(1), 3, np.float32(1), np.float32(0), 0)
one_hot(np.int32([1, 0]), 0, np.float32(1), np.float32(0))
one_hot(np.zeros((0, 2), np.int32), 3, np.float32(1), np.float32(0))
one_hot(np.int32([[[1], [0]], [[2], [1]]]), 3, np.float32(5), np.float32(2), 1)
for axis, depth, on in [(2, 2, 1), (-1, -1, 1), (-1, [2], 1), (-1, 2, [1])]:
    one_hot(np.int32([1]), depth, np.float32(on), np.float32(0), axis, refuse=True)

# ------------------------------------------------------------------- gather


def gather(shape, indices, axis=0, batch_dims=0, dtype=tf.float32, index=np.int32, **how):
    cases.add("GatherV2", {"params": of(dtype, *shape), "indices": np.array(indices, index), "axis": np.int32(axis)},
              {"batch_dims": batch_dims}, **how)


for dtype in DTYPES:
    gather((4, 2), [3, 0, 0], dtype=dtype)
    gather((2, 4), [3, 0, 0], 1, dtype=dtype)
for index in INDICES:
    for shape, indices, axis in [((5,), [4, 0, 2], 0), ((5,), 3, 0), ((5,), [[1], [2]], 0), ((5,), [], 0),
                                 ((5,), [[], []], 0), ((4, 3), [[0, 3], [2, 2]], 0), ((4, 3), [2, 0], 1),
                                 ((4, 3), [2, 0], -1), ((4, 3), [2, 0], -2), ((2, 3, 4), [1, 2], 1), ((2, 3, 4), 3, 2),
                                 ((2, 0), [1], 0), ((2, 0), [7], 0), ((0, 2), [5], 1), ((0,), [], 0),
                                 ((30, 4), np.arange(29, -1, -1), 0), ((30, 8), np.arange(29, -1, -1), 0),
                                 ((30, 16), np.arange(29, -1, -3), 0), ((30, 19), np.arange(29, -1, -1), 0),
                                 ((30, 2), np.arange(29, -1, -1), 0), ((30, 1), np.arange(29, -1, -1), 0)]:
        gather(shape, indices, axis, index=index)
    for shape, indices, axis, batch_dims in [((2, 3), [1, 0], 1, 1), ((2, 3), [[1, 0], [2, 2]], 1, 1),
                                             ((2, 3), [[1, 0], [2, 2]], 1, -1), ((2, 3, 4), [[1, 0], [2, 2]], 1, 1),
                                             ((2, 3, 4), [[1, 0], [2, 3]], 2, 1), ((2, 3, 4), [[1, 0, 3], [2, 3, 0]], 2, 2),
                                             ((2, 3, 4), [[1, 0], [2, 3]], -1, 1), ((2, 3, 4, 2), [[1], [2]], 2, 1),
                                             ((0, 3), np.zeros((0, 2)), 1, 1), ((2, 3), np.zeros((2, 0)), 1, 1)]:
        gather(shape, indices, axis, batch_dims, index=index)
for shape, indices, axis, batch_dims in [((3,), [3], 0, 0), ((3,), [-1], 0, 0), ((3,), [0, 1, 2, 99], 0, 0), ((0,), [0], 0, 0),
                                         ((3,), [0], 1, 0), ((3,), [0], -2, 0), ((), [0], 0, 0), ((3,), [2**31 - 1], 0, 0),
                                         ((2, 3), [0, 0], 0, 1), ((2, 3), [0, 0, 0], 1, 1), ((2, 3), [0, 0], 1, 2),
                                         ((2, 3), [0, 0], 1, -2), ((2, 3), [[0], [3]], 1, 1), ((3,), [0], [0], 0)]:
    gather(shape, indices, axis, batch_dims, refuse=True)
gather((3,), [2**32], index=np.int64, refuse=True)
gather((3,), [-2**63], index=np.int64, refuse=True)
for index in INDICES:
    cases.add("Gather", {"params": of(tf.float32, 4, 2), "indices": np.array([[3], [1]], index)})
    cases.add("Gather", {"params": of(tf.string, 4), "indices": np.array(2, index)})
cases.add("Gather", {"params": of(tf.float32, 4, 2), "indices": np.int32([4])}, refuse=True)


def gather_nd(shape, indices, dtype=tf.float32, index=np.int32, **how):
    cases.add("GatherNd", {"params": of(dtype, *shape), "indices": np.array(indices, index)}, **how)


for dtype in DTYPES:
    gather_nd((3, 4), [[0, 1], [2, 3]], dtype)
for index in INDICES:
    for shape, indices in [((5,), [[4], [0]]), ((5,), [3]), ((3, 4), [[1], [0]]), ((3, 4), [[[1, 2]], [[0, 3]]]),
                           ((3, 4), np.zeros((2, 0))), ((3, 4), np.zeros((0, 2))), ((2, 3, 4), [[1, 2, 3], [0, 0, 0]]),
                           ((2, 3, 4), [[1, 2], [0, 1]]), ((0, 2), np.zeros((0, 1))), ((2, 2, 2, 2, 2), [[1, 0, 1, 0, 1]])]:
        gather_nd(shape, indices, index=index)
for shape, indices in [((5,), [[5]]), ((5,), [[-1]]), ((3, 4), [[0, 1, 2]]), ((3, 4), [[2, 4]]), ((), [[0]]), ((5,), 3),
                       ((0, 2), [[0]]), ((2, 0), [[0]])]:
    gather_nd(shape, indices, refuse=True)

# ------------------------------------------------------------------ scatter


def scatter_nd(shape, indices, updates, index=np.int32, **how):
    cases.add("ScatterNd", {"indices": np.array(indices, index), "updates": updates, "shape": np.array(shape, index)}, **how)


for dtype in DTYPES:
    scatter_nd([4], [[1], [3], [1]], of(dtype, 3, first=60))
for dtype in NUMBERS:
    scatter_nd([3, 2], [[1], [0], [1]], of(dtype, 3, 2, first=50))
scatter_nd([2], [[0]] * 5, (np.array([100, 100, 100, 3, 1]), tf.int8), name="wraps around")
scatter_nd([2], [[0]] * 5, (np.array([200, 100, 100, 3, 1]), tf.uint8), name="wraps around")
scatter_nd([2], [[0]] * 3, (np.array([2**31 - 1, 1, 2**31 - 1]), tf.int32), name="wraps around")
scatter_nd([1], [[0]] * 4, (np.array([1000.5, 0.25, 0.25, 1]), tf.float16), name="rounds each time")
scatter_nd([1], [[0]] * 4, (np.array([100.5, 0.25, 0.25, 1]), tf.bfloat16), name="rounds each time")
for index in INDICES:
    for shape, indices, updates in [([4], np.zeros((0, 1)), ()), ([2, 3], [[1, 2], [0, 0]], (2,)), ([2, 3], [[[1, 2]]], (1, 1)),
                                    ([2, 3, 2], [[1], [0]], (2, 3, 2)), ([2, 3, 2], [[1, 1]], (1, 2)), ([0], np.zeros((0, 1)), (0,))]:
        updates = of(tf.float32, *(updates or (0,)))
        scatter_nd(shape, indices, updates, index)
for shape, indices, updates in [([4], [[4]], (1,)), ([4], [[-1]], (1,)), ([4], [[0]], (2,)), ([4], [[0]], (1, 1)),
                                ([4], [[0, 0]], (1,)), ([0], [[0]], (1,)), ([4], 0, (1,)), ([4], [[0]], ()),
                                ([4, 0], [[0]], (1, 0)), ([-1], [[0]], (1,)), ([4], np.zeros((2, 0)), (2, 4)), (4, [[0]], (1,))]:
    scatter_nd(shape, indices, of(tf.float32, *updates), refuse=True)
scatter_nd([4], [[4]], of(tf.string, 1, first=3), refuse=True)


def tensor_scatter(op, tensor, indices, updates, index=np.int32, **how):
    cases.add("TensorScatter" + op, {"tensor": tensor, "indices": np.array(indices, index), "updates": updates}, **how)


for dtype in DTYPES:
    tensor_scatter("Update", of(dtype, 3, 2), [[1], [0], [1]], of(dtype, 3, 2, first=40))
for op in ["Add", "Sub"]:
    for dtype in NUMBERS:
        tensor_scatter(op, of(dtype, 3, 2), [[1], [0], [1]], of(dtype, 3, 2, first=40))
for op in ["Max", "Min"]:
    for dtype in [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64, tf.int8, tf.uint8, tf.int16, tf.uint16]:
        tensor_scatter(op, of(dtype, 3, 2), [[1], [0], [1]], of(dtype, 3, 2, first=2))
    tensor_scatter(op, np.float32([1, NAN, 0, -1]), [[0], [1], [2], [3]], np.float32([NAN, 2, INF, -INF]))
for op in ["Update", "Add", "Sub", "Max", "Min"]:
    for index in INDICES:
        tensor_scatter(op, of(tf.float32, 2, 3, 2), [[1, 2], [0, 0]], of(tf.float32, 2, 2, first=7), index)
        tensor_scatter(op, of(tf.float32, 2, 3), np.zeros((0, 1)), of(tf.float32, 0, 3), index)
        tensor_scatter(op, of(tf.float32, 2, 3), [[1, 2]], of(tf.float32, 1, first=7), index)
    for shape, indices, updates in [((4,), [[4]], (1,)), ((4,), [[-1]], (1,)), ((4,), [[0]], (2,)), ((4,), [[0, 0]], (1,)),
                                    ((4,), 0, (1,)), ((0,), [[0]], (1,))]:
        tensor_scatter(op, of(tf.float32, *shape), indices, of(tf.float32, *updates), refuse=True)

# -------------------------------------------------------------------- where

for dtype in NUMBERS + [tf.bool]:
    if dtype != tf.float16:  # TensorFlow has no kernel
        cases.add("Where", {"condition": (np.array([[0, 1, 0], [2, 0, 3]]), dtype)})
for shape in [(0,), (7,), (3, 4), (2, 0), (2, 3, 4), (2, 2, 2, 2), (2, 1, 2, 1, 2)]:
    cases.add("Where", {"condition": rng.random(shape) < 0.5})
cases.add("Where", {"condition": np.ones((2, 3), bool)})
cases.add("Where", {"condition": np.float32([NAN, 0, -0.0, INF])})
for dtype in [tf.bfloat16, tf.float64]:
    cases.add("Where", {"condition": (np.array([NAN, 0, -0.0, INF]), dtype)})
cases.add("Where", {"condition": np.bool_(True)}, refuse=True)

cases.write()
