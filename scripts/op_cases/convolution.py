"""Windows over rows and columns: convolutions, poolings; blocks of space."""
import numpy as np

from op_cases import Cases, tf

RTOL = {tf.float32: 1e-5, tf.float64: 1e-12, tf.half: 5e-3, tf.bfloat16: 3e-2, tf.int32: 0}
rng = np.random.default_rng(21)
cases = Cases("convolution")


def image(*shape):
    return np.round(rng.uniform(-4, 4, shape) * 8) / 8


def near(dtype, scale=1.0):
    return dict(rtol=RTOL.get(dtype, 0), atol=RTOL.get(dtype, 0) * scale)


for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int32):
    for padding in ("SAME", "VALID"):
        cases.add("Conv2D", {"input": (image(2, 5, 4, 3), dtype), "filter": (image(3, 2, 3, 2), dtype)},
                  {"strides": [1, 1, 1, 1], "padding": padding}, name=dtype.name + padding, **near(dtype, 30))
X, F = image(2, 7, 6, 4).astype(np.float32), image(3, 3, 4, 5).astype(np.float32)
for strides in ([1, 2, 2, 1], [1, 1, 3, 1]):
    for padding in ("SAME", "VALID"):
        cases.add("Conv2D", {"input": X, "filter": F}, {"strides": strides, "padding": padding}, **near(tf.float32, 30))
for dilations in ([1, 2, 2, 1], [1, 3, 1, 1]):
    for padding in ("SAME", "VALID"):
        cases.add("Conv2D", {"input": X, "filter": F}, {"strides": [1, 1, 1, 1], "dilations": dilations, "padding": padding},
                  **near(tf.float32, 30))
cases.add("Conv2D", {"input": X, "filter": F}, {"strides": [1, 2, 1, 1], "padding": "EXPLICIT",
                                                "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, **near(tf.float32, 30))
cases.add("Conv2D", {"input": X, "filter": image(1, 1, 4, 3).astype(np.float32)}, {"strides": [1, 1, 1, 1], "padding": "SAME"},
          name="1x1", **near(tf.float32, 30))
cases.add("Conv2D", {"input": X, "filter": image(3, 3, 2, 6).astype(np.float32)}, {"strides": [1, 1, 1, 1], "padding": "SAME"},
          name="groups", **near(tf.float32, 30))
cases.add("Conv2D", {"input": X[:, :1], "filter": image(1, 3, 4, 3).astype(np.float32)}, {"strides": [1, 1, 1, 1], "padding": "VALID"},
          name="a sequence", **near(tf.float32, 30))
cases.add("Conv2D", {"input": X[:0], "filter": F}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, name="no batch")
cases.add("Conv2D", {"input": X[:, :2], "filter": F}, {"strides": [1, 1, 1, 1], "padding": "VALID"}, name="just too small")
cases.add("Conv2D", {"input": X[:, :1], "filter": F}, {"strides": [1, 1, 1, 1], "padding": "VALID"}, name="too small", refuse=True)
cases.add("Conv2D", {"input": X, "filter": F[:, :, :3]}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, name="channels", refuse=True)
cases.add("Conv2D", {"input": X[0], "filter": F}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, name="rank", refuse=True)

for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16):
    for padding in ("SAME", "VALID"):
        cases.add("DepthwiseConv2dNative", {"input": (image(2, 5, 4, 3), dtype), "filter": (image(3, 2, 3, 2), dtype)},
                  {"strides": [1, 1, 1, 1], "padding": padding}, name=dtype.name + padding, **near(dtype, 30))
D = image(3, 3, 4, 2).astype(np.float32)
cases.add("DepthwiseConv2dNative", {"input": X, "filter": D}, {"strides": [1, 2, 2, 1], "padding": "SAME"}, **near(tf.float32, 30))
cases.add("DepthwiseConv2dNative", {"input": X, "filter": D}, {"strides": [1, 2, 2, 1], "padding": "EXPLICIT",
                                                              "explicit_paddings": [0, 0, 1, 2, 3, 0, 0, 0]}, **near(tf.float32, 30))
cases.add("DepthwiseConv2dNative", {"input": X, "filter": D[:, :, :3]}, {"strides": [1, 1, 1, 1], "padding": "SAME"}, refuse=True)

for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16):
    x = abs(image(2, 5, 4, 3) * 8) if dtype.is_integer and dtype.is_unsigned else image(2, 5, 4, 3) * 8
    cases.add("MaxPool", {"input": (x, dtype)}, {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}, name=dtype.name)
for dtype in (tf.float32, tf.float64, tf.half, tf.bfloat16):
    cases.add("AvgPool", {"value": (image(2, 5, 4, 3), dtype)}, {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": "SAME"},
              name=dtype.name)
for ksize, strides in (([1, 2, 2, 1], [1, 2, 2, 1]), ([1, 3, 1, 1], [1, 1, 2, 1]), ([1, 7, 6, 1], [1, 1, 1, 1])):
    for padding in ("SAME", "VALID"):
        attrs = {"ksize": ksize, "strides": strides, "padding": padding}
        cases.add("MaxPool", {"input": X}, attrs)
        cases.add("AvgPool", {"value": X}, attrs, **near(tf.float32, 4))
cases.add("MaxPool", {"input": X}, {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "EXPLICIT",
                                    "explicit_paddings": [0, 0, 1, 1, 0, 1, 0, 0]})
cases.add("MaxPool", {"input": X[:0]}, {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}, name="no batch")
cases.add("MaxPool", {"input": X}, {"ksize": [1, 9, 9, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}, name="too small", refuse=True)
cases.add("AvgPool", {"value": X}, {"ksize": [1, 9, 9, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}, name="too small", refuse=True)
cases.add("AvgPool", {"value": X[0]}, {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}, name="rank", refuse=True)

for x in (np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3), np.zeros((0, 4, 6, 3), np.int64)):
    cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int32([2, 3]), "paddings": np.int32([[1, 1], [2, 1]])}, shaped=True)
    cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int64([2]), "paddings": np.int64([[4, 0]])}, shaped=True)
    cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int32([2, 3, 3]), "paddings": np.int32([[0, 0], [0, 0], [0, 0]])}, shaped=True)
for dtype in (np.int8, np.float64, np.uint16):
    x = np.arange(16 * 2 * 3 * 4).reshape(16, 2, 3, 4)
    x = x.astype(dtype)
    cases.add("BatchToSpaceND", {"input": x, "block_shape": np.int32([2, 4]), "crops": np.int32([[0, 1], [2, 3]])}, shaped=True)
x = np.arange(16 * 2 * 3 * 4).reshape(16, 2, 3, 4)
cases.add("BatchToSpaceND", {"input": x, "block_shape": np.int32([2, 4]), "crops": np.int32([[0, 4], [0, 0]])}, shaped=True)
cases.add("BatchToSpaceND", {"input": x, "block_shape": np.int32([2, 4]), "crops": np.int32([[5, 0], [0, 0]])}, shaped=True, refuse=True)
cases.add("BatchToSpaceND", {"input": x, "block_shape": np.int32([3, 4]), "crops": np.int32([[0, 0], [0, 0]])}, shaped=True, refuse=True)
cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int32([2, 2]), "paddings": np.int32([[0, 0], [0, 0]])}, shaped=True, refuse=True)
cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int32([2, 2]), "paddings": np.int32([[0, 0], [-1, 0]])}, shaped=True, refuse=True)
cases.add("SpaceToBatchND", {"input": x, "block_shape": np.int32([0, 2]), "paddings": np.int32([[0, 0], [1, 0]])}, shaped=True, refuse=True)

cases.write()
