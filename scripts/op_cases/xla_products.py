"""XLA's products: dots by dimension numbers, of many types."""
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.xla import xla_data_pb2

from op_cases import Cases

cases = Cases("xla_products")
rng = np.random.default_rng(7)
RTOL = {tf.float32: 1e-5, tf.float64: 1e-13, tf.float16: 2e-3, tf.bfloat16: 1e-2, tf.complex64: 1e-5, tf.complex128: 1e-13}


def near(dtype, scale=20.0):
    return dict(rtol=RTOL.get(dtype, 0), atol=RTOL.get(dtype, 0) * scale)


def of(dtype, *shape):
    numbers = np.round(rng.uniform(-4, 4, shape) * 8) / 8
    if dtype.is_integer:
        numbers = np.round(numbers * (6 if dtype.size > 1 else 1))
        numbers = abs(numbers) if dtype.is_unsigned else numbers
    if dtype.is_complex:
        numbers = numbers + 1j * np.round(rng.uniform(-4, 4, shape) * 8) / 8
    return numbers, dtype


def numbers(contracting, batch):
    return xla_data_pb2.DotDimensionNumbers(lhs_contracting_dimensions=contracting[0], rhs_contracting_dimensions=contracting[1],
                                            lhs_batch_dimensions=batch[0], rhs_batch_dimensions=batch[1]).SerializeToString(deterministic=True)


def dot(a, b, contracting, batch=([], []), **how):
    cases.add("XlaDot", {"lhs": a, "rhs": b}, {"dimension_numbers": numbers(contracting, batch), "precision_config": b""},
              maker=gen_xla_ops.xla_dot, compiled=True, **how)


def dot2(a, b, contracting, batch=([], []), to=None, **how):
    cases.add("XlaDotV2", {"lhs": a, "rhs": b},
              {"dimension_numbers": numbers(contracting, batch), "precision_config": b"", "preferred_element_type": to or a[1]},
              maker=gen_xla_ops.xla_dot_v2, compiled=True, **how)


for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64, tf.uint32, tf.uint64, tf.complex64, tf.complex128,
              tf.int8, tf.int16, tf.uint8, tf.uint16):
    for f in (dot, dot2):
        f(of(dtype, 3, 4), of(dtype, 4, 5), ([1], [0]), **near(dtype))
    dot2(of(dtype, 2, 3, 4), of(dtype, 4, 2, 5), ([2], [0]), ([0], [1]), **near(dtype))
F = tf.float32
for f in (dot, dot2):
    f(of(F, 3, 4), of(F, 5, 4), ([1], [1]), **near(F))
    f(of(F, 4, 3), of(F, 5, 4), ([0], [1]), **near(F))
    f(of(F, 4), of(F, 4), ([0], [0]), **near(F))
    f(of(F, 4), of(F, 4, 5), ([0], [0]), **near(F))
    f(of(F, 3, 4), of(F, 4), ([1], [0]), **near(F))
    f(of(F, 3), of(F, 4), ([], []), **near(F))
    f(of(F), of(F, 4), ([], []), **near(F))
    f(of(F, 2, 3, 4, 5), of(F, 5, 3, 6), ([3, 1], [0, 1]), **near(F))
    f(of(F, 2, 3, 4, 5), of(F, 3, 5, 6), ([1, 3], [0, 1]), **near(F))
    f(of(F, 2, 3, 4, 5), of(F, 5, 3, 6, 4, 7), ([3], [0]), ([2, 1], [3, 1]), **near(F))
    f(of(F, 2, 3, 4), of(F, 2, 3, 4), ([2], [2]), ([0, 1], [0, 1]), **near(F))
    f(of(F, 2, 3, 4), of(F, 2, 3, 4), ([], []), ([0, 1, 2], [0, 1, 2]), **near(F))
    f(of(F, 2, 3, 1), of(F, 1, 5), ([2], [0]), **near(F))
    f(of(F, 0, 4), of(F, 4, 5), ([1], [0]))
    f(of(F, 3, 0), of(F, 0, 5), ([1], [0]))
    f(of(F, 33, 20), of(F, 20, 65), ([1], [0]), **near(F, 100))
    f(of(F, 1, 300), of(F, 300, 9), ([1], [0]), **near(F, 100))
    f(of(F, 7, 5, 16), of(F, 7, 16, 9), ([2], [1]), ([0], [0]), **near(F))
dot2(of(tf.int8, 3, 4), of(tf.int8, 4, 5), ([1], [0]), to=tf.int32)
dot2(of(tf.uint8, 3, 4), of(tf.uint8, 4, 5), ([1], [0]), to=tf.int32)
dot2(of(tf.bfloat16, 3, 4), of(tf.bfloat16, 4, 5), ([1], [0]), to=tf.float32, **near(F))
dot2(of(tf.float16, 3, 4), of(tf.float16, 4, 5), ([1], [0]), to=tf.float32, **near(F))
dot2(of(F, 3, 4), of(F, 4, 5), ([1], [0]), to=tf.float64, **near(F))

# On some of these TensorFlow itself ends.
for a, b, contracting, batch in [
        ((3, 4), (5, 4), ([1], [0]), ([], [])), ((3, 4), (4, 5), ([2], [0]), ([], [])), ((3, 4), (4, 5), ([-1], [0]), ([], [])),
        ((4, 4), (4, 4), ([1, 1], [0, 1]), ([], [])), ((4, 4), (4, 4), ([1], [0, 1]), ([], [])), ((4, 4), (4, 4), ([1], [0]), ([1], [1])),
        ((4, 4), (4, 4), ([1], [0]), ([0], [])), ((3, 4), (4, 5), ([1], [0]), ([0], [1])), ((3, 4), (4, 5), ([1], [0]), ([7], [1])),
        ((4,), (4,), ([2**40], [0]), ([], []))]:
    inputs = [np.zeros(a, np.float32), np.zeros(b, np.float32)]
    attrs = {"dimension_numbers": numbers(contracting, batch), "precision_config": b""}
    cases.define("XlaDot", inputs, {**attrs, "T": F}, None)
    cases.define("XlaDotV2", inputs, {**attrs, "LhsT": F, "RhsT": F, "preferred_element_type": F}, None)

for dtype in (tf.float32, tf.bfloat16, tf.complex64):
    for equation, a, b in (("ab,bc->ac", (3, 4), (4, 5)), ("abc,cd->abd", (2, 3, 4), (4, 5)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4))):
        cases.add("XlaEinsum", {"a": of(dtype, *a), "b": of(dtype, *b)}, {"equation": equation}, maker=gen_xla_ops.xla_einsum, compiled=True,
                  **near(dtype))
cases.write()
