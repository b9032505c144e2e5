"""Top k, buckets, bounds, unique, set difference, counts."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("array_search")
rng = np.random.default_rng(4)

REAL = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32,
        tf.uint64]
FLOATS = REAL[:4]
INDICES = [np.int32, np.int64]
NAN, INF = np.nan, np.inf


def words(values):
    return np.array([b"w%d" % v if v else b"" for v in np.reshape(values, -1)], dtype=object).reshape(np.shape(values)), tf.string


# -------------------------------------------------------------------- top k

for dtype in REAL:
    cases.add("TopKV2", {"input": (np.array([[3, 1, 3, 7, 0], [5, 5, 5, 5, 5]]), dtype), "k": np.int32(3)})
    cases.add("TopKV2", {"input": (np.array([4, 9, 4, 2]), dtype), "k": np.int32(4)})
for dtype in FLOATS + [tf.int8, tf.int16, tf.int32, tf.int64]:
    cases.add("TopKV2", {"input": (np.array([-3, 1, -3, -7, 0]), dtype), "k": np.int32(5)})
for dtype in FLOATS:
    cases.add("TopKV2", {"input": (np.array([0.0, -0.0, INF, -INF, -1, 0.0]), dtype), "k": np.int32(6)})
cases.add("TopKV2", {"input": np.uint64([2**63, 1, 2**64 - 1]), "k": np.int32(3)})
cases.add("TopKV2", {"input": np.int64([2**63 - 1, -2**63, 2**63 - 2]), "k": np.int32(3)})
for shape, k in [((5,), 0), ((5,), 1), ((5,), 5), ((0,), 0), ((3, 0), 0), ((0, 4), 2), ((2, 3, 4), 2), ((2, 1), 1), ((3, 50), 7),
                 ((1, 200), 200), ((1, 200), 199), ((2, 100), 1), ((2, 2, 2, 9), 4)]:
    for index in INDICES:
        cases.add("TopKV2", {"input": np.float32(rng.integers(0, 30, shape)), "k": np.array(k, index)}, {"index_type": index})
for shape, k in [((5,), 6), ((5,), -1), ((), 0), ((5,), [1]), ((3, 0), 1)]:
    cases.add("TopKV2", {"input": np.float32(np.zeros(shape)), "k": np.int32(k)}, refuse=True)


def in_top_k(predictions, targets, k, index=np.int32, **how):
    cases.add("InTopKV2", {"predictions": np.float32(predictions), "targets": np.array(targets, index), "k": np.array(k, index)}, **how)
    cases.add("InTopK", {"predictions": np.float32(predictions), "targets": np.array(targets, index)}, {"k": int(np.max(k))}, **how)


for index in INDICES:
    for k in [0, 1, 2, 3, 9, -1]:
        in_top_k([[1, 5, 3, 3], [2, 2, 2, 2], [0, NAN, 1, 2], [0, INF, 1, 2]], [3, 0, 3, 1], k, index)
    in_top_k([[1, 5, 3], [1, 2, 3], [1, 2, 3]], [-1, 3, 2], 2, index)
in_top_k(np.zeros((0, 3)), [], 1)
for predictions, targets, k in [([1, 2], [0], 1), ([[1, 2]], [[0]], 1), ([[1, 2]], [0, 1], 1)]:
    in_top_k(predictions, targets, k, refuse=True)
cases.add("InTopKV2", {"predictions": np.float32([[1, 2]]), "targets": np.int32([0]), "k": np.int32([1])}, refuse=True)

# --------------------------------------------------------- buckets and bounds

for dtype in [np.float32, np.float64, np.int32, np.int64]:
    x = np.array([[-5, 0, 1, 2], [3, 10, 11, 99]], dtype)
    for boundaries in [[0.0, 1.0, 10.0], [], [2.0], [1.0, 1.0, 1.0], [-5.0, 99.0]]:
        cases.add("Bucketize", {"input": x}, {"boundaries": boundaries})
    cases.add("Bucketize", {"input": np.zeros((0, 2), dtype)}, {"boundaries": [1.0]})
    cases.add("Bucketize", {"input": np.array(7, dtype)}, {"boundaries": [1.0]})
for dtype in [np.float32, np.float64]:
    cases.add("Bucketize", {"input": np.array([NAN, INF, -INF, -0.0, 0.0, 0.1, 0.3], dtype)}, {"boundaries": [-1.0, 0.0, 0.1, 0.3]})
cases.add("Bucketize", {"input": np.int32([16777216, 16777217, 16777218])}, {"boundaries": [16777216.0]})
cases.add("Bucketize", {"input": np.int64([2**62 - 1, 2**62, 2**63 - 1])}, {"boundaries": [2.0**62, 2.0**63]})
cases.add("Bucketize", {"input": np.float32([1])}, {"boundaries": [2.0, 1.0]}, refuse=True)

for op in ["LowerBound", "UpperBound"]:
    for dtype in REAL:
        cases.add(op, {"sorted_inputs": (np.array([[1, 2, 2, 5], [0, 0, 0, 9]]), dtype),
                       "values": (np.array([[2, 0, 9], [0, 5, 10]]), dtype)})
    for dtype in FLOATS:
        cases.add(op, {"sorted_inputs": (np.array([[-INF, -0.0, 1, INF]]), dtype),
                       "values": (np.array([[NAN, 0, -0.0, INF, -INF, 0.5]]), dtype)})
    for out_type in INDICES:
        for n, m in [(0, 3), (3, 0), (1, 1), (17, 5)]:
            cases.add(op, {"sorted_inputs": np.sort(np.float32(rng.integers(0, 9, (2, n))), axis=1),
                           "values": np.float32(rng.integers(-1, 10, (2, m)))}, {"out_type": out_type})
    for a, b in [((2, 3), (1, 3)), ((3,), (3,)), ((2, 3), (6,))]:
        cases.add(op, {"sorted_inputs": np.float32(np.zeros(a)), "values": np.float32(np.zeros(b))}, refuse=True)

# ------------------------------------------------------------------- unique

values = np.array([3, 1, 3, 0, 1, 1, 7, 0])
for op in ["Unique", "UniqueWithCounts"]:
    for dtype in REAL:
        cases.add(op, {"x": (values, dtype)})
    cases.add(op, {"x": np.array([True, False, True])})
    for out_idx in INDICES:
        cases.add(op, {"x": words(values)}, {"out_idx": out_idx})
        cases.add(op, {"x": np.int64([])}, {"out_idx": out_idx})
        cases.add(op, {"x": rng.integers(-2**63, 2**63 - 1, 8)[rng.integers(0, 8, 100)]}, {"out_idx": out_idx})
        cases.add(op, {"x": rng.integers(0, 1000, 700)}, {"out_idx": out_idx})
    cases.add(op, {"x": words(rng.integers(0, 40, 300))})
    cases.add(op, {"x": (np.array([b"a" * n for n in [7, 8, 9, 7, 16, 17, 8, 0]] + [b"a\0", b"a", b"a\0"], dtype=object), tf.string)})
    for dtype in [np.float32, np.float64]:
        cases.add(op, {"x": np.array([NAN, 1, NAN, -0.0, 0.0, INF, -INF, INF], dtype)})
    cases.add(op, {"x": np.float32([[1, 2]])}, refuse=True)
    cases.add(op, {"x": np.float32(1)}, refuse=True)

rows = np.array([[1, 2], [3, 4], [1, 2], [2, 1], [3, 4]])
for op in ["UniqueV2", "UniqueWithCountsV2"]:
    for axis in INDICES:
        cases.add(op, {"x": values, "axis": np.array([], axis)})
        cases.add(op, {"x": values, "axis": np.array([0], axis)})
        cases.add(op, {"x": values, "axis": np.array([-1], axis)})
    for dtype in REAL:
        cases.add(op, {"x": (rows, dtype), "axis": np.int64([0])})
        cases.add(op, {"x": (rows.T, dtype), "axis": np.int64([1])})
    cases.add(op, {"x": words(rows), "axis": np.int64([0])}, {"out_idx": np.int64})
    cases.add(op, {"x": words(rows.T), "axis": np.int64([-1])})
    cases.add(op, {"x": np.stack([rows, rows], axis=2), "axis": np.int64([2])})
    cases.add(op, {"x": np.stack([rows, rows], axis=1), "axis": np.int64([1])})
    cases.add(op, {"x": np.stack([rows, rows + 1, rows], axis=0), "axis": np.int64([0])})
    cases.add(op, {"x": np.float32([[NAN, 1], [NAN, 1], [-0.0, 0], [0, 0]]), "axis": np.int64([0])})
    cases.add(op, {"x": np.zeros((3, 0)), "axis": np.int64([0])})
    cases.add(op, {"x": np.zeros((3, 0)), "axis": np.int64([1])})
    for x, axis in [(rows, []), (rows, [2]), (rows, [-3]), (rows, [0, 1]), (values, 0), (np.float32(1), [0])]:
        cases.add(op, {"x": np.array(x), "axis": np.int64(axis)}, refuse=True)

for dtype in REAL:
    cases.add("ListDiff", {"x": (values, dtype), "y": (np.array([1, 0, 5]), dtype)})
for out_idx in INDICES:
    cases.add("ListDiff", {"x": words(values), "y": words([1, 0, 5])}, {"out_idx": out_idx})
    for x, y in [([], [1]), ([1], []), ([], []), ([5, 5, 5], [4]), ([5, 5], [5])]:
        cases.add("ListDiff", {"x": np.int64(x), "y": np.int64(y)}, {"out_idx": out_idx})
cases.add("ListDiff", {"x": np.float32([NAN, 1, -0.0, 2]), "y": np.float32([NAN, 0.0])})
cases.add("ListDiff", {"x": np.int64([[1]]), "y": np.int64([1])}, refuse=True)
cases.add("ListDiff", {"x": np.int64([1]), "y": np.int64(1)}, refuse=True)

# ------------------------------------------------------------------- counts

for dtype in [np.int32, np.int64, np.float32, np.float64]:
    cases.add("Bincount", {"arr": np.int32([[1, 2, 2], [9, 0, 3]]), "size": np.int32(4), "weights": np.array([], dtype)})
    cases.add("Bincount", {"arr": np.int32([1, 2, 2, 0]), "size": np.int32(4), "weights": np.array([1, 2, 3, 4], dtype)})
    for index in INDICES:
        for binary in [False, True]:
            for weights in [[], [1, 2, 3, 4]]:
                cases.add("DenseBincount", {"input": np.array([1, 2, 2, 7], index), "size": np.array(4, index),
                                            "weights": np.array(weights, dtype)}, {"binary_output": binary})
            for weights in [[], [[1, 2, 3], [4, 5, 6]]]:
                cases.add("DenseBincount", {"input": np.array([[1, 2, 2], [0, 7, 1]], index), "size": np.array(3, index),
                                            "weights": np.array(weights, dtype)}, {"binary_output": binary})
cases.add("Bincount", {"arr": np.int32([]), "size": np.int32(3), "weights": np.float32([])})
cases.add("Bincount", {"arr": np.int32([1]), "size": np.int32(0), "weights": np.float32([])})
cases.add("Bincount", {"arr": np.int32([0] * 3), "size": np.int32(1), "weights": np.int32([2**31 - 1, 1, 5])}, name="wraps around")
cases.add("DenseBincount", {"input": np.int32([]), "size": np.int32(3), "weights": np.float32([])})
cases.add("DenseBincount", {"input": np.zeros((2, 0), np.int32), "size": np.int32(3), "weights": np.float32([])})
for arr, size, weights in [([-1], 3, []), ([1], -1, []), ([1, 2], 3, [1]), ([1], [3], [])]:
    for op, argument in [("Bincount", "arr"), ("DenseBincount", "input")]:
        cases.add(op, {argument: np.int32(arr), "size": np.int32(size), "weights": np.float32(weights)}, refuse=True)
cases.add("DenseBincount", {"input": np.zeros((1, 1, 1), np.int32), "size": np.int32(3), "weights": np.float32([])}, refuse=True)

cases.write()
