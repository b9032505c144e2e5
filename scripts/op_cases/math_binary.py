"""Operators on pairs of elements, and how they broadcast."""
import numpy as np

from op_cases import Cases, tf

FLOATING = (tf.float32, tf.float64, tf.half, tf.bfloat16)
SIGNED = (tf.int8, tf.int16, tf.int32, tf.int64)
UNSIGNED = (tf.uint8, tf.uint16, tf.uint32, tf.uint64)
NUMBERS = FLOATING + SIGNED + UNSIGNED
RTOL = {tf.float32: 2e-6, tf.float64: 1e-13, tf.half: 3e-3, tf.bfloat16: 2e-2}

rng = np.random.default_rng(2)
cases = Cases("math_binary")


def ends(dtype):
    """Pairs of integers, the extreme ones among them."""
    some = np.array([dtype.min, dtype.max, 0, 1, 2, 7] +
                    ([-1, -3] if dtype.min < 0 else []), dtype.as_numpy_dtype)
    x, y = np.meshgrid(some, some)
    return x.reshape(-1), y.reshape(-1)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 2.5, -3.0, 300.0])
SPECIAL_X, SPECIAL_Y = (grid.reshape(-1) for grid in np.meshgrid(SPECIAL, SPECIAL))


def pair(op, x, y, dtype=None, attrs=None, **more):
    names = ("y", "x") if op == "Atan2" else ("x", "y")
    cases.add(op, {names[0]: (x, dtype) if dtype else x, names[1]: (y, dtype) if dtype else y}, attrs, **more)


# Every operator on every type.
OPS = {
    "Add": FLOATING + SIGNED + (tf.uint8,), "AddV2": NUMBERS, "Sub": NUMBERS, "Mul": NUMBERS, "Maximum": NUMBERS,
    "Minimum": NUMBERS, "SquaredDifference": FLOATING + (tf.int32, tf.int64), "MulNoNan": FLOATING,
    "RealDiv": FLOATING, "DivNoNan": FLOATING, "Xdivy": FLOATING, "Xlogy": FLOATING, "Xlog1py": FLOATING,
    "Atan2": FLOATING, "Div": NUMBERS, "TruncateDiv": NUMBERS, "FloorDiv": NUMBERS, "FloorMod": NUMBERS,
    "TruncateMod": (tf.float32, tf.float64, tf.int32, tf.int64), "Mod": (tf.float32, tf.float64, tf.int32, tf.int64),
    "Less": NUMBERS, "LessEqual": NUMBERS, "Greater": NUMBERS, "GreaterEqual": NUMBERS, "Equal": NUMBERS,
    "NotEqual": NUMBERS, "BitwiseAnd": SIGNED + UNSIGNED, "BitwiseOr": SIGNED + UNSIGNED,
    "BitwiseXor": SIGNED + UNSIGNED, "LeftShift": SIGNED + UNSIGNED, "RightShift": SIGNED + UNSIGNED,
}
DIVIDES = ("Div", "TruncateDiv", "FloorDiv", "FloorMod", "TruncateMod", "Mod")
for op, dtypes in OPS.items():
    for dtype in dtypes:
        if dtype in FLOATING:
            # Two roundings in a row are one less here than in TensorFlow's half arithmetic.
            exact = dtype in FLOATING[:2] and op not in ("Xlogy", "Xlog1py", "Atan2", "FloorMod", "TruncateMod", "Mod")
            tolerance = {} if exact or op in DIVIDES else dict(rtol=RTOL[dtype], atol=0.01 if op == "SquaredDifference" else 0)
            pair(op, SPECIAL_X, SPECIAL_Y, dtype, name="special", **tolerance)
            pair(op, rng.uniform(0.1, 9, (4, 5)), rng.uniform(0.1, 9, (4, 5)), dtype, **tolerance)
        else:
            x, y = ends(dtype)
            if op in DIVIDES:
                fits = (y != 0) & ~((x == dtype.min) & (y.astype(np.int64) == -1))
                if op.startswith("Floor") and dtype in SIGNED:
                    # TensorFlow's own sums overflow at the ends.
                    fits &= (abs(x.astype(float)) < 2.0 ** 62) & (x != dtype.min) & (x < dtype.max - 110)
                x, y = x[fits], y[fits]
            pair(op, x, y, dtype)
