"""XLA's reductions, windows and scatters by functions of scalars."""
import itertools

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.xla import xla_data_pb2

from op_cases import Cases

cases = Cases("xla_reductions")
rng = np.random.default_rng(13)
F = tf.float32
REALS = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]
COMPLEX = [tf.complex64, tf.complex128]


def of(dtype, *shape, low=-4, high=5):
    """Small whole numbers, whose sums have no order."""
    low = max(low, 0) if dtype.is_integer and dtype.is_unsigned else low
    return (rng.integers(low, high, shape) > 0 if dtype == tf.bool else rng.integers(low, high, shape)), dtype


def real(dtype, *shape):
    return rng.uniform(-4, 4, shape), dtype


def near(dtype, terms=1):
    step = {tf.float32: 1e-6, tf.float64: 1e-14, tf.float16: 2e-3, tf.bfloat16: 1e-2}[dtype]
    return dict(rtol=step * 4, atol=step * 4 * terms)


def function(f, *dtypes):
    return tf.function(f, autograph=False).get_concrete_function(*[tf.TensorSpec((), dtype) for dtype in dtypes])


def add(a, x):
    return a + x


def multiply(a, x):
    return a * x


def maximum(a, x):
    return tf.maximum(a, x)


def minimum(a, x):
    return tf.minimum(x, a)


def both(a, x):
    return a & x if a.dtype == tf.bool else tf.bitwise.bitwise_and(a, x)


def either(a, x):
    return a | x if a.dtype == tf.bool else tf.bitwise.bitwise_or(a, x)


def minus(a, x):
    return a - x


def softened(a, x):
    top = tf.maximum(a, x)
    return top + tf.math.log1p(tf.exp(-tf.abs(a - x)))


def last(a, x):
    return x


def first(a, x):
    return a


# ---------------------------------------------------------------- XlaReduce

def reduce(x, start, dims, f, **how):
    cases.add("XlaReduce", {"input": x, "init_value": (start, x[1])}, {"dimensions_to_reduce": dims, "reducer": function(f, x[1], x[1])},
              maker=gen_xla_ops.xla_reduce, compiled=True, name="%s %s %s" % (f.__name__, list(np.shape(x[0])), dims), **how)


for dtype in REALS + COMPLEX:
    reduce(of(dtype, 3, 5), 2, [1], add)
    reduce(of(dtype, 3, 5), 2, [0], add)
    reduce(of(dtype, 2, 3), 2, [0, 1], multiply)
    if dtype in REALS:
        reduce(of(dtype, 3, 5), 0, [1], maximum)
        reduce(of(dtype, 3, 5), 2, [0], minimum)
for dtype in (tf.bool, tf.int32, tf.uint8):
    for f in (both, either):
        reduce(of(dtype, 3, 5), 1, [1], f)
        reduce(of(dtype, 3, 5), 0, [0], f)
X = of(F, 2, 3, 2, 3)
for count in range(5):
    for dims in itertools.combinations(range(4), count):
        reduce(X, 0, list(dims), add)
        if dims:
            reduce(X, 1, list(dims), minus)
reduce(X, 1, [3, 1], add)
# What XLA starts from must change nothing, as it takes it more than once in long reductions, and not at all for one element.
for n in (0, 1, 2, 128, 129, 257):
    reduce(of(F, n), 0, [0], add)
    reduce(of(F, 2, n), -np.inf, [1], maximum)
    reduce(of(F, n, 2), -np.inf, [0], maximum)
for n in (2, 3, 20):
    reduce(of(F, n), 1, [0], minus)
    reduce(of(F, 2, n), 1, [0], add)
for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
    for dims in ([0], [1]):
        reduce(real(dtype, 20, 18), 0, dims, add, **near(dtype, 20))
reduce(real(F, 6, 7), 0.5, [1], softened, **near(F, 10))
reduce((np.float32([[1, 2], [np.inf, -np.inf]]), F), -np.inf, [1], maximum)
for f in (first, last):
    reduce(of(F, 3, 5), 7, [1], f)
