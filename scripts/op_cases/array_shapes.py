"""Identity and its kin, shapes, reshapes, slices."""
import numpy as np
import tensorflow as tf

from op_cases import Cases

cases = Cases("array_shapes")
rng = np.random.default_rng(1)

DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
          tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128, tf.string]


def of(dtype, *shape):
    """A tensor of that type and shape with elements that tell their places."""
    n = int(np.prod(shape))
    if dtype == tf.string:
        return np.array([b"s%d" % i if i % 3 else b"" for i in range(n)], dtype=object).reshape(shape), dtype
    if dtype == tf.bool:
        return (np.arange(n) % 3 == 0).reshape(shape), dtype
    return np.arange(1, n + 1).reshape(shape), dtype


# ------------------------------------------------------------------ identity

for dtype in DTYPES:
    cases.add("Identity", {"input": of(dtype, 2, 3)})
for op, argument in [("Snapshot", "input"), ("StopGradient", "input"), ("PreventGradient", "input")]:
    cases.add(op, {argument: np.float32([[1, 2]])})
    if op != "Snapshot":
        cases.add(op, {argument: of(tf.string, 3)})
cases.add("PlaceholderWithDefault", {"input": np.float32([1, 2])}, {"shape": [None]})
cases.add("PlaceholderWithDefault", {"input": np.int64(7)}, {"shape": tf.TensorShape(None)})
cases.add("IdentityN", {"input": [np.float32([1, 2]), np.int64(3), of(tf.string, 2, 0)]})
cases.add("Print", {"input": np.float32([1, 2]), "data": [np.int32([1])]}, {"message": "here"})

for dtype in [tf.float32, tf.float64, tf.float16, tf.bfloat16]:
    for op, argument in [("CheckNumerics", "tensor"), ("CheckNumericsV2", "tensor")]:
        cases.add(op, {argument: of(dtype, 2, 3)}, {"message": "all well"})
        cases.add(op, {argument: of(dtype, 0)}, {"message": ""})
        cases.add(op, {argument: (np.array([1.0, np.nan]), dtype)}, {"message": "nan"}, refuse=True)
        cases.add(op, {argument: (np.array([[np.inf], [1]]), dtype)}, {"message": "inf"}, refuse=True)
        cases.add(op, {argument: (np.array(-np.inf), dtype)}, {"message": "minus"}, refuse=True)

# -------------------------------------------------------------------- shapes

for dtype in DTYPES:
    cases.add("Shape", {"input": of(dtype, 2, 3)})
for shape in [(), (0,), (5,), (2, 0, 3), (1, 2, 3, 4, 5)]:
    x = of(tf.float32, *shape)
    for out_type in [tf.int32, tf.int64]:
        cases.add("Shape", {"input": x}, {"out_type": out_type})
        cases.add("Size", {"input": x}, {"out_type": out_type})
        cases.add("ShapeN", {"input": [x, of(tf.float32, 4, 1), of(tf.float32)]}, {"out_type": out_type})
    cases.add("Rank", {"input": x})

# ------------------------------------------------------------------- reshape


def reshape(shape, to, index=np.int32, dtype=tf.float32, **how):
    cases.add("Reshape", {"tensor": of(dtype, *shape), "shape": np.array(to, index)}, **how)


for dtype in DTYPES:
    reshape((2, 3), [3, -1], dtype=dtype)
for index in [np.int32, np.int64]:
    for shape, to in [((6,), [2, 3]), ((6,), [-1]), ((6,), [6, 1, 1]), ((), [1]), ((), []), ((1,), []), ((1, 1), []),
                      ((2, 3, 4), [4, -1, 3]), ((0,), [0]), ((0, 6), [0, 2, -1]), ((0, 6), [0]), ((0,), [-1]),
                      ((0, 3), [-1, 3]), ((2, 0), [5, 0, 7]), ((2, 0), [-1, 0]), ((0,), [0, -1, 3]), ((), [-1]),
                      ((0,), [3, 0, -1]), ((1, 2, 1, 3), [2, 3]), ((2, 2, 2), [-1, 1, 1, 1, 1, 1, 2])]:
        reshape(shape, to, index)
reshape((4,), 4)
for shape, to in [((6,), [4]), ((6,), [-1, 4]), ((6,), [-1, -1]), ((6,), [-2, 3]), ((6,), []), ((6,), [[2, 3]]),
                  ((6,), [0, -1]), ((0,), [1]), ((6,), [2, 3, 2]), ((6,), [2**31 - 1, 2**31 - 1, 2**31 - 1]),
                  ((0,), [2**31 - 1, 2**31 - 1, 2**31 - 1, 0])]:
    reshape(shape, to, refuse=True)
reshape((6,), [2**62, 2**62, 2], np.int64, refuse=True)
reshape((6,), [2**32, 2**32], np.int64, refuse=True)
reshape((6,), [-2**63, -1], np.int64, refuse=True)

