"""Half and bfloat16 to their last bit, where TensorFlow rounds step by step."""
import numpy as np

from op_cases import Cases, tf

rng = np.random.default_rng(16)
cases = Cases("rounding")
INF, NAN = np.inf, np.nan
for dtype in (tf.half, tf.bfloat16):
    x = np.concatenate([rng.normal(0, 3, 500), rng.uniform(-12, 12, 200), [0, -0.0, INF, -INF, NAN, 2.84, 2.85, -2.84, -2.85, 7, -7, 7.02, -7.02]])
    for op, argument in (("Sigmoid", "x"), ("Softplus", "features"), ("Elu", "features"), ("Selu", "features"), ("Softsign", "features")):
        cases.add(op, {argument: (x, dtype)})
    for alpha in (0.2, 0.3, 0.01):
        cases.add("LeakyRelu", {"features": (x, dtype)}, {"alpha": alpha})
    y = rng.normal(0, 3, x.shape)
    for op in ("AddV2", "Sub", "Mul", "RealDiv", "SquaredDifference"):
        cases.add(op, {"x": (x, dtype), "y": (y, dtype)})
    cases.add("AddN", {"inputs": [(rng.normal(size=(7, 5)), dtype) for i in range(6)]})
    cases.add("Cumsum", {"x": (rng.normal(size=(3, 40)), dtype), "axis": np.int32(1)})
    rows = [((3, n), [1]) for n in (1, 3, 7, 8, 9, 16, 17, 31, 32, 33, 40, 47, 63, 64, 65, 100, 200, 333)] + [((3, 1024), [1]), ((3, 1601), [1]),
           ((2, 2503), [1])]
    columns = [((n, m), [0]) for n in (2, 15, 16, 17, 31, 34, 50) for m in (3, 8, 20)] + [((5, n, m), [1]) for n in (3, 16, 35) for m in (1, 3, 8, 19)]
    others = [((3, 4, 6), [0, 2]), ((2, 3, 4, 5), [0, 2]), ((4, 3, 9, 2), [1, 2]), ((2, 5, 6), [1, 2]), ((6, 5), [0, 1])]
    for shape, axes in rows + columns + others:
        for op in ("Sum", "Mean", "Prod"):
            near = {"rtol": 1e-2, "atol": 1e-2} if shape == (2, 3, 4, 5) else {}
            low, high = (0.95, 1.05) if op == "Prod" else (-3, 3)
            cases.add(op, {"input": (rng.uniform(low, high, shape), dtype), "axis": np.int32(axes)}, name="%s of %s" % (axes, shape), **near)
    for shape in ((3, 5), (2, 8), (4, 33), (3, 100), (2, 1700)):
        cases.add("LogSoftmax", {"logits": (rng.normal(0, 2, shape), dtype)})
for dtype in (tf.half, tf.bfloat16):
    for shape in ((3, 5), (2, 8), (4, 33), (3, 100), (2, 6, 6), (2, 1700)):
        cases.add("Softmax", {"logits": (rng.normal(0, 2, shape), dtype)})
cases.write()