reduce(of(F), 0, [], add)
for dims in ([2], [-1], [0, 0], [2**40]):
    reduce(of(F, 3, 5), 0, dims, add, fatal=True)
reduce(of(F, 3, 5), [0, 0], [0], add, fatal=True)

# ------------------------------------------------- XlaVariadicReduce and V2


def variadic(inputs, starts, dims, f, **how):
    dtypes = [dtype for _, dtype in inputs]
    starts = [(start, dtype) for start, dtype in zip(starts, dtypes)]
    if len(set(dtypes)) == 1:
        cases.add("XlaVariadicReduce", {"input": inputs, "init_value": starts},
                  {"dimensions_to_reduce": dims, "reducer": function(f, *dtypes, *dtypes)}, maker=gen_xla_ops.xla_variadic_reduce, compiled=True, **how)
    cases.add("XlaVariadicReduceV2", {"inputs": inputs, "init_values": starts},
              {"dimensions_to_reduce": dims, "reducer": function(f, *dtypes, *dtypes)}, maker=gen_xla_ops.xla_variadic_reduce_v2, compiled=True, **how)


def argmax(a, i, x, k):
    better = (x > a) | (x != x)
    earlier = better | ((x == a) & (k < i))
    return tf.where(better, x, a), tf.where(earlier, k, i)


def crossed(a, b, x, y):
    return b + x, a - y


def swapped(a, b, x, y):
    return b, a


for dtype in REALS:
    index = np.broadcast_to(np.arange(6), (3, 6))
    variadic([of(dtype, 3, 6), (index, tf.int32)], [0, 0], [1], argmax)
variadic([of(F, 3, 200), (np.broadcast_to(np.arange(200), (3, 200)), tf.int64)], [-np.inf, 0], [1], argmax)
variadic([of(F, 2, 150), (np.broadcast_to(np.arange(150), (2, 150)), tf.int32)], [-np.inf, 0], [1], argmax)
variadic([(np.float32([1, np.nan, 3]), F), (np.arange(3), tf.int32)], [-np.inf, 0], [0], argmax)
for dims in ([0], [1], [2]):
    for f in (crossed, swapped):
        variadic([of(F, 3, 4, 5), of(F, 3, 4, 5)], [1, 2], dims, f)
for dims in ([0, 1], [0, 2], [2, 1]):
    variadic([of(F, 3, 4, 5), of(F, 3, 4, 5)], [0, 0], dims, lambda a, b, x, y: (a + x, b + y))
variadic([of(F, 0, 3), of(tf.int32, 0, 3)], [1, 2], [0], lambda a, b, x, y: (a + x, b + y))
variadic([of(F, 3, 4)], [1], [0], add)
variadic([of(F, 3, 4), of(F, 3, 5)], [1, 2], [0], crossed, refuse=True)

# ----------------------------------------------------------- XlaReduceWindow


def window(x, start, size, stride, base, dilation, padding, f, index=np.int32, **how):
    cases.add("XlaReduceWindow", {"input": x, "init_value": (start, x[1]), "window_dimensions": np.array(size, index),
                                  "window_strides": np.array(stride, index), "base_dilations": np.array(base, index),
                                  "window_dilations": np.array(dilation, index), "padding": np.array(padding, index).reshape(-1, 2)},
              {"computation": function(f, x[1], x[1])}, maker=gen_xla_ops.xla_reduce_window, compiled=True, **how)


for dtype in REALS:
    window(of(dtype, 3, 7), 1, [2, 3], [1, 2], [1, 1], [1, 1], [[0, 0], [0, 0]], add)
    window(of(dtype, 3, 7), 0, [2, 3], [2, 1], [1, 1], [1, 1], [[1, 0], [2, 1]], maximum)
for size, stride, base, dilation, low, high in itertools.product((1, 3), (1, 2), (1, 2), (1, 2), (-1, 2), (0, 3)):
    window(of(F, 6), 1, [size], [stride], [base], [dilation], [[low, high]], minus, np.int64)
