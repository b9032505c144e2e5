"""Reductions, extremes' places and running sums."""
import numpy as np

from op_cases import Cases, tf

FLOATING = (tf.float32, tf.float64, tf.half, tf.bfloat16)
SIGNED = (tf.int8, tf.int16, tf.int32, tf.int64)
UNSIGNED = (tf.uint8, tf.uint16, tf.uint32, tf.uint64)
NUMBERS = FLOATING + SIGNED + UNSIGNED
RTOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.half: 5e-3, tf.bfloat16: 3e-2}
ATOL = {tf.float32: 1e-6, tf.float64: 1e-14, tf.half: 5e-3, tf.bfloat16: 3e-2}

rng = np.random.default_rng(3)
cases = Cases("math_reduce")


def close(dtype):
    return dict(rtol=RTOL.get(dtype, 0), atol=ATOL.get(dtype, 0))


REDUCTIONS = ("Sum", "Prod", "Mean", "Max", "Min", "EuclideanNorm")
for op in REDUCTIONS:
    for dtype in NUMBERS:
        low, high = (0.5, 1.5) if dtype in FLOATING else (0 if dtype in UNSIGNED else -4, 5)
        x = rng.uniform(low, high, (3, 4, 2))
        for axes in ([0], [1], [2], [0, 2], [1, 2], [0, 1, 2], []) if dtype in FLOATING[:2] else ([0], [1, 2]):
            cases.add(op, {"input": (x, dtype), "axis": np.int32(axes)}, name="%s %s" % (dtype.name, axes), **close(dtype))
        cases.add(op, {"input": (np.zeros((2, 0, 3)), dtype), "axis": np.int32([1])}, name="of nothing")
    cases.add(op, {"input": np.zeros((2, 0, 3)), "axis": np.int32([2])}, name="nothing of nothing")
    for dtype in FLOATING:
        x = np.array([[1, np.nan, 3], [np.inf, 2, 1], [-np.inf, -1, np.inf], [-np.inf, -np.inf, -np.inf]])
        for axis in (0, 1):
            cases.add(op, {"input": (x, dtype), "axis": np.int32([axis])}, name="special", **close(dtype))

# Integers wrap around; the mean sums in more bits.
for dtype in SIGNED + UNSIGNED:
    x = np.full((2, 5), dtype.max, dtype.as_numpy_dtype)
    x[0, 0] = dtype.min
    for op in ("Sum", "Prod", "Max", "Min") + (("Mean",) if dtype.size < 8 else ()):
        for axis in (0, 1):
            cases.add(op, {"input": (x, dtype), "axis": np.int64(axis)}, name=dtype.name)

SHAPES = [((), []), ((7,), [0]), ((7,), [-1]), ((2, 3), [-2]), ((2, 3), [1, -2]), ((2, 3, 4, 5), [1, 3]),
          ((2, 3, 4, 5), [0, 2]), ((2, 3, 4, 5), [-1, 0]), ((2, 1, 3, 1, 2), [1, 3]), ((2, 1, 3, 1, 2), [0, 4]),
          ((2, 2, 2, 2, 2, 2), [0, 2, 4]), ((2, 2, 2, 2, 2, 2), [1, 3, 5]), ((1, 1), [0]), ((3, 70), [0]), ((70, 3), [0]),
          ((3, 70), [1]), ((2, 3, 65), [0]), ((2, 16, 3), [1]), ((5, 17), [1]), ((5, 33), [1]), ((0, 3), [0]), ((3, 0), [0]),
          ((0,), [0]), ((2, 1, 1), [1])]
for shape, axes in SHAPES:
    for keep_dims in (False, True):
        x = rng.uniform(-1, 1, shape)
        for op in ("Sum", "Max"):
            index = np.int64 if keep_dims else np.int32
            cases.add(op, {"input": (x, tf.float32), "axis": index(axes)}, {"keep_dims": keep_dims},
                      name="%s %s" % (shape, axes), **close(tf.float32))
        cases.add("All", {"input": x > -0.9, "axis": np.int32(axes)}, {"keep_dims": keep_dims})
        cases.add("Any", {"input": x > 0.9, "axis": np.int32(axes)}, {"keep_dims": keep_dims})
