"""What gradients are made of, for graphs that take them in an answer."""
import numpy as np

from op_cases import Cases, tf

cases = Cases("gradients")
NEAR = {tf.float32: 1e-6, tf.float64: 1e-14, tf.half: 2e-3, tf.bfloat16: 1.6e-2}
X = np.array([-3, -1.5, -1, -0.25, -0.0, 0, 0.25, 0.5, 1, 2, 5.5, 6, 7, np.inf, -np.inf, np.nan, 1, 0, -1, 0.1])
DY = np.array([1, -2, 0.5, 3, 1, -1, 0.125, 7, -0.5, 2, 1, 1, 1, 1, 1, 1, np.inf, np.inf, np.inf, np.nan])

for dtype, near in NEAR.items():
    # TensorFlow's vectors take products in another order than its single numbers.
    near = dict(rtol=near, atol=near, name=dtype.name)
    for op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        for x, dy in ((X, DY), (X.reshape(4, 5), DY.reshape(4, 5)), (0.5, 2), (np.zeros([0, 3]), np.zeros([0, 3]))):
            cases.add(op, {"y": (np.array(x), dtype), "dy": (np.array(dy), dtype)}, **near)
    for op, other in (("ReluGrad", "features"), ("Relu6Grad", "features"), ("LeakyReluGrad", "features"), ("SoftplusGrad", "features"),
                      ("SoftsignGrad", "features"), ("EluGrad", "outputs"), ("SeluGrad", "outputs")):
        for x, dy in ((X, DY), (X.reshape(4, 5), DY.reshape(4, 5)), (0.5, 2), (np.zeros([0, 3]), np.zeros([0, 3]))):
            cases.add(op, {"gradients": (np.array(dy), dtype), other: (np.array(x), dtype)}, **near)
    cases.add("LeakyReluGrad", {"gradients": (DY, dtype), "features": (X, dtype)}, {"alpha": 0.01}, **near)
    for shape, layout in (([5, 3], "NHWC"), ([2, 3, 4], "NHWC"), ([2, 3, 4], "NCHW"), ([2, 1, 2, 3], "NCHW"), ([0, 3], "NHWC"), ([2, 3, 2, 2, 2], "NCHW")):
        dy = np.random.default_rng(1).normal(size=shape)
        cases.add("BiasAddGrad", {"out_backprop": (dy, dtype)}, {"data_format": layout}, **near)
for dtype in (tf.int8, tf.int32, tf.int64, tf.uint8):
    for op in ("ReluGrad", "Relu6Grad"):
        cases.add(op, {"gradients": (np.array([3, 4, 5, 6]), dtype), "features": (np.array([0, 1, 6, 7]), dtype)})
for op in ("ReluGrad", "EluGrad", "SoftplusGrad"):
    cases.add(op, {"gradients": np.float32([1, 2]), "outputs" if op == "EluGrad" else "features": np.float32([1])}, refuse=True)
cases.add("BiasAddGrad", {"out_backprop": np.float32([1, 2])}, refuse=True)

SHAPES = ([], [1], [3], [2, 3], [1, 3], [2, 1], [1, 1], [4, 2, 3], [4, 1, 1], [1, 2, 1], [0], [0, 3], [2, 0])
for index in (np.int32, np.int64):
    for a in SHAPES:
        for b in SHAPES:
            fits = True
            try:
                np.broadcast_shapes(a, b)
            except ValueError:
                fits = False
            cases.add("BroadcastGradientArgs", {"s0": np.array(a, index), "s1": np.array(b, index)}, refuse=not fits)

# x, what is cut of it, and the masks: begin, end, ellipsis, new axis, shrink axis.
SLICES = [([5], [1], [4], [1], {}), ([5], [4], [0], [-2], {}), ([3, 4], [0, 1], [3, 3], [2, 1], {}), ([3, 4], [1], [2], [1], {"shrink_axis_mask": 1}),
          ([3, 4], [0, -1], [0, 0], [1, -1], {"begin_mask": 1, "end_mask": 3}), ([2, 3, 4], [0, 2], [0, 3], [1, 1], {"ellipsis_mask": 1}),
          ([2, 3, 4], [0, 0, 1], [0, 0, 9], [1, 1, 2], {"new_axis_mask": 1, "begin_mask": 2, "end_mask": 2}), ([5], [3], [3], [1], {}), ([0, 2], [0], [0], [1], {}),
          ([2, 3], [], [], [], {})]
for index in (np.int32, np.int64):
    for dtype in (tf.float32, tf.float64, tf.int32, tf.half, tf.complex64, tf.bool):
        for shape, begin, end, strides, masks in SLICES:
            x = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape)
            dy = tf.strided_slice(x, np.array(begin, index), np.array(end, index), np.array(strides, index), **masks).numpy()
            cases.add("StridedSliceGrad", {"shape": np.array(shape, index), "begin": np.array(begin, index), "end": np.array(end, index),
                                           "strides": np.array(strides, index), "dy": (dy, dtype)}, masks)
I = np.int32
for shape, begin, dy in (([5], [1], [1.0]), ([-1], [1], [1.0]), ([5], [1, 2], [1.0])):
    cases.add("StridedSliceGrad", {"shape": I(shape), "begin": I(begin), "end": I([4]), "strides": I([1]), "dy": np.float32(dy)}, refuse=True)
cases.write()