window(of(F, 2, 8, 9, 3), -9, [1, 3, 2, 1], [1, 2, 2, 1], [1] * 4, [1] * 4, [[0, 0], [1, 1], [0, 1], [0, 0]], maximum)
window(of(F, 2, 3, 8, 9), 0, [1, 1, 3, 2], [1, 1, 2, 3], [1] * 4, [1] * 4, [[0, 0], [0, 0], [1, 1], [0, 1]], add)
window(of(F, 140), 0, [2], [1], [2], [1], [[1, 1]], add)
window(of(F, 140), 0, [2], [2], [1], [1], [[1, 1]], minus)
for f in (add, multiply, maximum, minus):                    # running totals
    for back in (False, True):
        low = 1 if f == multiply else -4
        window(of(F, 9, low=low), 1, [9], [1], [1], [1], [[0, 8] if back else [8, 0]], f)
        window(of(F, 2, 9, low=low), 1, [1, 9], [1, 1], [1, 1], [1, 1], [[0, 0], [0, 8] if back else [8, 0]], f)
        window(of(F, 9, 2, low=low), 1, [9, 1], [1, 1], [1, 1], [1, 1], [[0, 8] if back else [8, 0], [0, 0]], f)
window(of(F, 4, 4), 1, [4, 4], [1, 1], [1, 1], [1, 1], [[3, 0], [3, 0]], add)
window(of(F, 4), 1, [5], [1], [1], [1], [[0, 0]], add)       # no place at all
window(of(F, 0), 1, [2], [1], [1], [1], [[1, 2]], add)
window(of(F, 2, 0), 1, [1, 2], [1, 1], [1, 1], [1, 1], [[0, 0], [1, 2]], add)
window(of(F), 0, [], [], [], [], np.zeros((0, 2)), add)
window(of(F, 5), 0, [2], [1], [1], [1], [[-3, -3]], add, fatal=True)
for size, stride, base, dilation in ((0, 1, 1, 1), (2, 0, 1, 1), (2, 1, 0, 1), (2, 1, 1, 0), (-1, 1, 1, 1), (2, -1, 1, 1), (2**31, 1, 1, 1), (2, 2**62, 1, 1),
                                     (2, 1, 2**62, 1), (2, 1, 1, 2**62)):
    window(of(F, 5), 0, [size], [stride], [base], [dilation], [[0, 0]], add, np.int64, fatal=True)
for low, high in ((2**62, 0), (0, 2**62), (-2**63, 0), (0, 2**63 - 1)):
    window(of(F, 5), 0, [2], [1], [1], [1], [[low, high]], add, np.int64, fatal=True)
window(of(F, 5, 5), 0, [2**20, 2**20], [1, 1], [1, 1], [1, 1], [[2**20, 0], [2**20, 0]], add, np.int64, fatal=True)
window(of(F, 5, 5), 0, [2], [1, 1], [1, 1], [1, 1], [[0, 0], [0, 0]], add, fatal=True)
window(of(F, 5, 5), 0, [2, 2], [1, 1], [1, 1], [1, 1], [[0, 0]], add, fatal=True)
window(of(F, 5), [0, 1], [2], [1], [1], [1], [[0, 0]], add, fatal=True)

# ---------------------------------------------------------------- XlaScatter


def numbers(window, inserted, starts, vector):
    return xla_data_pb2.ScatterDimensionNumbers(update_window_dims=window, inserted_window_dims=inserted, scatter_dims_to_operand_dims=starts,
                                                index_vector_dim=vector).SerializeToString(deterministic=True)


def scatter(operand, indices, updates, window, inserted, starts, vector, f=add, index=np.int32, **how):
    cases.add("XlaScatter", {"operand": operand, "scatter_indices": np.array(indices, index), "updates": updates},
              {"update_computation": function(f, operand[1], operand[1]), "dimension_numbers": numbers(window, inserted, starts, vector),
               "indices_are_sorted": False}, maker=gen_xla_ops.xla_scatter, compiled=True, **how)