for dtype in [tf.float32, tf.string, tf.bool]:
    for index in [np.int32, np.int64]:
        for axis in [-3, -2, -1, 0, 1, 2]:
            cases.add("ExpandDims", {"input": of(dtype, 2, 3), "axis": np.array(axis, index)})
cases.add("ExpandDims", {"input": of(tf.float32), "axis": np.int32(0)})
cases.add("ExpandDims", {"input": of(tf.float32), "axis": np.int32(-1)})
cases.add("ExpandDims", {"input": of(tf.float32, 3, 0), "axis": np.int32([1])})
for axis in [3, -4, 2**31 - 1, -2**31]:
    cases.add("ExpandDims", {"input": of(tf.float32, 2, 3), "axis": np.int32(axis)}, refuse=True)
cases.add("ExpandDims", {"input": of(tf.float32, 2, 3), "axis": np.int32([0, 1])}, refuse=True)

for dtype in [tf.float32, tf.string]:
    for shape, axes in [((1, 2, 1, 3), []), ((1, 2, 1, 3), [0]), ((1, 2, 1, 3), [2, 0]), ((1, 2, 1, 3), [-2]),
                        ((1, 1), []), ((2, 3), []), ((), []), ((1, 0), []), ((1, 0), [0]), ((1, 2, 1), [0, -1])]:
        cases.add("Squeeze", {"input": of(dtype, *shape)}, {"axis": axes})
cases.add("Squeeze", {"input": of(tf.float32, 1, 1)}, {"axis": [0, -2]})
for shape, axes in [((2, 1), [0]), ((2, 1), [2]), ((2, 1), [-3]), ((0, 1), [0]), ((), [0])]:
    cases.add("Squeeze", {"input": of(tf.float32, *shape)}, {"axis": axes}, refuse=True)

for shape in [[2, 3], [None, 3], [None, None], None]:
    cases.add("EnsureShape", {"input": of(tf.float32, 2, 3)}, {"shape": tf.TensorShape(shape)})
cases.add("EnsureShape", {"input": of(tf.string)}, {"shape": []})
for shape in [[2, 4], [None], [], [2, 3, None]]:
    cases.add("EnsureShape", {"input": of(tf.float32, 2, 3)}, {"shape": tf.TensorShape(shape)}, refuse=True)

# --------------------------------------------------------------------- slice


def slice_(shape, begin, size, index=np.int32, dtype=tf.float32, **how):
    cases.add("Slice", {"input": of(dtype, *shape), "begin": np.array(begin, index), "size": np.array(size, index)},
              **how)


for dtype in DTYPES:
    slice_((3, 4), [1, 0], [2, 3], dtype=dtype)
    slice_((3, 4), [1, 2], [-1, 1], dtype=dtype)
for index in [np.int32, np.int64]:
    for shape, begin, size in [((), [], []), ((5,), [0], [5]), ((5,), [2], [-1]), ((5,), [5], [0]), ((5,), [5], [-1]),
                               ((0,), [0], [-1]), ((0, 3), [0, 1], [0, 2]), ((2, 3, 4), [0, 1, 0], [2, 1, 4]),
                               ((2, 3, 4), [1, 0, 3], [1, 3, 1]), ((2, 3, 4), [0, 0, 1], [-1, -1, -1]),
                               ((2, 2, 2, 2, 2), [0, 1, 0, 1, 0], [2, 1, 2, 1, 1]), ((4, 1, 3), [1, 0, 0], [2, 1, 3])]:
        slice_(shape, begin, size, index)
for shape, begin, size in [((5,), [-1], [2]), ((5,), [6], [0]), ((5,), [3], [3]), ((5,), [0], [-2]), ((5,), [0, 0], [1, 1]),
                           ((5,), 0, 1), ((5,), [0], [1, 1]), ((5,), [], []), ((2, 2), [[0, 0]], [[1, 1]]),
                           ((5,), [2**31 - 1], [1]), ((5,), [1], [2**31 - 1])]:
    slice_(shape, begin, size, refuse=True)
slice_((5,), [1], [2**63 - 1], np.int64, refuse=True)
slice_((5,), [-2**63], [1], np.int64, refuse=True)

# -------------------------------------------------------------- StridedSlice


def strided(shape, begin, end, strides, dtype=tf.float32, index=np.int32, masks=None, **how):
    cases.add("StridedSlice", {"input": of(dtype, *shape), "begin": np.array(begin, index), "end": np.array(end, index),
                               "strides": np.array(strides, index)}, masks or {}, **how)


def masks(begin=0, end=0, ellipsis=0, new=0, shrink=0):
    return {"begin_mask": begin, "end_mask": end, "ellipsis_mask": ellipsis, "new_axis_mask": new,
            "shrink_axis_mask": shrink}


