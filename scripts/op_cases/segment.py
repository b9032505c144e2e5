"""SegmentSum and its kin, sorted and unsorted."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

REAL = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64"]
COMPLEX = ["complex64", "complex128"]
FLOATS = REAL[:4] + COMPLEX

cases = Cases("segment")
rng = np.random.RandomState(1)


def numbers(dtype, shape):
    values = rng.uniform(-9, 9, shape)
    if dtype.startswith("uint"):
        values = np.abs(values)
    if dtype in COMPLEX:
        values = values + 1j * rng.uniform(-3, 3, shape)
    return (values.astype(np.complex128 if dtype in COMPLEX else np.float64 if dtype in FLOATS else np.int64),
            tf.as_dtype(dtype))


def tolerance(dtype, op):
    return 1e-6 if dtype in COMPLEX and op == "Prod" else 0


for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
    for dtype in REAL + ([] if op in ("Max", "Min") else COMPLEX):
        for ids_dtype in (np.int32, np.int64):
            cases.add("Segment" + op, {"data": numbers(dtype, (7, 3)), "segment_ids": ids_dtype([0, 0, 1, 1, 1, 4, 4])},
                      name=dtype, rtol=tolerance(dtype, op))
        cases.add("Segment" + op, {"data": numbers(dtype, (4,)), "segment_ids": np.int32([2, 2, 2, 2])},
                  name=dtype + " vector", rtol=tolerance(dtype, op))
    f = np.float32
    name = "Segment" + op
    cases.add(name, {"data": numbers("float32", (3, 2, 2, 2)), "segment_ids": np.int32([1, 1, 3])}, name="rank 4")
    cases.add(name, {"data": numbers("float32", (0, 3)), "segment_ids": np.int32([])}, name="empty")
    cases.add(name, {"data": numbers("float32", (3, 0)), "segment_ids": np.int32([0, 1, 1])}, name="rows of nothing")
    cases.add(name, {"data": numbers("int32", (1,)), "segment_ids": np.int64([5])}, name="gap in front")
    cases.add(name, {"data": f([[1], [np.nan], [2], [np.inf], [-np.inf], [-np.inf]]),
                     "segment_ids": np.int32([0, 0, 0, 1, 1, 2])}, name="nan and inf")
    cases.add(name, {"data": f([[1], [2]]), "segment_ids": np.int32([1, 0])}, refuse=True, name="decreasing")
    cases.add(name, {"data": f([1, 2, 3]), "segment_ids": np.int32([1, 5, 2])}, refuse=True, name="decreasing later")
    cases.add(name, {"data": f([[1], [2]]), "segment_ids": np.int32([-1, 0])}, refuse=True, name="negative")
    cases.add(name, {"data": f([[1], [2]]), "segment_ids": np.int64([-2, -1])}, refuse=True, name="all negative")
    cases.add(name, {"data": f([[1], [2]]), "segment_ids": np.int32([0])}, refuse=True, name="too few ids")
    cases.add(name, {"data": f([[1], [2]]), "segment_ids": np.int32([[0], [0]])}, refuse=True, name="ids of rank 2")
    cases.add(name, {"data": f(1), "segment_ids": np.int32([0])}, refuse=True, name="scalar data")

cases.add("SegmentSum", {"data": numbers("float32", (200, 5)), "segment_ids": np.int32(np.sort(rng.randint(0, 40, 200)))},
          name="many rows")
cases.add("SegmentSum", {"data": numbers("float32", (60, 33)), "segment_ids": np.int32(np.zeros(60))},
          name="wide and long", rtol=1e-5, atol=1e-5)
cases.add("SegmentSum", {"data": np.int8([100, 100, 100]), "segment_ids": np.int32([0, 0, 0])}, name="wraps")
cases.add("SegmentProd", {"data": np.int32([2**20, 2**20, 3]), "segment_ids": np.int32([0, 0, 0])}, name="wraps")
cases.add("SegmentMean", {"data": np.int32([-5, -6, 0, 7]), "segment_ids": np.int32([0, 0, 1, 1])}, name="truncates")

for op in ["Sum", "Prod", "Max", "Min"]:
    name = "UnsortedSegment" + op
    for dtype in REAL + ([] if op in ("Max", "Min") else COMPLEX):
        for ids_dtype, count_dtype in ((np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64)):
            cases.add(name, {"data": numbers(dtype, (6, 2)), "segment_ids": ids_dtype([3, 0, -1, 3, 0, 3]),
                             "num_segments": count_dtype(5)}, name=dtype, rtol=tolerance(dtype, op))
    cases.add(name, {"data": numbers("float32", (2, 3, 4)), "segment_ids": np.int32([[0, 1, 0], [1, -1, 2]]),
                     "num_segments": np.int32(3)}, name="ids of rank 2")
    cases.add(name, {"data": numbers("float32", (2, 3)), "segment_ids": np.int32([[0, 1, 0], [1, -1, 2]]),
                     "num_segments": np.int32(3)}, name="scalars")
    cases.add(name, {"data": f(5), "segment_ids": np.int32(1), "num_segments": np.int32(3)}, name="scalar data and id")
    cases.add(name, {"data": f([5, 6]), "segment_ids": np.int32(1), "num_segments": np.int32(3)}, name="scalar id")
    cases.add(name, {"data": np.zeros((2, 0), f), "segment_ids": np.int32([5, 9]), "num_segments": np.int32(3)},
              name="nothing to read, ids unchecked")
    cases.add(name, {"data": np.zeros((0, 2), f), "segment_ids": np.int32([]), "num_segments": np.int32(3)}, name="no rows")
    cases.add(name, {"data": f([1, 2]), "segment_ids": np.int32([-1, -7]), "num_segments": np.int32(0)}, name="no segments")
    cases.add(name, {"data": f([1, np.nan, 2, -np.inf, np.inf]), "segment_ids": np.int32([0, 0, 0, 1, 2]),
                     "num_segments": np.int32(4)}, name="nan and inf")
    cases.add(name, {"data": f([1, 2]), "segment_ids": np.int32([0, 3]), "num_segments": np.int32(3)}, refuse=True,
              name="id too large")
    cases.add(name, {"data": f([1, 2]), "segment_ids": np.int32([0, 1]), "num_segments": np.int32(-3)}, refuse=True,
              name="negative count")
    cases.add(name, {"data": f([1, 2]), "segment_ids": np.int32([0, 1]), "num_segments": np.int32([3])}, refuse=True,
              name="count is a vector")
    cases.add(name, {"data": np.ones((2, 3), f), "segment_ids": np.int32([[0, 1], [1, 1]]), "num_segments": np.int32(3)},
              refuse=True, name="ids do not begin the shape")
    cases.add(name, {"data": np.ones((2,), f), "segment_ids": np.int32([[0, 1]]), "num_segments": np.int32(3)},
              refuse=True, name="ids of higher rank")
cases.write()
