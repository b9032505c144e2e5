"""XLA's convolutions: every order of dimensions, strides, dilations and groups."""
import itertools

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.xla import xla_data_pb2

from op_cases import Cases

cases = Cases("xla_convolution")
rng = np.random.default_rng(17)
F = tf.float32
RTOL = {tf.float32: 1e-5, tf.float64: 1e-12, tf.float16: 4e-3, tf.bfloat16: 2e-2}


def near(dtype):
    return dict(rtol=RTOL.get(dtype, 0), atol=RTOL.get(dtype, 0) * 20)


def of(dtype, *shape):
    if dtype.is_integer:
        return rng.integers(-5, 6, shape), dtype
    return np.round(rng.uniform(-2, 2, shape) * 8) / 8, dtype


def numbers(lhs, rhs, out):
    """Of layouts as letters: N and C, I and O, digits for what is spatial."""
    spatial = [str(d) for d in range(len(lhs) - 2)]
    return xla_data_pb2.ConvolutionDimensionNumbers(
        input_batch_dimension=lhs.index("N"), input_feature_dimension=lhs.index("C"), input_spatial_dimensions=[lhs.index(d) for d in spatial],
        kernel_input_feature_dimension=rhs.index("I"), kernel_output_feature_dimension=rhs.index("O"),
        kernel_spatial_dimensions=[rhs.index(d) for d in spatial], output_batch_dimension=out.index("N"),
        output_feature_dimension=out.index("C"), output_spatial_dimensions=[out.index(d) for d in spatial]).SerializeToString(deterministic=True)


def conv(lhs, rhs, layouts=("N01C", "01IO", "N01C"), strides=None, padding=None, base=None, dilation=None, groups=1, batch_groups=1, to=None,
         index=np.int32, message=None, versions=(1, 2), **how):
    spatial = len(layouts[0]) - 2
    inputs = {"lhs": lhs, "rhs": rhs, "window_strides": np.array(strides or [1] * spatial, index),
              "padding": np.array(padding if padding is not None else [[0, 0]] * spatial, index).reshape(-1, 2),
              "lhs_dilation": np.array(base or [1] * spatial, index), "rhs_dilation": np.array(dilation or [1] * spatial, index),
              "feature_group_count": index(groups)}
    attrs = {"dimension_numbers": message or numbers(*layouts), "precision_config": b""}
    if 1 in versions and batch_groups == 1 and to is None and lhs[1] == rhs[1]:
        cases.add("XlaConv", inputs, attrs, maker=gen_xla_ops.xla_conv, compiled=True, **near(lhs[1]), **how)
    if 2 in versions:
        cases.add("XlaConvV2", inputs, {**attrs, "preferred_element_type": to or lhs[1], "batch_group_count": batch_groups},
                  maker=gen_xla_ops.xla_conv_v2, compiled=True, **near(to or lhs[1]), **how)


for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
    conv(of(dtype, 2, 5, 6, 3), of(dtype, 3, 2, 3, 4))
    conv(of(dtype, 2, 5, 6, 3), of(dtype, 3, 2, 3, 4), ("N01C", "01IO", "CN01"), padding=[[1, 1], [0, 1]])
X, K = of(F, 2, 5, 6, 3), of(F, 3, 2, 3, 4)
for strides, base, dilation, padding in itertools.product(([1, 1], [2, 3]), ([1, 1], [2, 1]), ([1, 1], [1, 2]), ([[0, 0], [0, 0]], [[2, 1], [-1, 3]])):
    conv(X, K, strides=strides, base=base, dilation=dilation, padding=padding, versions=(2,), index=np.int64)
for lhs, rhs, out in (("NC01", "OI01", "NC01"), ("01NC", "IO01", "0N1C"), ("C1N0", "1O0I", "1C0N")):
    turn = lambda array, old, new: (np.transpose(array[0], [old.index(c) for c in new]), array[1])
    conv(turn(X, "N01C", lhs), turn(K, "01IO", rhs), (lhs, rhs, out), strides=[1, 2], padding=[[1, 0], [0, 1]])