for op in ("Sum", "Mean", "EuclideanNorm"):
    cases.add(op, {"input": (rng.uniform(-1, 1, 4001), tf.float32), "axis": np.int32([0])}, name="long", rtol=1e-5, atol=1e-5)
    cases.add(op, {"input": (rng.uniform(0, 1, (1500, 2)), tf.float32), "axis": np.int32([0])}, name="deep", rtol=1e-5)
cases.add("Sum", {"input": np.float32([[1, 2], [3, 4]]), "axis": np.int32([[0, 1]])}, name="a matrix of axes")
cases.add("Sum", {"input": np.float32([[1, 2], [3, 4]]), "axis": np.int32(0)}, name="a scalar axis")
for axes in ([0, 0], [1, -1], [2], [-3], [0, 5], [2 ** 31 - 1]):
    for op in ("Sum", "All"):
        x = np.ones((2, 3), bool if op == "All" else np.float32)
        cases.add(op, {"input": x, "axis": np.int32(axes)}, refuse=True)
cases.add("Sum", {"input": np.float32(1), "axis": np.int32([0])}, refuse=True)

for op in ("ArgMax", "ArgMin"):
    for dtype in NUMBERS + (tf.bool,):
        x = rng.integers(0, 2 if dtype == tf.bool else 9, (2, 3, 4))
        if dtype in FLOATING + SIGNED:
            x = x - 4
        for axis in (1, -1) if dtype != tf.float32 else (0, 1, 2, -1):
            cases.add(op, {"input": (x, dtype), "dimension": np.int32(axis)}, name=dtype.name)
    for dtype in FLOATING:
        x = np.array([[np.nan, 1, 3, np.nan], [1, np.nan, np.inf, np.inf], [-np.inf, -np.inf, np.nan, -np.inf], [np.nan] * 4])
        for axis in (0, 1):
            cases.add(op, {"input": (x, dtype), "dimension": np.int64(axis)}, name="special")
    for output in (tf.int32, tf.int64) + ((tf.int16, tf.uint16) if op == "ArgMax" else ()):
        cases.add(op, {"input": np.float32([[1, 5, 2]]), "dimension": np.int32(1)}, {"output_type": output})
    cases.add(op, {"input": np.zeros((2, 0), np.float32), "dimension": np.int32(0)})
    cases.add(op, {"input": np.zeros((0, 2), np.float32), "dimension": np.int32(0)}, refuse=True)
    cases.add(op, {"input": np.float32(1), "dimension": np.int32(0)}, refuse=True)
    cases.add(op, {"input": np.float32([1]), "dimension": np.int32(1)}, refuse=True)
    cases.add(op, {"input": np.float32([1]), "dimension": np.int32(-2)}, refuse=True)
    cases.add(op, {"input": np.float32([1]), "dimension": np.int32([0])}, refuse=True)

for op in ("Cumsum", "Cumprod"):
    for dtype in NUMBERS:
        x = rng.integers(1, 4, (2, 4, 2))
        for exclusive in (False, True):
            for reverse in (False, True):
                attrs = {"exclusive": exclusive, "reverse": reverse}
                for axis in (1,) if dtype != tf.float32 else (0, 1, 2, -3):
                    cases.add(op, {"x": (x, dtype), "axis": np.int32(axis)}, attrs, name=dtype.name)
    cases.add(op, {"x": np.ones((2, 0), np.float32), "axis": np.int64(1)})
    cases.add(op, {"x": np.ones((0, 2), np.float32), "axis": np.int64(1)})
    cases.add(op, {"x": (rng.uniform(0.9, 1.1, 300), tf.float32), "axis": np.int64(0)}, rtol=1e-5)
    cases.add(op, {"x": np.float32([1, np.nan, 2, np.inf, 0]), "axis": np.int64(0)})
    for axis in (1, -2, [0], 2 ** 40):
        cases.add(op, {"x": np.float32([1, 2]), "axis": np.int64(axis)}, refuse=True)
    cases.add(op, {"x": np.float32(1), "axis": np.int64(0)}, refuse=True)
cases.add("Cumsum", {"x": (np.array([2048, 1, 1, 1]), tf.half), "axis": np.int32(0)}, name="rounds at every step")
cases.add("Cumsum", {"x": (np.full(5, 100), tf.int8), "axis": np.int32(0)}, name="wraps around")

for dtype in FLOATING:
    for shape in ((), (0,), (3,), (2, 3, 4), (40,)):
        cases.add("L2Loss", {"t": (rng.uniform(-1, 1, shape), dtype)}, **close(dtype))

cases.write()