for dtype in DTYPES:
    strided((3, 4), [1, 0], [3, 4], [1, 2], dtype)
    strided((3, 4), [0, 0], [0, 0], [-1, 1], dtype, masks=masks(begin=3, end=3))
for index in [np.int32, np.int64]:
    strided((5,), [1], [4], [1], index=index)
    strided((5,), [-1], [-6], [-1], index=index)
    strided((5,), [-100], [100], [2], index=index)
    strided((5,), [100], [-100], [-2], index=index)
    strided((5,), [3], [1], [1], index=index)
    strided((5,), [1], [3], [-1], index=index)
strided((5,), [0], [5], [-2**63], index=np.int64)
strided((5,), [4], [-100], [-2**63], index=np.int64)
strided((5,), [0], [5], [2**63 - 1], index=np.int64)
strided((5,), [-2**63], [2**63 - 1], [1], index=np.int64)
strided((5,), [2**63 - 1], [-2**63], [-1], index=np.int64)
strided((), [], [], [])
strided((), [0], [0], [1], masks=masks(new=1))
strided((), [0], [0], [1], masks=masks(ellipsis=1))
strided((0,), [0], [1], [1])
strided((0,), [-1], [-5], [-1])
strided((0, 3), [0, 1], [0, 3], [1, 1], masks=masks(begin=1, end=1))
strided((2, 3, 4), [1], [2], [1], masks=masks(shrink=1))
strided((2, 3, 4), [-1, -2, -3], [0, 0, 0], [1, 1, 1], masks=masks(shrink=7))
strided((2, 3, 4), [2, 1, 0], [0, 0, 0], [1, 1, 1], masks=masks(shrink=2, begin=7, end=7))
strided((2, 3, 4), [0, 0], [0, 1], [1, 1], masks=masks(ellipsis=1, shrink=2))
strided((2, 3, 4), [0, 0, 1], [0, 0, 2], [1, 1, 1], masks=masks(ellipsis=2, new=1, shrink=4))
strided((2, 3, 4), [0, 0, 0, 0], [1, 0, 0, 2], [1, 1, 1, 1], masks=masks(ellipsis=2, new=4))
strided((2, 3, 4), [0, 0, 0, 0], [1, 2, 0, 3], [1, 1, 1, 1], masks=masks(ellipsis=4))
strided((2, 3, 4), [0, 0, 0], [0, 0, 0], [1, 1, 1], masks=masks(ellipsis=4, begin=3, end=3))
strided((2, 3, 4), [0, 0, 0, 0], [2, 3, 4, 0], [1, 1, 1, 1], masks=masks(ellipsis=8))
strided((2, 3), [0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], masks=masks(new=5, begin=10, end=10))
strided((2, 3), [0, 0, 0], [0, 0, 0], [1, 1, 1], masks=masks(ellipsis=1, new=7))
strided((2, 3), [0, 1], [0, 0], [1, 1], masks=masks(new=1, shrink=3))
strided((6,), [4], [0], [-3])
strided((6,), [0], [0], [3], masks=masks(end=1))
strided((6,), [1], [0], [-2], masks=masks(begin=1))
strided((2, 3, 4, 2), [1, 2, 0, 0], [2, 0, 4, 2], [1, -1, 2, 1])
strided((3,), [2], [0], [1], masks=masks(begin=1, end=1, shrink=1))
strided((3,), [1], [2], [5], masks=masks(shrink=1))
strided((3,), [1], [2], [1], masks=masks(begin=62, end=62))
for shape, begin, end, strides, mask in [
        ((3,), [0], [3], [0], masks()), ((3,), [3], [4], [1], masks(shrink=1)), ((3,), [-4], [4], [1], masks(shrink=1)),
        ((0,), [0], [1], [1], masks(shrink=1)), ((3,), [0], [1], [-1], masks(shrink=1)),
        ((3,), [0, 0], [1, 1], [1, 1], masks()), ((3,), [0], [1, 1], [1], masks()), ((3,), 0, 1, 1, masks()),
        ((), [0], [1], [1], masks()), ((3,), [2**31 - 1], [0], [1], masks(shrink=1)),
        ((3,), [[0]], [[1]], [[1]], masks())]:
    strided(shape, begin, end, strides, masks=mask, refuse=True)
for _ in range(120):
    rank = int(rng.integers(1, 5))
    shape = tuple(int(d) for d in rng.integers(1, 5, rank))
    n = int(rng.integers(1, rank + 1))
    begin, end = rng.integers(-6, 7, n), rng.integers(-6, 7, n)
    strides = rng.choice([-3, -2, -1, 1, 2, 3], n)
    mask = masks(begin=int(rng.integers(0, 16)), end=int(rng.integers(0, 16)), new=int(rng.integers(0, 3)),
                 ellipsis=int(rng.choice([0, 0, 1, 2])))
    strided(shape, begin, end, strides, rng.choice([tf.float32, tf.int64, tf.string]), masks=mask)

cases.write()
