"""SparseSegmentSum, Mean, SqrtN, with and without a number of segments."""
import numpy as np
import tensorflow as tf

from op_cases import Cases, near

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]

cases = Cases("sparse_segment")
rng = np.random.RandomState(2)


def add(op, data, indices, ids, segments=None, **more):
    inputs = {"data": data, "indices": indices, "segment_ids": ids}
    if segments is not None:
        inputs["num_segments"] = segments
        op += "WithNumSegments"
    cases.add(op, inputs, **more)


def numbers(dtype, shape):
    return rng.uniform(0, 9, shape), tf.as_dtype(dtype)


def rows(*counts):
    """Segment ids with that many rows each."""
    return np.concatenate([np.full(n, i) for i, n in enumerate(counts)])


for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]:
    for dtype in FLOATS + (INTEGERS if op.endswith("Sum") else []):
        for segments in (None, np.int32(6)):
            for ti, ts in ((np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64), (np.int64, np.int32)):
                add(op, numbers(dtype, (6, 5)), ti([0, 5, 5, 2, 1, 0, 3]), ts([0, 0, 0, 2, 2, 2, 4]), segments, name=dtype)
        ids = rows(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 25)
        add(op, numbers(dtype, (50, 3)), np.int32(rng.randint(0, 50, len(ids))), np.int32(ids), name=dtype + " by count", **near(tf.as_dtype(dtype)))
    f = np.float32
    data = rng.uniform(-1, 1, (30, 17)).astype(f)
    add(op, data, np.int64(rng.randint(0, 30, 100)), np.int64(np.sort(rng.randint(0, 9, 100))), name="wide", **near(tf.float32, 12))
    add(op, data[:, 0], np.int64([1, 2, 3]), np.int64([0, 0, 1]), name="vector")
    add(op, data[:4].reshape(2, 17, 2), np.int64([1, 1, 0]), np.int64([0, 0, 3]), np.int32(7), name="rank 3")
    add(op, data, np.int32([]), np.int32([]), name="no ids")
    add(op, data, np.int32([]), np.int32([]), np.int32(3), name="no ids, three segments")
    add(op, data, np.int32([]), np.int32([]), np.int32(0), name="no ids, no segments")
    add(op, data[:, :0], np.int32([1, 2]), np.int32([0, 3]), name="rows of nothing")
    add(op, f([[1, np.nan], [np.inf, 2], [-np.inf, 1]]), np.int32([0, 1, 1, 2]), np.int32([0, 0, 1, 1]), name="nan and inf")
    d = data[:3]
    i, s = np.int32, np.int32
    add(op, d, i([0, 3]), s([0, 0]), refuse=True, name="index too large")
    add(op, d, i([0, -1]), s([0, 0]), refuse=True, name="negative index")
    add(op, d, i([0, 1]), s([1, 0]), refuse=True, name="decreasing ids")
    add(op, d, i([0, 1, 1]), s([0, 7, 3]), refuse=True, name="decreasing at the end")
    add(op, d, i([0, 1, 1]), s([-1, 0, 3]), refuse=True, name="negative id")
    add(op, d, i([0]), s([-1]), refuse=True, name="only a negative id")
    add(op, d, i([0]), s([2**31 - 1]), refuse=True, name="largest id")
    add(op, d, np.int64([0]), np.int64([2**62]), refuse=True, name="too many cells")
    add(op, f(1), i([0]), s([0]), refuse=True, name="scalar data")
    add(op, d, i([[0]]), s([0]), refuse=True, name="indices of rank 2")
    add(op, d, i([0]), s([[0]]), refuse=True, name="ids of rank 2")
    add(op, d, i([0, 1]), s([0]), refuse=True, name="too few ids")
    add(op, d, i([0, 2]), s([0, 2]), np.int32(2), refuse=True, name="id above the number")
    add(op, d, i([]), s([]), np.int32(-2), refuse=True, name="negative number")
    add(op, d, i([0]), s([0]), np.int32([3]), refuse=True, name="number is a vector")
    add(op, data[:0], i([0]), s([0]), refuse=True, name="index into no rows")
cases.write()