conv(of(F, 2, 9, 4), of(F, 3, 4, 5), ("N0C", "0IO", "N0C"), padding=[[2, 0]])
conv(of(F, 2, 4, 3, 5, 2), of(F, 2, 2, 3, 2, 3), ("N012C", "012IO", "N012C"), padding=[[0, 1], [1, 0], [1, 1]])
# StableHLO has windows over nothing, TensorFlow's compiler does not.
x, k = (array.astype(np.float32) for array, _ in (of(F, 3, 4), of(F, 4, 5)))
none = [np.int32(0).repeat(0)] * 2
cases.define("XlaConv", [x, k, none[0], np.zeros((0, 2), np.int32), *none, np.int32(1)],
             {"T": F, "Tindices": tf.int32, "dimension_numbers": numbers("NC", "IO", "NC"), "precision_config": b""}, [x @ k], **near(F))
conv(of(F, 2, 5, 6, 3), of(F, 1, 1, 3, 4))
conv(of(F, 2, 5, 6, 3), of(F, 1, 1, 3, 4), strides=[2, 1])
conv(of(F, 2, 5, 6, 6), of(F, 3, 2, 3, 4), groups=2)
conv(of(F, 2, 5, 6, 6), of(F, 1, 1, 2, 6), groups=3)
conv(of(F, 2, 5, 6, 4), of(F, 3, 3, 1, 8), groups=4, padding=[[1, 1], [1, 1]])
conv(of(F, 6, 5, 6, 3), of(F, 3, 2, 3, 4), batch_groups=2)
conv(of(F, 4, 5, 6, 3), of(F, 1, 1, 3, 8), batch_groups=4)
conv(of(F, 3, 9, 8, 5), of(F, 3, 3, 5, 7), padding=[[1, 1], [1, 1]])
conv(of(tf.bfloat16, 2, 5, 6, 3), of(tf.bfloat16, 3, 2, 3, 4), to=F)
conv(of(F, 2, 2, 6, 3), of(F, 3, 2, 3, 4))                          # no place at all
conv(of(F, 0, 5, 6, 3), of(F, 3, 2, 3, 4))
conv(of(F, 2, 5, 6, 0), of(F, 3, 2, 0, 4))
conv(of(F, 2, 5, 6, 3), of(F, 3, 2, 3, 0))
conv(of(F, 2, 0, 6, 3), of(F, 3, 2, 3, 4), padding=[[2, 2], [0, 0]])

for how in (dict(groups=0), dict(groups=-1), dict(groups=2), dict(strides=[0, 1]), dict(base=[1, 0]), dict(dilation=[0, 1]), dict(strides=[-1, 1]),
            dict(padding=[[-9, 0], [0, 0]]), dict(batch_groups=0), dict(batch_groups=4), dict(strides=[1]), dict(padding=[[0, 0]]), dict(base=[1, 1, 1]),
            dict(strides=[2**40, 1]), dict(padding=[[2**62, 2**62], [0, 0]]), dict(base=[2**62, 1]), dict(dilation=[2**62, 2**62]), dict(groups=2**62)):
    conv(X, K, index=np.int64, fatal=True, **how)
conv(of(F, 2, 5, 6, 4), K, fatal=True)
conv(of(F, 2, 5, 6), K, fatal=True)
conv(X, of(F, 3, 2, 3), fatal=True)
for change in (dict(input_batch_dimension=1), dict(input_feature_dimension=4), dict(kernel_output_feature_dimension=-1), dict(output_batch_dimension=2**40)):
    message = xla_data_pb2.ConvolutionDimensionNumbers.FromString(numbers("N01C", "01IO", "N01C"))
    for key, value in change.items():
        setattr(message, key, value)
    conv(X, K, message=message.SerializeToString(deterministic=True), fatal=True)
conv(X, K, message=b"\x5a\x03\x01\x02\x03", fatal=True)
conv(X, K, message=b"\x5a\x09\x01\x02\x03\x01\x02\x03\x01\x02\x03", versions=(), fatal=True)

cases.write()
