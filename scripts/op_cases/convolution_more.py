"""Transposed and three-dimensional convolutions, poolings with places, dilations, patches, resized images."""
import itertools

import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(52)
cases = Cases("convolution_more")
FLOATS = (tf.float32, tf.float64, tf.half, tf.bfloat16)
REAL = FLOATS + (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)
NEAR = {tf.float32: dict(rtol=1e-5, atol=3e-6), tf.float64: dict(rtol=1e-12, atol=1e-13), tf.half: dict(rtol=2e-2, atol=2e-2),
        tf.bfloat16: dict(rtol=1e-1, atol=1e-1)}


def image(*shape):
    return rng.uniform(-1, 1, shape)


def of(dtype, *shape):
    """Small whole numbers, which every type has."""
    low = 0 if dtype.is_integer and dtype.is_unsigned else -9
    return rng.integers(low, 10, shape).astype(np.float64), dtype


# ------------------------------------------------------ transposed convolutions


def transposed(sizes, f, out, strides, padding, index=np.int32, dtype=tf.float32, op="Conv2DBackpropInput", **how):
    cases.add(op, {"input_sizes": index(sizes), "filter": (f, dtype), "out_backprop": (out, dtype)},
              {"strides": strides, "padding": padding}, **{**NEAR.get(dtype, {}), **how})


ONES = [1, 1, 1, 1]
for dtype in FLOATS:
    transposed([2, 3, 4, 3], image(2, 2, 3, 5), image(2, 2, 3, 5), ONES, "VALID", dtype=dtype)
    transposed([2, 5, 4, 3], image(3, 2, 3, 5), image(2, 3, 2, 5), [1, 2, 2, 1], "SAME", dtype=dtype)
transposed([2, 3, 4, 3], of(tf.int32, 2, 2, 3, 5)[0], of(tf.int32, 2, 2, 3, 5)[0], ONES, "VALID", dtype=tf.int32)
F, Y = image(2, 2, 3, 5), image(1, 2, 3, 5)
transposed([3, 4], F, Y, ONES, "VALID", name="rows and columns alone")
transposed([1, 5, 6, 3], F, Y, [1, 2, 2, 1], "VALID", name="pixels that no window reached")
transposed([1, 4, 5, 3], image(1, 1, 3, 5), image(1, 2, 3, 5), [1, 2, 2, 1], "SAME", name="1x1")
transposed([0, 3, 4, 3], F, Y[:0], ONES, "VALID", name="no batch")
cases.add("Conv2DBackpropInput", {"input_sizes": np.int32([1, 4, 3, 3]), "filter": F.astype(np.float32), "out_backprop": Y.astype(np.float32)},
          {"strides": ONES, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 1, 1, 0, 0]}, refuse=True, name="rows do not fit")
cases.add("Conv2DBackpropInput", {"input_sizes": np.int32([1, 3, 2, 3]), "filter": F.astype(np.float32), "out_backprop": Y.astype(np.float32)},
          {"strides": ONES, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 0, 0, 1, 1, 0, 0]}, name="explicit", **NEAR[tf.float32])
for sizes, f, y in (([1, 3, 4, 6], F, Y), ([2, 3, 4, 3], F, Y), ([1, 3, 4, 3], F, Y[..., :4]), ([1, 4, 5, 3], F, Y), ([1, 3, 4], F, Y),
                    ([1, 3, 4, 3], F, Y[0]), ([1, -3, 4, 3], F, Y)):
    transposed(sizes, f, y, ONES, "VALID", refuse=True)
F3, Y3 = image(2, 2, 2, 3, 5), image(1, 2, 2, 2, 5)
for dtype in FLOATS:
    transposed([1, 3, 3, 3, 3], F3, Y3, ONES + [1], "VALID", dtype=dtype, op="Conv3DBackpropInputV2", index=np.int64)
    transposed([1, 4, 3, 4, 3], F3, Y3, [1, 2, 2, 2, 1], "SAME", dtype=dtype, op="Conv3DBackpropInputV2")
