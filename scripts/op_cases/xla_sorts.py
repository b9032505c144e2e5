"""XLA's sort by a function that compares scalars."""
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from op_cases import Cases

cases = Cases("xla_sorts")
rng = np.random.default_rng(11)
REALS = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]


def of(dtype, *shape):
    return rng.integers(0 if dtype.is_integer and dtype.is_unsigned else -9, 10, shape).astype(np.float64), dtype


def comparator(compare, *dtypes):
    specs = [tf.TensorSpec((), dtype) for dtype in dtypes for _ in range(2)]
    return tf.function(compare, autograph=False).get_concrete_function(*specs)


def sort(inputs, compare, dimension=-1, index=np.int32, **how):
    function = comparator(compare, *[dtype for _, dtype in inputs])
    cases.add("XlaVariadicSort", {"inputs": inputs, "dimension": index(dimension)}, {"comparator": function, "is_stable": True},
              maker=gen_xla_ops.xla_variadic_sort, compiled=True, **how)


def less(x, y, *rest):
    return x < y


def greater(x, y, *rest):
    return tf.math.greater(x, y)


def lexicographic(x, y, a, b, *rest):
    return (x < y) | ((x == y) & (a < b))


def total(x, y, *rest):
    """As numbers' bits compare, with one NaN above all and one zero."""
    def key(v):
        v = tf.where(v == 0, tf.zeros_like(v), v)
        v = tf.where(v != v, tf.constant(np.nan, v.dtype), v)
        bits = tf.bitcast(v, tf.int32)
        return tf.bitwise.bitwise_xor(bits, tf.bitcast(tf.bitwise.right_shift(tf.bitcast(tf.bitwise.right_shift(bits, 31), tf.uint32), 1), tf.int32))
    return key(x) < key(y)


@tf.function
def distance(v):
    return tf.identity(tf.abs(tf.cast(v, tf.float64) - 2.5))


def nearest(x, y, *rest):
    return distance(x) < distance(y)


for dtype in REALS:
    for shape in [(7,), (3, 20)]:
        sort([of(dtype, *shape)], less)
    sort([of(dtype, 5, 4), of(tf.int32, 5, 4)], greater, 0)
F = tf.float32
for n in (0, 1, 2, 3, 4, 5, 31, 32, 33, 200):
    sort([of(F, n), (np.arange(n), tf.int32)], less)
    sort([of(F, 3, n), of(tf.int64, 3, n), of(tf.bool, 3, n)], lexicographic, 1)
for d in (-1, 0, 1, 2):
    sort([of(F, 3, 4, 5), of(tf.complex64, 3, 4, 5)], less, d)
sort([of(F, 140, 6), of(tf.uint8, 140, 6)], nearest)
sort([of(F, 2, 300)], nearest)
SPECIAL = np.float32([3, -0.0, np.nan, np.inf, 0, -1, -np.inf, 2, np.nan, 0, -0.0])
sort([(SPECIAL, F), (np.arange(11), tf.int32)], total)
sort([of(F, 4)], lambda x, y: tf.constant(False))

sort([of(F, 3), of(F, 3)], less, 1, fatal=True)
sort([of(F, 3, 4)], less, -2, fatal=True)
sort([of(F, 3), of(F, 3)], less, -2, fatal=True)
sort([of(F, 3), of(F, 4)], less, refuse=True)
sort([of(F)], less, 0, fatal=True)
sort([of(F, 3)], lambda x, y: x, refuse=True)                     # not a bool

cases.write()
