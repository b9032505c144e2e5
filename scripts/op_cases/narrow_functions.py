"""Functions of half and bfloat16 to their last bit, where TensorFlow takes eight at a time, and what is left over one by one."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(61)
cases = Cases("narrow_functions")
# Where the C library's function, or another order of roundings, gives another neighbour.
EDGES = [-0.6630859375, 0.0014820098876953125, 0.0025424957275390625, 0.005870819091796875, -7.01171875, -7.0078125, 7.01171875,
         6.84375, 4.36328125, 0.0023651123046875, 0, -0.0, 1, -1, np.inf, -np.inf, np.nan]
RANGES = {"Exp": (-20, 11), "Expm1": (-10, 5), "Log": (0, 50), "Log1p": (-1, 20), "Sin": (-8, 8), "Cos": (-8, 8), "Tanh": (-5, 5),
          "Erf": (-3, 3), "Rsqrt": (0, 30), "Reciprocal": (-9, 9), "Sigmoid": (-12, 12), "Softplus": (-12, 12), "Elu": (-9, 3),
          "Selu": (-9, 3), "Relu": (-3, 3), "Sqrt": (0, 9), "Atan": (-4, 4), "Asin": (-1, 1)}
for dtype in (tf.half, tf.bfloat16):
    for op, (low, high) in RANGES.items():
        argument = "features" if op in ("Softplus", "Elu", "Selu", "Relu") else "x"
        x = np.concatenate([rng.uniform(low, high, 600), EDGES])
        # The estimate it begins with is the processor's own, and so may be the last bit of one in thousands.
        close = {"rtol": 2**-10 if dtype == tf.half else 2**-7} if op == "Rsqrt" else {}
        cases.add(op, {argument: (x, dtype)}, **close)
        for count in (1, 7, 8, 13):
            cases.add(op, {argument: (rng.permutation(x)[:count], dtype)}, name="%d elements" % count, **(close if count > 7 else {}))
        cases.add(op, {argument: (EDGES, dtype)}, name="edges", **close)
    x, y = rng.normal(0, 2, 300), np.abs(rng.normal(0, 2, 300)) + 0.01
    for op in ("Xlogy", "Xlog1py", "RealDiv", "Maximum", "Minimum", "DivNoNan", "MulNoNan"):
        cases.add(op, {"x": (x, dtype), "y": (y, dtype)})
        cases.add(op, {"x": (x, dtype), "y": (0.3, dtype)}, name="by a number")
        cases.add(op, {"x": (1.7, dtype), "y": (y, dtype)}, name="of a number")
    for op in ("AddV2", "Sub", "Mul"):
        cases.add(op, {"x": (rng.normal(size=(5, 600)), dtype), "y": (rng.normal(size=(600,)), dtype)}, name="rows")
        cases.add(op, {"x": (rng.normal(size=(5, 1)), dtype), "y": (rng.normal(size=(5, 600)), dtype)}, name="a column")
    for shape in ((3, 5), (4, 50), (2, 1700)):
        for op in ("Softmax", "LogSoftmax"):
            cases.add(op, {"logits": (rng.normal(0, 3, shape), dtype)})
    for count in (9, 10, 15, 16, 17, 26):
        cases.add("AddN", {"inputs": [(rng.normal(size=(3, 5)), dtype) for i in range(count)]}, name="%d" % count)
    for size, step in ((2, 2), (3, 1), (3, 2)):
        cases.add("AvgPool", {"value": (rng.normal(size=(2, 7, 5, 9)), dtype)},
                  {"ksize": [1, size, size, 1], "strides": [1, step, step, 1], "padding": "SAME"})
    for m, k, n in ((2, 3, 8), (5, 64, 24), (7, 100, 40), (33, 65, 10), (16, 90, 1), (1, 300, 20), (5, 1300, 9)):
        for transposed in (False, True):
            b = rng.normal(size=(n, k) if transposed else (k, n)) * 0.3
            cases.add("MatMul", {"a": (rng.normal(size=(m, k)) * 0.3, dtype), "b": (b, dtype)}, {"transpose_b": transposed},
                      name="%d %d %d" % (m, k, n))
cases.write()