transposed([3, 3, 3], F3, Y3, ONES + [1], "VALID", op="Conv3DBackpropInputV2", refuse=True)
transposed([1, 4, 3, 3, 3], F3, Y3, ONES + [1], "VALID", op="Conv3DBackpropInputV2", refuse=True)


def dilated_transpose(sizes, f, y, dilation):
    """VALID, strides of 1, by the definition: TensorFlow has no such kernel for CPUs."""
    x = np.zeros(sizes)
    for n, p, q, i, j in itertools.product(*(range(k) for k in y.shape[:3] + f.shape[:2])):
        x[n, p + i * dilation, q + j * dilation] += f[i, j] @ y[n, p, q]
    cases.define("Conv2DBackpropInput", [np.int32(sizes), f.astype(np.float32), y.astype(np.float32)],
                 {"padding": b"VALID", "strides": [1, 1, 1, 1], "dilations": [1, dilation, dilation, 1], "T": tf.float32},
                 [x.astype(np.float32)], rtol=1e-5, atol=1e-6)


dilated_transpose([1, 6, 7, 3], F, image(1, 4, 5, 5), 2)
dilated_transpose([2, 5, 6, 3], image(3, 2, 3, 4), image(2, 1, 4, 4), 2)

# ----------------------------------------------------------------- three dimensions

for dtype in FLOATS:
    for padding in ("SAME", "VALID"):
        cases.add("Conv3D", {"input": (image(2, 3, 4, 3, 2), dtype), "filter": (image(2, 3, 2, 2, 4), dtype)},
                  {"strides": [1, 1, 2, 1, 1], "padding": padding}, name=dtype.name + padding, **NEAR[dtype])
X3 = image(2, 4, 5, 3, 2).astype(np.float32)
cases.add("Conv3D", {"input": X3, "filter": image(1, 1, 1, 2, 3).astype(np.float32)}, {"strides": ONES + [1], "padding": "SAME"}, name="1x1x1",
          **NEAR[tf.float32])
cases.add("Conv3D", {"input": X3[:0], "filter": image(2, 2, 2, 2, 3).astype(np.float32)}, {"strides": ONES + [1], "padding": "SAME"}, name="no batch")
cases.add("Conv3D", {"input": X3, "filter": image(5, 1, 1, 2, 3).astype(np.float32)}, {"strides": ONES + [1], "padding": "VALID"}, name="just too small")
for x, f in ((X3, image(6, 1, 1, 2, 3)), (X3, image(1, 1, 1, 3, 3)), (X3[0], image(1, 1, 1, 2, 3)), (X3, image(1, 1, 2, 3))):
    cases.add("Conv3D", {"input": x, "filter": f.astype(np.float32)}, {"strides": ONES + [1], "padding": "VALID"}, refuse=True)
for dtype in (tf.float32, tf.bfloat16):
    cases.add("MaxPool3D", {"input": (X3, dtype)}, {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 1, 1], "padding": "SAME"}, name=dtype.name)
    cases.add("AvgPool3D", {"input": (X3, dtype)}, {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 1, 1], "padding": "SAME"}, name=dtype.name,
              **NEAR[dtype])
for ksize, strides in (([1, 2, 2, 2, 1], [1, 2, 2, 2, 1]), ([1, 1, 3, 1, 1], [1, 1, 1, 2, 1]), ([1, 4, 5, 3, 1], [1, 1, 1, 1, 1]),
                       ([1, 5, 2, 2, 1], [1, 1, 1, 1, 1])):
    for padding in ("SAME", "VALID"):
        cases.add("MaxPool3D", {"input": X3}, {"ksize": ksize, "strides": strides, "padding": padding})
        cases.add("AvgPool3D", {"input": X3}, {"ksize": ksize, "strides": strides, "padding": padding}, **NEAR[tf.float32])
cases.add("MaxPool3D", {"input": X3[:0]}, {"ksize": [1, 2, 2, 2, 1], "strides": ONES + [1], "padding": "VALID"}, name="no batch")
cases.add("MaxPool3D", {"input": X3}, {"ksize": [1, 7, 7, 7, 1], "strides": ONES + [1], "padding": "VALID"}, name="too small", refuse=True)
cases.add("AvgPool3D", {"input": X3[0]}, {"ksize": [1, 2, 2, 2, 1], "strides": ONES + [1], "padding": "VALID"}, name="rank", refuse=True)

