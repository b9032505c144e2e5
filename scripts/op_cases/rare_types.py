"""Element types that few operators' kernels have, found by a comparison with all that TensorFlow registers."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(1211)
cases = Cases("rare_types")
INTEGERS = (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64)


def some(dtype, *shape):
    return ((rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape)).astype(dtype.as_numpy_dtype), dtype)


for dtype in INTEGERS + (tf.complex64, tf.complex128):
    for shape in ((2, 3), (4, 2, 3, 5), (70, 2), (0, 3), (3, 0)):
        # oneDNN is off: TensorFlow's own kernel takes NCHW, too.
        for layout in ("NHWC", "NCHW"):
            dy = some(dtype, *shape) if dtype.is_complex else (rng.integers(-100 if dtype.min < 0 else 0, 120, shape), dtype)
            if dtype.is_complex or len(shape) == 2 or layout == "NHWC":
                cases.add("BiasAddGrad", {"out_backprop": dy}, {"data_format": layout}, name=dtype.name, rtol=1e-5 if dtype.is_complex else 0, atol=1e-5 if dtype.is_complex else 0)
for dtype in (tf.complex64, tf.complex128):
    for op in ("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        for shape in ((7,), (2, 3), (0,), ()):
            cases.add(op, {"y": some(dtype, *shape), "dy": some(dtype, *shape)}, name=dtype.name, rtol=1e-5 if dtype == tf.complex64 else 1e-12)
        cases.add(op, {"y": some(dtype, 3), "dy": (np.zeros(3), dtype)}, name="zeros", rtol=1e-5, atol=1e-30)
        cases.add(op, {"y": some(dtype, 3), "dy": some(dtype, 2)}, name="shapes", refuse=True)
for shape, begin, end, strides, dy in (([4], [1], [3], [1], ["a", "bc"]), ([4], [3], [0], [-2], ["x", ""]), ([2, 3], [0, 1], [2, 3], [1, 1], [["a", "b"], ["c", "d"]]), ([3], [2], [2], [1], np.zeros(0, object)), ([0], [0], [0], [1], np.zeros(0, object))):
    cases.add("StridedSliceGrad", {"shape": np.int32(shape), "begin": np.int32(begin), "end": np.int32(end), "strides": np.int32(strides), "dy": (np.array(dy, object), tf.string)}, name="texts")
cases.write()