pair("LogicalAnd", np.array([False, False, True, True]), np.array([False, True, False, True]))
pair("LogicalOr", np.array([False, False, True, True]), np.array([False, True, False, True]))
for op in ("Equal", "NotEqual"):
    pair(op, np.array([False, False, True, True]), np.array([False, True, False, True]))
    pair(op, np.array(["a", "", "abc", "abd", "ab"]), np.array(["a", "", "abd", "abd", "abc"]))
    pair(op, np.array([["a"], ["b"]]), np.array("b"))

for op in DIVIDES:
    for dtype in (tf.int32, tf.int64):
        pair(op, [1, 2], [1, 0], dtype, refuse=True, name="by zero")
        pair(op, np.zeros(0), [0], dtype, name="nothing by zero")
        pair(op, [dtype.min], [-1], dtype, name="past the end")
for dtype in (tf.int8, tf.uint8, tf.uint64):
    pair("FloorDiv", [1, 2], [1, 0], dtype, refuse=True)
    pair("FloorMod", [1, 2], [0, 1], dtype, refuse=True)

for dtype in FLOATING:
    pair("Pow", [2, -2, 0, 0, 1, 7.5, 0.3, -8, 4], [0.5, 3, 0, -1, np.nan, 2.5, -3, 1 / 3, 0.5], dtype, rtol=3 * RTOL[dtype])
for dtype in SIGNED:
    pair("Pow", [2, 3, -2, 0, 7, -1, 5, 1], [5, 40, 3, 0, 100, 127, 1, 0], dtype)
    pair("Pow", [2, 1], [1, -1], dtype, refuse=True)
pair("Pow", np.zeros((0, 2)), [-1, 2], tf.int32)

# Broadcasting, with an operator in which left and right differ.
SHAPES = [((), ()), ((), (3,)), ((2, 3), ()), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (3,)), ((2, 1), (1, 3)),
          ((4, 1, 3), (2, 1)), ((1,), (5,)), ((5, 1), (1,)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4), (2, 1, 4)),
          ((2, 1, 4), (1, 3, 1)), ((3, 1, 2, 1), (1, 4, 1, 5)), ((2, 1, 2, 1, 2), (1, 3, 1, 3, 1)), ((0,), (1,)),
          ((0, 3), (3,)), ((2, 0), (1, 1)), ((1, 2), (0, 1)), ((2, 2, 2, 2), (2, 2)), ((2, 2), (2, 1, 2, 2)),
          ((1, 1, 1), (1, 1)), ((17,), (17,)), ((3, 2, 1, 2), (2, 5, 1))]
for left, right in SHAPES:
    x = rng.integers(-50, 50, left)
    y = rng.integers(1, 50, right)
    for dtype in (tf.float32, tf.int64, tf.int16):
        pair("Sub", x, y, dtype, name="%s %s" % (left, right))
    pair("Less", x, y, tf.int32, name="%s %s" % (left, right))
    pair("FloorDiv", x, y, tf.int64, name="%s %s" % (left, right))
    if 0 not in left + right:
        pair("Add", np.full(left, "ab"), np.array([str(v) for v in y.reshape(-1)]).reshape(right), name="%s %s" % (left, right))
for left, right in (((2,), (3,)), ((2, 3), (2,)), ((2, 3), (4, 2, 1, 2)), ((0,), (2,)), ((3, 1), (2, 1))):
    x, y = np.ones(left), np.ones(right)
    for op in ("AddV2", "Equal", "Maximum"):
        pair(op, x, y, tf.float32, refuse=True)
    pair("Equal", x, y, tf.float32, {"incompatible_shape_error": False})
    pair("NotEqual", x, y, tf.int64, {"incompatible_shape_error": False})
pair("Equal", [1, 2], [[1], [2]], tf.int32, {"incompatible_shape_error": False})
pair("Add", np.array(["a", "", "x" * 50]), np.array(["", "b", "y" * 70]))
pair("Add", np.zeros((0, 2), "S1"), np.array(["a", "b"]), name="no strings")

for dtype in (tf.float32, tf.float64):
    x = np.array([1.0, 1.0, 1.0, np.nan, np.inf, -2.0])
    y = x + np.array([0.0, 5e-6, 2e-5, 0.0, 0.0, 0.5])

cases.write()
