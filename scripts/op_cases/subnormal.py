"""Subnormal numbers, which are zeros for TensorFlow's threads, as operands and as results."""
import numpy as np
import tensorflow as tf

from op_cases import Cases, near

cases = Cases("subnormal")

for dtype in (np.float32, np.float64):
    tiny = np.finfo(dtype).tiny
    small = np.array([tiny / 2, -tiny / 8, tiny, 3 * tiny, 0, -0.0, 1, -1, 1e30, tiny * 1.5, tiny / 1024], dtype)
    for op in "Abs Ceil Cos Erf Expm1 Floor Inv IsFinite Neg Reciprocal Rint Round Rsqrt Sigmoid Sin Softplus Sqrt Square".split():
        # A function may take a subnormal number for 0, or not.
        close = {"rtol": 3e-7, "atol": tiny} if dtype == np.float32 and op in "Cos Erf Expm1 Inv Reciprocal Rsqrt Sigmoid Sin Softplus".split() else {}
        cases.add(op, {"x" if op not in ("Relu", "Softplus") else "features": small}, **close)
    for op in "Add AddV2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less LessEqual Mul MulNoNan NotEqual RealDiv SquaredDifference Sub".split():
        for other in (small[::-1], dtype(0.25), dtype(0), dtype(tiny / 4)):
            cases.add(op, {"x": small, "y": np.array(other, dtype)})
    cases.add("Sum", {"input": np.tile(small[:2], 9), "axis": np.int32(0)})
    if dtype == np.float32:
        cases.add("Pow", {"x": small[:10], "y": dtype(0.25)}, **near(tf.float32))
        cases.add("Pow", {"x": small[:10], "y": small[:10][::-1]}, **near(tf.float32))
        cases.add("Log", {"x": small})
        cases.add("Exp", {"x": np.array([-95, 95, -88, -87, 0, 1, -100, -103], dtype)})
        cases.add("Softmax", {"logits": np.array([[0, -95, -100], [0, -720, -740]], dtype)})
        cases.add("LogSoftmax", {"logits": np.array([[0, -95, -100], [0, -720, -740]], dtype)})
    cases.add("MatMul", {"a": small[None, :2] * dtype(4), "b": np.array([[0.125], [0.25]], dtype)})
    cases.add("Cast", {"x": small}, {"DstT": tf.float64 if dtype == np.float32 else tf.float32})
    cases.add("Cast", {"x": small}, {"DstT": tf.bool})
halves = np.float16([6e-8, -6e-8, 6e-5, 3e-5, 1, 0, 1e-6])
for dtype in (tf.float16, tf.bfloat16):
    small = (halves, dtype) if dtype == tf.float16 else (np.array([1e-39, -1e-40, 1.2e-38, 3e-38, 1, 0, 9e-41]), dtype)
    for op in "Abs Exp Log Neg Sigmoid Sqrt Square".split():
        cases.add(op, {"x" if op != "Relu" else "features": small})
    for op in "AddV2 Equal Greater Mul RealDiv Sub".split():
        cases.add(op, {"x": small, "y": (np.array(0.25), dtype)})
        cases.add(op, {"x": small, "y": (np.array(0.0), dtype)})
    cases.add("Cast", {"x": small}, {"DstT": tf.float32})
    cases.add("Cast", {"x": np.float32([1e-39, 6e-8, 3e-8, 2.9e-8, 1e-7, 1e-5, -1e-6])}, {"DstT": dtype})
cases.write()
