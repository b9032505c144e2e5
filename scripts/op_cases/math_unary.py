"""Operators on one element at a time."""
import numpy as np

from op_cases import Cases, tf

FLOATING = (tf.float32, tf.float64, tf.half, tf.bfloat16)
SIGNED = (tf.int8, tf.int16, tf.int32, tf.int64)
UNSIGNED = (tf.uint8, tf.uint16, tf.uint32, tf.uint64)
RTOL = {tf.float32: 2e-6, tf.float64: 1e-13, tf.half: 3e-3, tf.bfloat16: 2e-2}
ATOL = {tf.float32: 1e-7, tf.float64: 1e-15, tf.half: 1e-3, tf.bfloat16: 5e-3}

rng = np.random.default_rng(1)
cases = Cases("math_unary")


def floats(low=-4.0, high=4.0, shape=(3, 7)):
    return rng.uniform(low, high, shape)


def argument(op):
    return "features" if op in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu") else "x"


def shapes(op, dtype, attrs=None):
    for shape in ((), (0,), (2, 0, 3), (1, 1, 2, 1, 3)):
        cases.add(op, {argument(op): (np.ones(shape), dtype)}, attrs, rtol=RTOL.get(dtype, 0), name="shape %s" % (shape,))


# The elementary functions on their domains, and what they say outside of them.
DOMAIN = {"Sqrt": (0, 9), "Rsqrt": (0.1, 9), "Log": (0.01, 20), "Log1p": (-0.9, 20), "Asin": (-1, 1), "Acos": (-1, 1),
          "Acosh": (1, 9), "Atanh": (-0.95, 0.95), "Reciprocal": (0.1, 5), "Inv": (-5, -0.1), "Tan": (-1.4, 1.4),
          "Exp": (-10, 10), "Sinh": (-8, 8), "Cosh": (-8, 8)}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -3.0]
for op in ("Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh "
           "Erf Erfc Sigmoid Softplus Softsign Elu Selu").split():
    for dtype in FLOATING:
        low, high = DOMAIN.get(op, (-4, 4))
        tolerance = dict(rtol=RTOL[dtype], atol=ATOL[dtype])
        if op in ("Softplus", "Erfc", "Expm1", "Tan") and dtype in (tf.half, tf.bfloat16):
            tolerance = dict(rtol=2 * RTOL[dtype], atol=4 * ATOL[dtype])  # TensorFlow rounds between its steps
        cases.add(op, {argument(op): (floats(low, high), dtype)}, **tolerance)
        cases.add(op, {argument(op): (SPECIAL, dtype)}, name="special", **tolerance)
    shapes(op, tf.float32)

for op in ("Softplus", "Sigmoid", "Tanh", "Elu", "Selu"):
    x = np.float32([-100, -88, -50, -20, -14, -13.9, -5, 5, 13.9, 14, 20, 50, 88, 100])
    cases.add(op, {argument(op): x}, rtol=1e-5, atol=1e-6, name="far out")

# Rounding, bit by bit.
ROUND = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, -0.51, 3.7, -3.7, 1e6 + 0.5, np.inf, -np.inf, np.nan, 0.0]
for op in ("Floor", "Ceil", "Round"):
    for dtype in FLOATING:
        cases.add(op, {"x": ([v for v in ROUND if v < 6e4 or v != v or dtype in FLOATING[:2]], dtype)})
    shapes(op, tf.float32)
for dtype in (tf.float32, tf.float64):
    cases.add("Rint", {"x": (ROUND, dtype)})
for dtype in (tf.int32, tf.int64):
    cases.add("Round", {"x": ([-3, 0, 7], dtype)})

for op in ("IsNan", "IsInf", "IsFinite"):
    for dtype in FLOATING:
        cases.add(op, {"x": (SPECIAL, dtype)})
    shapes(op, tf.float64)

# Signs and squares, with the integers that have no opposite.
for op in ("Abs", "Neg", "Sign", "Square"):
    for dtype in FLOATING:
        cases.add(op, {"x": (SPECIAL + [0.3, -250.0], dtype)})
    for dtype in SIGNED:
        x = np.array([dtype.min, dtype.max, dtype.min + 1, -1, 0, 1, 7, -100])
        cases.add(op, {"x": (x, dtype)})
    shapes(op, tf.int32)
for dtype in UNSIGNED:
    cases.add("Square", {"x": (np.array([0, 1, 15, 200, dtype.max], dtype.as_numpy_dtype), dtype)})
for dtype in SIGNED + UNSIGNED:
    cases.add("Invert", {"x": (np.array([dtype.min, dtype.max, 0, 1, 77], dtype.as_numpy_dtype), dtype)})

for op in ("Relu", "Relu6"):
    for dtype in FLOATING:
        # The sign of TensorFlow's zero depends on how many elements there are.
        special = [x for x in SPECIAL if x != 0 or np.signbit(x) == 0]
        cases.add(op, {"features": (special + [5.9, 6.1], dtype)})
    for dtype in SIGNED + UNSIGNED:
        x = np.array([dtype.min, dtype.max, 0, 1, 6, 7, 77], dtype.as_numpy_dtype)
        cases.add(op, {"features": (x, dtype)})
    shapes(op, tf.float32)
for dtype in FLOATING:
    for alpha in (0.2, 0.3, 0.0, -1.5, 2.0):
        cases.add("LeakyRelu", {"features": ([np.nan, np.inf, -np.inf, 0.0, 2.0, -3.0, -0.7], dtype)}, {"alpha": alpha},
                  rtol=RTOL[dtype])
shapes("LeakyRelu", tf.float32)

cases.add("LogicalNot", {"x": np.array([[True, False], [False, False]])})
cases.add("LogicalNot", {"x": np.array(True)})
cases.add("LogicalNot", {"x": np.zeros((0, 2), bool)})

for dtype in FLOATING + SIGNED + UNSIGNED + (tf.bool, tf.complex64, tf.complex128):
    for shape in ((), (2, 3), (0, 4)):
        cases.add("ZerosLike", {"x": (np.ones(shape), dtype)})
        cases.add("OnesLike", {"x": (np.zeros(shape), dtype)})
cases.add("ZerosLike", {"x": np.array([["a", "bc"], ["", "d" * 40]])})

cases.write()
