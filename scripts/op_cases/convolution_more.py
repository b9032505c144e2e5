"""Transposed convolutions, and convolutions of half and bfloat16."""
import itertools

import numpy as np

from op_cases import Cases, near, tf

rng = np.random.default_rng(52)
cases = Cases("convolution_more")
FLOATS = (tf.float32, tf.float64, tf.half, tf.bfloat16)
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

# ------------------------------------------------ half and bfloat16, to the last bit

for dtype in (tf.half, tf.bfloat16):
    for strides in (ONES, [1, 2, 2, 1]):
        for i, f in (((2, 9, 7, 5), (3, 3, 5, 6)), ((1, 6, 6, 20), (1, 1, 20, 9)), ((2, 5, 40, 3), (1, 5, 3, 4))):
            x, w = rng.normal(size=i), rng.normal(size=f)
            how = {"strides": strides, "padding": "SAME"}
            cases.add("Conv2D", {"input": (x, dtype), "filter": (w, dtype)}, how, name="rounds once", **near(dtype, 64))
            cases.add("DepthwiseConv2dNative", {"input": (x, dtype), "filter": (w[..., :2], dtype)}, how, name="rounds once",
                      **near(dtype, 16))
            y = rng.normal(size=(i[0], -(-i[1] // strides[1]), -(-i[2] // strides[2]), f[3]))
            cases.add("Conv2DBackpropInput", {"input_sizes": np.int32(i), "filter": (w, dtype), "out_backprop": (y, dtype)}, how, name="rounds",
                      **near(dtype, 32))

cases.write()