# ------------------------------------------------------------ maxima and their places

for dtype in REAL:
    cases.add("MaxPoolWithArgmax", {"input": of(dtype, 2, 5, 4, 3)}, {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": "SAME"})
    cases.add("Dilation2D", {"input": of(dtype, 2, 5, 4, 3), "filter": of(dtype, 2, 3, 3)},
              {"strides": [1, 2, 1, 1], "rates": ONES, "padding": "SAME"})
X = image(2, 5, 4, 3).astype(np.float32)
for padding, batch, index in itertools.product(("SAME", "VALID"), (False, True), (tf.int32, tf.int64)):
    cases.add("MaxPoolWithArgmax", {"input": X}, {"ksize": [1, 3, 2, 1], "strides": [1, 1, 2, 1], "padding": padding, "Targmax": index,
                                                  "include_batch_in_index": batch})
N, I = np.nan, np.inf
for values in ([N, 1, 2, N, 3, N, N, N], [N] * 8, [-I] * 8, [-I, I, I, 0, 0, I, N, I], [0.0, -0.0] * 4):
    cases.add("MaxPoolWithArgmax", {"input": np.float32(values).reshape(1, 2, 4, 1)}, {"ksize": [1, 2, 2, 1], "strides": ONES, "padding": "SAME"})
    for f in (np.zeros((2, 2, 1)), np.full((2, 2, 1), -I)):
        cases.add("Dilation2D", {"input": np.float32(values).reshape(1, 2, 4, 1), "filter": np.float32(f)},
                  {"strides": ONES, "rates": ONES, "padding": "SAME"})
cases.add("MaxPoolWithArgmax", {"input": X[:0]}, {"ksize": [1, 2, 2, 1], "strides": ONES, "padding": "SAME"}, name="no batch", refuse=True)
cases.add("MaxPoolWithArgmax", {"input": X}, {"ksize": [1, 6, 2, 1], "strides": ONES, "padding": "VALID"}, name="just too small")
cases.add("MaxPoolWithArgmax", {"input": X[0]}, {"ksize": [1, 6, 2, 1], "strides": ONES, "padding": "VALID"}, name="rank", refuse=True)

for strides, rates, padding in itertools.product((ONES, [1, 2, 3, 1]), (ONES, [1, 2, 1, 1]), ("SAME", "VALID")):
    cases.add("Dilation2D", {"input": X, "filter": image(2, 2, 3).astype(np.float32)}, {"strides": strides, "rates": rates, "padding": padding},
              rtol=1e-6)
    for dtype in (tf.float32, tf.complex64, tf.int8, tf.uint64):
        cases.add("ExtractImagePatches", {"images": (np.arange(120).reshape(2, 5, 4, 3), dtype)},
                  {"ksizes": [1, 2, 3, 1], "strides": strides, "rates": rates, "padding": padding})
for dtype in (tf.int8, tf.uint8, tf.int32, tf.uint64):
    cases.add("Dilation2D", {"input": (np.array([dtype.max, dtype.max - 3, 5, 7], dtype.as_numpy_dtype).reshape(1, 2, 2, 1), dtype),
                             "filter": (np.full((1, 2, 1), 5), dtype)}, {"strides": ONES, "rates": ONES, "padding": "SAME"}, name="around")
for x, f in ((X, image(2, 2, 2)), (X, image(8, 2, 3))):
    cases.add("Dilation2D", {"input": x, "filter": f.astype(np.float32)}, {"strides": ONES, "rates": ONES, "padding": "VALID"}, refuse=True)
for ksize in (6, 7):
    cases.add("ExtractImagePatches", {"images": X}, {"ksizes": [1, ksize, 2, 1], "strides": [1, 2, 2, 1], "rates": ONES, "padding": "VALID"},
              name="too small")
cases.add("ExtractImagePatches", {"images": X}, {"ksizes": [1, 9, 2, 1], "strides": [1, 2, 2, 1], "rates": ONES, "padding": "VALID"},
          name="far too small", refuse=True)
cases.add("ExtractImagePatches", {"images": X[:0]}, {"ksizes": [1, 2, 2, 1], "strides": ONES, "rates": ONES, "padding": "VALID"}, name="no batch")

# ------------------------------------------------------------- neighbouring channels

for dtype in (tf.float32, tf.half):
    for attrs in ({}, {"depth_radius": 1}, {"depth_radius": 0, "bias": 2.0}, {"depth_radius": 2, "alpha": 1e-4, "beta": 0.75}, {"beta": -1.5},
                  {"depth_radius": 100}):
        cases.add("LRN", {"input": (image(2, 2, 3, 7), dtype)}, attrs, **NEAR[dtype])
cases.add("LRN", {"input": np.float32([0, 1, -2]).reshape(1, 1, 1, 3)}, {"bias": 0.0, "alpha": 0.0}, name="nothing below")
cases.add("LRN", {"input": np.zeros((0, 2, 2, 3), np.float32)}, name="no batch")
cases.add("LRN", {"input": X[0]}, name="rank", refuse=True)

# -------------------------------------------------------------------- resized images

for dtype in REAL:
    if dtype not in (tf.uint32, tf.uint64):
        cases.add("ResizeBilinear", {"images": of(dtype, 2, 3, 4, 2), "size": np.int32([5, 3])}, rtol=1e-6, atol=1e-6)
        cases.add("ResizeNearestNeighbor", {"images": of(dtype, 2, 3, 4, 2), "size": np.int32([5, 3])})
for size in ((1, 1), (2, 2), (5, 4), (10, 8), (3, 13), (1, 7), (9, 1)):
    for attrs in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        cases.add("ResizeBilinear", {"images": X, "size": np.int32(size)}, attrs, rtol=1e-6, atol=1e-6)
        cases.add("ResizeNearestNeighbor", {"images": X, "size": np.int32(size)}, attrs)
for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
    cases.add(op, {"images": X[:0], "size": np.int32([2, 3])}, name="no batch")
    for x, size in ((X, [0, 3]), (X, [2, -3]), (X, [2, 3, 4]), (X, 2), (X[:, :0], [2, 2]), (X[0], [2, 2])):
        cases.add(op, {"images": x, "size": np.int32(size)}, refuse=True)

# ------------------------------------------------ half and bfloat16, to the last bit

for dtype in (tf.half, tf.bfloat16):
    for strides in (ONES, [1, 2, 2, 1]):
        for i, f in (((2, 9, 7, 5), (3, 3, 5, 6)), ((1, 6, 6, 20), (1, 1, 20, 9)), ((2, 5, 40, 3), (1, 5, 3, 4))):
            x, w = rng.normal(size=i), rng.normal(size=f)
            how = {"strides": strides, "padding": "SAME"}
            cases.add("Conv2D", {"input": (x, dtype), "filter": (w, dtype)}, how, name="rounds once")
            cases.add("DepthwiseConv2dNative", {"input": (x, dtype), "filter": (w[..., :2], dtype)}, how, name="rounds")
            y = rng.normal(size=(i[0], -(-i[1] // strides[1]), -(-i[2] // strides[2]), f[3]))
            cases.add("Conv2DBackpropInput", {"input_sizes": np.int32(i), "filter": (w, dtype), "out_backprop": (y, dtype)}, how, name="rounds")
    for i, f in (((1, 5, 6, 7, 8), (3, 3, 3, 8, 16)), ((2, 3, 4, 5, 3), (2, 2, 2, 3, 7))):
        cases.add("Conv3D", {"input": (rng.normal(size=i), dtype), "filter": (rng.normal(size=f), dtype)}, {"strides": [1] * 5, "padding": "SAME"},
                  name="rounds")

for side in (2, 7):
    cases.add("AvgPool3D", {"input": (image(2, 7, 7, 7, 3) / 3, tf.bfloat16)}, {"ksize": [1, side, side, side, 1], "strides": ONES + [1], "padding": "VALID"},
              name="rounded at every step")

cases.write()