for dtype in REALS + COMPLEX:
    for f in (add, last) if dtype in COMPLEX else (add, multiply, maximum, minimum, minus, last, first):
        scatter(of(dtype, 5, 3), [[4], [0], [4]], of(dtype, 3, 3, low=1), [1], [0], [0], 1, f)
scatter(of(tf.bool, 5, 3), [[4], [0], [4]], of(tf.bool, 3, 3), [1], [0], [0], 1, either)
for f, index in ((add, np.int32), (add, np.int64), (last, np.int64), (minus, np.int64)):
    T = of(F, 5, 3)
    scatter(T, [[4], [-7], [99], [5], [2]], of(F, 5, 3), [1], [0], [0], 1, f, index)  # those outside are left out
    scatter(T, [4, 0, 2], of(F, 3, 3), [1], [0], [0], 1, f, index)
    scatter(T, [[4, 0, 2]], of(F, 3, 3), [1], [0], [0], 0, f, index)
    scatter(T, [[1, 1], [3, 1], [4, 2], [-1, 0], [0, 0]], of(F, 5, 2, 2), [1, 2], [], [0, 1], 1, f, index)
    scatter(T, [[1, 1], [1, 3]], of(F, 2, 2, 2), [0, 2], [], [1, 0], 1, f, index)
    scatter(T, [[1, 0], [4, 2], [1, 0], [5, 0]], of(F, 4), [], [0, 1], [0, 1], 1, f, index)
    scatter(T, 3, of(F, 3), [0], [0], [0], 0, f, index)
    scatter(T, [[[2], [0]], [[2], [1]]], of(F, 2, 5, 2), [1], [1], [1], 2, f, index)
    scatter(T, [[0, 2]], of(F, 1, 2, 3), [1, 2], [], [0], 0, f, index, fatal=True)
scatter(of(F, 3, 4, 5), [[0, 1], [2, 3], [3, 0]], of(F, 2, 4, 3, 2), [0, 1, 3], [], [0, 2], 2, fatal=True)
scatter(of(F, 3, 4, 5), [[0, 1], [1, 3], [3, 0]], of(F, 2, 4, 3, 2), [0, 1, 3], [], [0, 2], 1)
scatter(of(F, 3, 4), np.zeros((0, 1)), of(F, 0, 4), [1], [0], [0], 1)
scatter(of(F, 0, 4), [[0]], of(F, 1, 4), [1], [0], [0], 1)
scatter(of(F, 3, 4), [[1]], of(F, 1, 0), [1], [0], [0], 1)
scatter(of(F), np.zeros((3, 0)), of(F, 3), [], [], [], 1)
T = of(F, 5, 3)
scatter(T, [[1]], of(F, 1, 4), [1], [0], [0], 1, refuse=True)
scatter(T, [[1]], of(F, 2, 3), [1], [0], [0], 1, refuse=True)
scatter(T, [[1]], of(F, 1, 3), [2], [0], [0], 1, refuse=True)
scatter(T, [[1]], of(F, 1, 3), [-1], [0], [0], 1, fatal=True)
scatter(T, [[1]], of(F, 1, 3), [1], [2], [0], 1, fatal=True)
scatter(T, [[1]], of(F, 1, 3), [1], [0], [2], 1, fatal=True)
scatter(T, [[1]], of(F, 1, 3), [1], [0], [0], 3, refuse=True)
scatter(T, [[1]], of(F, 1, 3), [1], [], [0], 1, refuse=True)
scatter(T, [[1, 1]], of(F, 1), [], [0, 0], [0, 1], 1, refuse=True)
scatter(T, [[1, 1]], of(F, 1), [], [0, 1], [0, 0], 1, refuse=True)
scatter(T, [[1, 1]], of(F, 1, 2, 2), [2, 1], [], [0, 1], 1, refuse=True)

cases.write()
